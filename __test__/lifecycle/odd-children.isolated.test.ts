// Children that are many, or that behave oddly as processes: whatever they do costs little, and nothing of them is left.

import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

import { mcpTools } from 'espalier/node';
import { describe, expect, it, onTestFinished } from 'vitest';

import { connect } from '../helpers/connect.js';
import { mcpError } from '../helpers/errors.js';
import { allGone, childrenOf, isAlive, watchdogsOf } from '../helpers/processes.js';
import { echoServer, fixture, shellServer } from '../helpers/servers.js';
import { until } from '../helpers/until.js';
import { workspace } from '../helpers/workspace.js';

const soak = process.env['ESPALIER_SOAK'] !== undefined;

const handshake = `read l; echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}}}}'
  read l; read l; echo '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"t"}]}}'`;
const answer = `read l; echo '{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"fine"}]}}'`;

/** The children of this process that are servers. */
function servers(): number[] {
  const watchdogs = watchdogsOf(process.pid);
  return childrenOf(process.pid).filter((pid) => !watchdogs.includes(pid));
}

/** Where a script notes process ids, and those that it has noted. */
function notes(): { file: string; pids: () => number[] } {
  const file = path.join(workspace(), 'pids');
  const pids = (): number[] =>
    (existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : []).map(Number);
  onTestFinished(() => {
    for (const pid of pids().filter((one) => isAlive(one))) process.kill(pid, 'SIGKILL');
  });
  return { file, pids };
}

it('200 servers connect at once, answer at once, and are all gone after `close()`', async () => {
  const names = Array.from({ length: 200 }, (_, n) => `s${n}`);
  const before = servers();
  const diagnostics: unknown[] = [];
  const toolset = await mcpTools(
    names.map((name) => shellServer(name, `${handshake}; ${answer}; read l`)),
    { maxParallelConnects: 200, onDiagnostic: (diagnostic) => diagnostics.push(diagnostic) },
  );
  try {
    expect(diagnostics).toEqual([]);
    expect(Object.keys(toolset.tools)).toEqual(names.map((name) => `${name}__t`));
    expect(servers()).toHaveLength(before.length + 200);
    const answers = await Promise.all(names.map((name) => toolset.call(`${name}__t`, {})));
    expect(new Set(answers)).toEqual(new Set(['fine']));
  } finally {
    await toolset.close();
  }

  expect(servers()).toEqual(before);
}, 120_000);

describe('nothing is left after `close()` of', () => {
  it('a shell that has its server in the background and waits for it', async () => {
    const { file, pids } = notes();
    // A shell gives what is in the background another input than its own.
    const script = `exec 3<&0; '${process.execPath}' '${fixture('echo.mjs')}' <&3 & echo $$ > '${file}'; echo $! >> '${file}'; wait`;
    const { toolset } = await connect([shellServer('srv', script)]);
    await expect(toolset.call('srv__echo', { text: 'x' })).resolves.toBe('x');
    expect(pids()).toHaveLength(2);
    await toolset.close();

    await allGone(pids(), 0);
  });

  it('a server that forks and exits, whose child goes on speaking', async () => {
    const { file, pids } = notes();
    const script = `exec 3<&0; (exec <&3; echo $$ > '${file}'; sh -c 'echo $PPID' >> '${file}'; ${handshake}; ${answer}; sleep 1000) & exit 0`;
    const { toolset } = await connect([shellServer('srv', script)]);
    // Its parent's end is the end of the server, however much of it was heard before.
    await until('the end of it', () => toolset.servers()[0]?.state === 'unavailable');
    await toolset.close();

    await until('the notes', () => pids().length === 2);
    await allGone(pids(), 5000);
  });
});

it('who makes a session of its own escapes, as is documented, and holds nothing up', async () => {
  const { file, pids } = notes();
  const script = `setsid sh -c 'echo $$ > "${file}"; exec sleep 1000' </dev/null >/dev/null 2>&1 &
    until [ -s '${file}' ]; do sleep 0.01; done; ${handshake}; read l`;
  const { toolset, diagnostics } = await connect([shellServer('srv', script)]);
  expect(Object.keys(toolset.tools)).toEqual(['srv__t']);
  await toolset.close();

  expect(pids().map((pid) => isAlive(pid))).toEqual([true]);
  expect(diagnostics).toEqual([]);
});

it('standard error without end and without lines is drained, and costs no memory', async () => {
  const bytes = (soak ? 1024 : 128) * 1024 * 1024;
  const script = `${handshake}; read l; head -c ${bytes} /dev/zero | tr '\\0' e >&2
    echo '{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"fine"}]}}'; read l; echo x >&2; exit 7`;
  const { toolset } = await connect([shellServer('srv', script)]);
  const before = process.memoryUsage.rss();

  await expect(toolset.call('srv__t', {})).resolves.toBe('fine');
  const grown = process.memoryUsage.rss() - before;
  if (soak) console.log(`${bytes / 1024 / 1024} MiB of standard error cost ${Math.round(grown / 1e6)} MB`);
  expect(grown / 1e6).toBeLessThan(64);
  const error = await mcpError(toolset.call('srv__t', {}), 'connection-lost');
  expect(error.message.length).toBeLessThan(8192);
}, 120_000);

it('a working directory that vanished under a server that runs keeps it from starting again, and says so', async () => {
  const folder = path.join(workspace(), 'cwd');
  const script = `${handshake}; read l; rmdir '${folder}'; exit 3`;
  mkdirSync(folder);
  const { toolset } = await connect([shellServer('srv', script, { cwd: folder }), echoServer()]);
  await mcpError(toolset.call('srv__t', {}), 'connection-lost');
  const error = await mcpError(toolset.call('srv__t', {}), 'unavailable');

  expect(error.message).toContain('working directory');
  await expect(toolset.call('echo__echo', { text: 'still here' })).resolves.toBe('still here');
});
