// A plugin's server, started from a real plugin folder with links inside and out.

import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import { describe, expect, it } from 'vitest';

import { connect } from '../helpers/connect.js';
import { program } from '../helpers/programs.js';
import { fixture, type StdioConfig } from '../helpers/servers.js';
import { workspace } from '../helpers/workspace.js';

/** A plugin as it lies on the disk, whose server tells what it was started with. */
class Plugin {
  readonly folder = workspace();
  readonly root = path.join(this.folder, 'plugins/acme');
  readonly data = path.join(this.folder, 'data/acme');

  constructor() {
    chmodSync(this.folder, 0o755);
    mkdirSync(path.join(this.root, 'bin'), { recursive: true });
    mkdirSync(path.join(this.root, 'work'));
    mkdirSync(path.join(this.folder, 'elsewhere'));
    for (const server of ['plugins/acme/bin/server', 'elsewhere/server']) {
      const file = path.join(this.folder, server);
      const notes = path.join(this.folder, 'notes');
      writeFileSync(
        file,
        `#!/bin/sh
        { echo "root $PLUGIN_ROOT"; echo "data $PLUGIN_DATA"; echo "cwd $(pwd)"; echo "args $*"; echo "setting $SETTING"; } > '${notes}'
        exec '${process.execPath}' '${fixture('echo.mjs')}'`,
      );
      chmodSync(file, 0o755);
    }
    symlinkSync(path.join(this.root, 'bin/server'), path.join(this.root, 'inward'));
    symlinkSync(path.join(this.root, 'bin'), path.join(this.root, 'programs'));
    symlinkSync(path.join(this.folder, 'elsewhere/server'), path.join(this.root, 'outward'));
    symlinkSync(path.join(this.folder, 'elsewhere'), path.join(this.root, 'away'));
  }

  config(command: string, more: Partial<StdioConfig> = {}): StdioConfig {
    return { type: 'stdio', name: 'acme', command, pluginRoot: this.root, pluginDataRoot: this.data, ...more };
  }

  /** What the server was started with; nothing when it was not started. */
  notes(): Record<string, string> | undefined {
    const file = path.join(this.folder, 'notes');
    if (!existsSync(file)) return undefined;
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
    return Object.fromEntries(lines.map((line) => [line.split(' ', 1)[0] ?? '', line.slice(line.indexOf(' ') + 1)]));
  }
}

describe('a command in the plugin is started', () => {
  it.each(['bin/server', 'inward', 'programs/server', 'work/../bin/server'])('as %s', async (command) => {
    const plugin = new Plugin();
    const { toolset, diagnostics } = await connect([plugin.config(path.posix.join(plugin.root, command))]);

    expect(diagnostics).toEqual([]);
    expect(await toolset.call('acme__echo', { text: 'x' })).toBe('x');
    expect(plugin.notes()).toMatchObject({ root: plugin.root, data: plugin.data });
  });
});

describe('a path outside the plugin is refused, and nothing is started', () => {
  it.each(['outward', 'away/server', '../../elsewhere/server'])('a command that is %s', async (command) => {
    const plugin = new Plugin();
    const escaping = `${plugin.root}/${command}`;
    const { toolset, diagnostics } = await connect([plugin.config(escaping)]);

    expect(diagnostics).toMatchObject([{ section: '4.1', rule: 'path-escapes-plugin-root', origin: 'acme' }]);
    expect(diagnostics[0]?.message).toContain('command');
    expect(diagnostics[0]?.message).toContain(escaping);
    expect(Object.keys(toolset.tools)).toEqual([]);
    expect(toolset.servers()).toMatchObject([{ state: 'unavailable' }]);
    expect(plugin.notes()).toBeUndefined();
  });

  it.each<[string, string, string]>([
    ['a link out of the plugin', 'away', 'PLUGIN_ROOT'],
    ['above it', '..', 'PLUGIN_ROOT'],
    ['in the other root', 'work', 'PLUGIN_DATA'],
  ])('a working directory that is %s', async (_what, below, cwdRoot) => {
    const plugin = new Plugin();
    const cwd = `${plugin.root}/${below}`;
    const { diagnostics } = await connect([plugin.config(`${plugin.root}/bin/server`, { cwd, cwdRoot })]);

    expect(diagnostics).toMatchObject([{ section: '4.1', rule: 'path-escapes-plugin-root', origin: 'acme' }]);
    expect(diagnostics[0]?.message).toContain('working directory');
    expect(diagnostics[0]?.message).toContain(cwd);
    expect(plugin.notes()).toBeUndefined();
  });

  it('is shown as it is, also where it is a value of `env`', async () => {
    const plugin = new Plugin();
    const escaping = `${plugin.root}/outward`;
    const { diagnostics } = await connect([plugin.config(escaping, { env: { SETTING: plugin.root } })]);

    expect(diagnostics[0]?.message).toContain(escaping);
  });
});

it('runs in its working directory, with variables that its configuration cannot override', async () => {
  const plugin = new Plugin();
  const { diagnostics } = await connect([
    plugin.config(`${plugin.root}/bin/server`, {
      cwd: `${plugin.root}/work`,
      cwdRoot: 'PLUGIN_ROOT',
      env: { PLUGIN_ROOT: '/elsewhere', PLUGIN_DATA: '/elsewhere', SETTING: 'mine' },
    }),
  ]);

  expect(diagnostics).toEqual([]);
  expect(plugin.notes()).toEqual({
    root: plugin.root,
    data: plugin.data,
    cwd: path.join(plugin.root, 'work'),
    args: '',
    setting: 'mine',
  });
});

it('`fs` with a root puts the paths of the plugin where they are on this host', async () => {
  const plugin = new Plugin();
  const { diagnostics } = await connect(
    [
      {
        type: 'stdio',
        name: 'acme',
        command: '/plugins/acme/bin/server',
        args: ['/plugins/acme/a', '/data/acme', '/plugins/acmeter', '--at=/plugins/acme'],
        env: { SETTING: '/data/acme/setting' },
        cwd: '/data/acme',
        cwdRoot: 'PLUGIN_DATA',
        pluginRoot: '/plugins/acme',
        pluginDataRoot: '/data/acme',
      },
    ],
    { fs: { root: plugin.folder } },
  );

  expect(diagnostics).toEqual([]);
  expect(plugin.notes()).toEqual({
    root: plugin.root,
    data: plugin.data,
    cwd: plugin.data,
    args: `${plugin.root}/a ${plugin.data} /plugins/acmeter --at=/plugins/acme`,
    setting: `${plugin.data}/setting`,
  });
});

it('a data folder that cannot be written to is named with its rule, before anything is started', async () => {
  const plugin = new Plugin();
  writeFileSync(path.join(plugin.folder, 'data'), 'a file');
  const { diagnostics } = await connect([plugin.config(`${plugin.root}/bin/server`)]);

  expect(diagnostics).toMatchObject([{ rule: 'connection-failure', origin: 'acme' }]);
  expect(diagnostics[0]?.message).toContain('PLUGIN_DATA');
  expect(diagnostics[0]?.message).toContain('§9.1');
  expect(plugin.notes()).toBeUndefined();
});

it('a data folder of somebody else is no folder that can be written to', async () => {
  const plugin = new Plugin();
  mkdirSync(plugin.data, { recursive: true });
  chmodSync(plugin.data, 0o555);
  // Not as the superuser, who may write anywhere.
  const run = program(
    `import { mcpTools } from 'espalier/node';
     const diagnostics = [];
     if (process.getuid() === 0) process.setuid(65_534);
     const toolset = await mcpTools([input], { onDiagnostic: (diagnostic) => diagnostics.push(diagnostic) });
     say('told', diagnostics);
     await toolset.close();`,
    { input: plugin.config('true') },
  );
  const told = (await run.says('told')) as { message: string }[];
  expect(told[0]?.message).toMatch(/PLUGIN_DATA .*permission denied.*§9\.1/);
});

it('a server written by hand has no roots and no such check', async () => {
  const plugin = new Plugin();
  const { diagnostics } = await connect([
    { type: 'stdio', name: 'acme', command: path.join(plugin.root, 'outward'), cwd: path.join(plugin.root, 'away') },
  ]);

  expect(diagnostics).toEqual([]);
  expect(plugin.notes()).toMatchObject({ root: '', data: '' });
});
