// `loadMcpConfig`: files as the usual hosts have them, read into servers that `mcpTools` connects.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

import { loadMcpConfig, McpError, type McpServerConfig } from 'espalier/node';
import { describe, expect, it } from 'vitest';

import { connect } from '../helpers/connect.js';
import { fixture } from '../helpers/servers.js';
import { workspace } from '../helpers/workspace.js';

function written(text: string, name = 'mcp.json'): string {
  const file = path.join(workspace(), name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

const echo = JSON.stringify({ command: process.execPath, args: [fixture('echo.mjs')] });
const secret = 'sk-0123456789abcdef';

describe('a file of', () => {
  it('Claude Desktop connects', async () => {
    const { servers, diagnostics } = loadMcpConfig(written(`{ "mcpServers": { "echo": ${echo} } }`));
    expect(diagnostics).toEqual([]);

    const { toolset } = await connect(servers);
    expect(await toolset.call('echo__echo', { text: 'x' })).toBe('x');
  });

  it('VS Code, with inputs, comments and a comma at the end', () => {
    const file = written(
      `{
        // what the editor asks for
        "inputs": [{ "id": "key", "type": "promptString", "password": true }, { "id": "region", "type": "pickString", "default": "eu" }],
        "servers": {
          "files": { "type": "stdio", "command": "\${workspaceFolder}/bin/files", "env": { "KEY": "\${input:key}", "REGION": "\${input:region}" } },
          "remote": { "type": "http", "url": "https://mcp.example.com/", "headers": { "Authorization": "Bearer \${env:TOKEN}" } },
        },
      }`,
      '.vscode/mcp.json',
    );
    const folder = path.dirname(path.dirname(file));
    expect(loadMcpConfig(file, { env: { TOKEN: secret }, inputs: { key: 'given' } })).toEqual({
      servers: [
        { type: 'stdio', name: 'files', command: `${folder}/bin/files`, env: { KEY: 'given', REGION: 'eu' } },
        {
          type: 'streamable-http',
          name: 'remote',
          url: 'https://mcp.example.com/',
          headers: { Authorization: `Bearer ${secret}` },
        },
      ] satisfies McpServerConfig[],
      diagnostics: [],
    });
  });

  it('Cursor, whose urls have no type', () => {
    const file = written(
      `{ "mcpServers": { "a": { "url": "https://a.example/mcp" }, "b": { "url": "https://b.example/sse" } } }`,
      '.cursor/mcp.json',
    );
    expect(loadMcpConfig(pathToFileURL(file)).servers).toEqual([
      { type: 'streamable-http', name: 'a', url: 'https://a.example/mcp' },
      { type: 'sse', name: 'b', url: 'https://b.example/sse' },
    ]);
  });

  it('an Agent Plugin is started from the plugin, with its variables', async () => {
    const file = written(
      `{ "mcpServers": { "acme": { "command": "node", "args": ["\${PLUGIN_ROOT}/server.mjs"], "cwd": "\${PLUGIN_DATA}" } } }`,
    );
    const root = path.dirname(file);
    const data = path.join(root, 'data');
    writeFileSync(
      path.join(root, 'server.mjs'),
      `import { writeFileSync } from 'node:fs';
       writeFileSync('${root}/notes', [process.env.PLUGIN_ROOT, process.env.PLUGIN_DATA, process.cwd()].join(' '));
       await import('${fixture('echo.mjs')}');`,
    );
    const loaded = loadMcpConfig(file, { env: { PLUGIN_DATA: data } });
    expect(loaded).toEqual({
      servers: [
        {
          type: 'stdio',
          name: 'acme',
          command: 'node',
          args: [`${root}/server.mjs`],
          cwd: data,
          cwdRoot: 'PLUGIN_DATA',
          pluginRoot: root,
          pluginDataRoot: data,
        },
      ],
      diagnostics: [],
    });

    const { diagnostics } = await connect(loaded.servers);
    expect(diagnostics).toEqual([]);
    expect(readFileSync(path.join(root, 'notes'), 'utf8')).toBe(`${root} ${data} ${data}`);
  });
});

it('bad entries are diagnostics with their place, the rest is kept, and no value is in what is told', () => {
  const file = written(
    `{
  "mcpServers": {
    "good": { "command": "c", "env": { "KEY": "\${KEY}" } },
    "typeless": { "env": { "KEY": "${secret}" } },
    "pigeon": { "type": "carrier-pigeon", "url": "https://\${KEY}@example.com/" },
    "unset": { "command": "c", "args": ["\${KEY}", "\${NOT_SET}"] },
    "broken": { "url": "https://\${KEY} /x", "headers": { "X": "${secret}" } },
    "good": { "command": "d", "args": ["\${NOT_SET:-e}"] }
  }
}`,
  );
  const { servers, diagnostics } = loadMcpConfig(file, { env: { KEY: secret } });

  expect(servers).toEqual([{ type: 'stdio', name: 'good', command: 'd', args: ['e'] }]);
  expect(diagnostics.map(({ section, rule, origin }) => [section, rule, origin])).toEqual([
    ['7.2.2', 'server-name-collision', 'good'],
    ['7.2.2', 'server-entry-invalid', 'typeless'],
    ['7.2.2', 'server-entry-invalid', 'pigeon'],
    ['7.2.2', 'server-entry-invalid', 'unset'],
    ['7.2.2', 'server-entry-invalid', 'broken'],
  ]);
  const [collision, typeless, pigeon, unset, broken] = diagnostics.map(({ message }) => message);
  expect(collision).toContain(`${file}:8:13`);
  expect(collision).toContain(`${file}:3:13`);
  expect(typeless).toContain(`${file}:4:17`);
  expect(pigeon).toContain('carrier-pigeon');
  expect(unset).toContain(`${file}:6:51`);
  expect(unset).toContain('NOT_SET');
  expect(broken).toContain('url');
  expect(JSON.stringify(diagnostics)).not.toContain(secret);
});

it('fields of this package are taken over, and another meaning of `tools` is not', () => {
  const more = { lazy: true, idleStopMs: 5000, timeoutMs: 1000, protocol: 'legacy', tools: [{ name: 't' }] };
  const { servers, diagnostics } = loadMcpConfig({
    mcpServers: {
      ours: { command: 'c', ...more },
      theirs: { command: 'c', tools: ['*'] },
      odd: { command: 'c', lazy: 1 },
    },
  });

  expect(servers).toEqual([
    { type: 'stdio', name: 'ours', command: 'c', ...more },
    { type: 'stdio', name: 'theirs', command: 'c' },
  ]);
  expect(diagnostics).toMatchObject([
    { origin: 'odd', message: expect.stringContaining('lazy must be true or false') },
  ]);
});

it('a file that is not JSON is a diagnostic with its place', () => {
  const file = written('{\n  "mcpServers": {\n');
  expect(loadMcpConfig(file)).toMatchObject({
    servers: [],
    diagnostics: [{ rule: 'server-entry-invalid', origin: file, message: expect.stringContaining(`${file}:3:`) }],
  });
});

it('an object is read as a file is, without places', () => {
  const loaded = loadMcpConfig(
    { mcpServers: { a: { command: '${CMD:-c}', cwd: 'sub' }, b: 7 } },
    { env: {}, baseDir: '/srv' },
  );
  expect(loaded.servers).toEqual([{ type: 'stdio', name: 'a', command: 'c', cwd: '/srv/sub' }]);
  expect(loaded.diagnostics).toMatchObject([{ origin: 'b', message: 'server "b": it must be an object' }]);
});

it('the variables are those of the process where none are given', () => {
  process.env['ESPALIER_TEST_VARIABLE'] = 'from the process';
  try {
    const config = { servers: { a: { command: 'c', args: ['${ESPALIER_TEST_VARIABLE}'] } } };
    expect(loadMcpConfig(config).servers).toEqual([
      { type: 'stdio', name: 'a', command: 'c', args: ['from the process'] },
    ]);
    expect(loadMcpConfig(config, { env: {} })).toMatchObject({ servers: [], diagnostics: [{ origin: 'a' }] });
  } finally {
    delete process.env['ESPALIER_TEST_VARIABLE'];
  }
});

describe('what cannot be read is an `invalid-option` that names it', () => {
  const cyclic: Record<string, unknown> = {};
  cyclic['self'] = cyclic;
  it.each<[string, unknown, unknown, string]>([
    ['a missing file', '/no/such/mcp.json', {}, '/no/such/mcp.json'],
    ['a folder', '/', {}, 'it is not a file'],
    ['a device', '/dev/zero', {}, 'it is not a file'],
    ['a url of something else', new URL('https://example.com/mcp.json'), {}, 'must be a file'],
    ['no configuration', undefined, {}, 'the path of a file, or an object'],
    ['a number', 7, {}, 'the path of a file, or an object'],
    ['a cycle', cyclic, {}, 'the configuration cannot be read'],
    ['no options', {}, null, 'the options must be an object'],
    ['a variable that is a number', {}, { env: { A: 1 } }, 'env.A must be a string'],
    ['variables that are no object', {}, { env: 'A=1' }, 'env must be an object'],
    ['an input that is a number', {}, { inputs: { a: 1 } }, 'inputs.a must be a string'],
    ['a folder that is a number', {}, { baseDir: 1 }, 'baseDir must be a string'],
  ])('%s', (_what, config, options, words) => {
    let thrown: unknown;
    try {
      loadMcpConfig(config as string, options as Record<string, never>);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(McpError);
    expect(thrown).toMatchObject({ code: 'invalid-option', message: expect.stringContaining(words) });
  });
});
