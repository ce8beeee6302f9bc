import { describe, expect, it } from 'vitest';

import { connect } from '../helpers/connect.js';
import { mcpError, rejection } from '../helpers/errors.js';
import { scripted, textResult, toolEntry } from '../helpers/scripted.js';
import { shellServer } from '../helpers/servers.js';

const secret = 'sk-live-0123456789';

describe('what a server writes enters a diagnostic', () => {
  it('without the values of its environment', async () => {
    const { of } = await connect([
      shellServer('srv', 'echo "bad key $API_KEY, really $API_KEY" >&2; exit 1', { env: { API_KEY: secret } }),
    ]);

    const [diagnostic] = of('connection-failure');
    expect(diagnostic?.message).toContain('bad key [redacted], really [redacted]');
    expect(diagnostic?.message).not.toContain(secret);
  });

  it('without bearer tokens', async () => {
    const { of } = await connect([
      shellServer('srv', 'echo "sent Authorization: Bearer abc.def-ghi_0123 and bearer zyx987zyx987" >&2; exit 1'),
    ]);

    const [diagnostic] = of('connection-failure');
    expect(diagnostic?.message).toContain('[redacted]');
    expect(diagnostic?.message).not.toMatch(/abc\.def-ghi_0123|zyx987zyx987/);
  });

  it.each(['Bearer:abc.def-ghi_0123', 'bearer=abc.def-ghi_0123', 'Authorization: BEARER\\tabc.def-ghi_0123'])(
    'without a bearer token that is set off in another way: %s',
    async (text) => {
      const { of } = await connect([shellServer('srv', `printf '${text} end' >&2; exit 1`)]);

      expect(of('connection-failure')[0]?.message).toMatch(/\[redacted\] end/);
      expect(of('connection-failure')[0]?.message).not.toContain('abc.def-ghi_0123');
    },
  );

  it.each<[string, string, string]>([
    ['without the white space around it', 'sk-live-0123456789\n', '${process.env.API_KEY.trim()}'],
    ['as JSON', 'sk-"live"\\0123\n456789', '${JSON.stringify(process.env.API_KEY)}'],
    [
      'as JSON without the white space around it',
      ' sk-"live"\\0123456789\n',
      '${JSON.stringify(process.env.API_KEY.trim())}',
    ],
  ])('without a value of its environment that it writes %s', async (_how, value, expression) => {
    const { of } = await connect([
      {
        type: 'stdio',
        name: 'srv',
        command: process.execPath,
        args: ['-e', `console.error(\`the key is ${expression} here\`); process.exit(1);`],
        env: { API_KEY: value },
      },
    ]);

    expect(of('connection-failure')[0]?.message).toMatch(/the key is "?\[redacted\]"? here/);
  });

  it('with its short values, which would blank out ordinary words', async () => {
    const { of } = await connect([
      shellServer('srv', 'echo "mode is $MODE here" >&2; exit 1', { env: { MODE: 'devel' } }),
    ]);

    expect(of('connection-failure')[0]?.message).toContain('mode is devel here');
  });

  it('without the part of a value that a quote at the limit would show', async () => {
    // The value straddles whatever boundary the quoted tail has: it is repeated without a break.
    const { of } = await connect([
      shellServer('srv', 'i=0; while [ $i -lt 400 ]; do printf %s "$API_KEY" >&2; i=$((i+1)); done; exit 1', {
        env: { API_KEY: secret },
      }),
    ]);

    expect(of('connection-failure')[0]?.message).not.toMatch(/0123456789|sk-live/);
  });

  it('redacted in the text of an error reply to `initialize` as well', async () => {
    const server = scripted(
      'srv',
      {
        on: {
          initialize: [[{ error: { code: -32_000, message: `no such key: ${secret} (Bearer abcdefgh12345678)` } }]],
        },
      },
      { env: { API_KEY: secret } },
    );
    const { of } = await connect([server.config]);

    const [diagnostic] = of('connection-failure');
    expect(diagnostic?.message).toContain('no such key: [redacted]');
    expect(diagnostic?.message).not.toMatch(/abcdefgh12345678/);
  });

  it('redacted in a protocol violation as well', async () => {
    const server = scripted(
      'srv',
      { start: [`starting with ${secret}`], tools: [toolEntry('t')] },
      { env: { KEY: secret } },
    );
    const { diagnostics } = await connect([server.config]);

    expect(JSON.stringify(diagnostics)).not.toContain(secret);
  });
});

describe('what a server lists enters a diagnostic', () => {
  it.each<[string, string]>([
    ['a value as it is', secret],
    ['a value that JSON escapes', 'pass"word\\ with\tmore'],
  ])('without the values of its environment: %s', async (_what, value) => {
    const tools = [toolEntry(value), toolEntry(value), toolEntry(`no-text-${value}`, { description: 5 })];
    const { diagnostics, of } = await connect([scripted('srv', { tools }, { env: { API_KEY: value } }).config]);

    expect(of('server-entry-invalid')).toHaveLength(2);
    for (const { message } of of('server-entry-invalid')) expect(message).toContain('[redacted]');
    // Names stand in messages as JSON.
    for (const { message } of diagnostics) expect(message).not.toContain(JSON.stringify(value).slice(1, -1));
  });

  it('without bearer tokens', async () => {
    const tools = [toolEntry('Bearer abcdefgh12345678', { description: 5 })];
    const { of } = await connect([scripted('srv', { tools }).config]);

    expect(of('server-entry-invalid').map(({ message }) => message)).toEqual([expect.stringContaining('[redacted]')]);
    expect(of('server-entry-invalid')[0]?.message).not.toContain('abcdefgh12345678');
  });
});

describe('an error of ours', () => {
  it('quotes the end of stderr without the values of the environment', async () => {
    const server = scripted(
      'srv',
      { tools: [toolEntry('dies')], calls: { dies: [[{ stderr: `fatal: ${secret}\n` }, { exit: 9 }]] } },
      { env: { API_KEY: secret } },
    );
    const { toolset } = await connect([server.config]);

    const error = await mcpError(toolset.call('srv__dies', {}), 'connection-lost');
    expect(error.message).toContain('fatal: [redacted]');
    expect(error.message).not.toContain(secret);
    const next = (await rejection(toolset.call('srv__dies', {}))) as Error;
    expect(next.message).not.toContain(secret);
    expect(JSON.stringify(toolset.servers())).not.toContain(secret);
  });
});

describe('the text of a tool', () => {
  it('passes as the server sent it, in results and in errors', async () => {
    const server = scripted(
      'srv',
      {
        tools: [toolEntry('tells'), toolEntry('fails')],
        calls: {
          tells: [[{ reply: textResult(`key ${secret}`) }]],
          fails: [[{ reply: { ...textResult(`key ${secret}`), isError: true } }]],
        },
      },
      { env: { API_KEY: secret } },
    );
    const { toolset } = await connect([server.config]);

    await expect(toolset.call('srv__tells', {})).resolves.toBe(`key ${secret}`);
    const error = await mcpError(toolset.call('srv__fails', {}), 'tool-error');
    expect(error.message).toBe(`MCP tool error: key ${secret}`);
  });
});

it('`onStderr` gets the lines of a server as they are', async () => {
  const lines: string[] = [];
  const server = shellServer('srv', 'echo "key $API_KEY" >&2; exit 1', { env: { API_KEY: secret } });
  const { toolset } = await connect([server], { onStderr: (_server, line) => void lines.push(line) });
  await toolset.close();

  expect(lines).toEqual([`key ${secret}`]);
});
