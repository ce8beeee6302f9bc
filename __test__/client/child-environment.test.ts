import path from 'node:path';

import { expect, it } from 'vitest';

import { connect } from '../helpers/connect.js';
import { program } from '../helpers/programs.js';
import { scripted } from '../helpers/scripted.js';
import { workspace } from '../helpers/workspace.js';

const connectOnce = `
  import { mcpTools } from 'espalier/node';
  const toolset = await mcpTools([input]);
  await toolset.close();
`;

it('the environment of a server starts empty: five variables of the host, then what its configuration says', async () => {
  const peer = scripted('srv', {}, { env: { API_KEY: 'of-the-server', EMPTY: '', LANG: 'C' } });
  const host = {
    PATH: process.env['PATH'] ?? '',
    HOME: '/home/of-the-host',
    TMPDIR: process.env['TMPDIR'] ?? '/tmp',
    LANG: 'en_GB.UTF-8',
    LC_ALL: 'C.UTF-8',
    SECRET_OF_THE_HOST: 'not for servers',
    NODE_OPTIONS: '',
    PLUGIN_ROOT: '/of-the-host',
  };
  expect(await program(connectOnce, { input: peer.config, env: host }).ended()).toMatchObject({ code: 0, stderr: '' });

  const { env } = await peer.started();
  expect(env).toEqual({
    PATH: host.PATH,
    HOME: host.HOME,
    TMPDIR: host.TMPDIR,
    LANG: 'C',
    LC_ALL: host.LC_ALL,
    API_KEY: 'of-the-server',
    EMPTY: '',
  });
});

it('a variable that the host does not have is not invented', async () => {
  const peer = scripted('srv');
  const host = { PATH: process.env['PATH'] ?? '' };
  expect(await program(connectOnce, { input: peer.config, env: host }).ended()).toMatchObject({ code: 0, stderr: '' });

  expect(Object.keys((await peer.started()).env)).toEqual(['PATH']);
});

it('a server may override the variables of the host', async () => {
  const peer = scripted('srv', {}, { env: { HOME: '/elsewhere', LC_ALL: 'C' } });
  await connect([peer.config]);

  expect((await peer.started()).env).toMatchObject({ HOME: '/elsewhere', LC_ALL: 'C' });
});

it('a server runs in its working directory, or else in that of the host', async () => {
  const folder = workspace();
  const there = scripted('there', {}, { cwd: folder });
  const here = scripted('here');
  await connect([there.config, here.config]);

  expect((await there.started()).cwd).toBe(folder);
  expect((await here.started()).cwd).toBe(process.cwd());
});

it('a command without a slash is found by the PATH of its server', async () => {
  const peer = scripted('srv', {}, { env: { PATH: path.dirname(process.execPath) } });
  const { toolset } = await connect([{ ...peer.config, command: path.basename(process.execPath) }]);

  expect(toolset.servers()).toMatchObject([{ state: 'ready' }]);
});

it('arguments arrive as they are: no shell, no expansion', async () => {
  const args = ['$HOME', '`id`', 'a b', '', '*', '"q"', "it's", '\\', 'é😀'];
  const peer = scripted('srv');
  const { toolset } = await connect(
    [
      peer.config,
      {
        type: 'stdio',
        name: 'args',
        command: '/bin/sh',
        args: ['-c', 'for a in "$@"; do printf "[%s]" "$a"; done >&2; exit 1', 'sh', ...args],
      },
    ],
    { onStderr: (server, line) => void seen.push(`${server} ${line}`) },
  );
  await toolset.close();

  expect(seen).toContain(`args ${args.map((arg) => `[${arg}]`).join('')}`);
});
const seen: string[] = [];
