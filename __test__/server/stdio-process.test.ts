// A server over the standard streams of its own process, and what becomes of it when these end or break.

import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';

import { expect, it, onTestFinished } from 'vitest';

import { allGone, isAlive } from '../helpers/processes.js';
import { program } from '../helpers/programs.js';
import { until } from '../helpers/until.js';

const cwd = fileURLToPath(new URL('../../', import.meta.url));

const SERVER = `
  import { createPluggableStdioTransport, MCPServer } from 'espalier/server';
  process.on('exit', (code) => process.stderr.write('exit ' + code + '\\n'));
  const server = new MCPServer({ name: 'process' });
  const tool = (name, handler) => server.register({ name, inputSchema: { type: 'object' }, handler });
  tool('echo', (args) => args.text);
  tool('wait', ({ ms }, { signal }) => {
    process.stderr.write('waiting\\n');
    signal.addEventListener('abort', () => process.stderr.write('aborted\\n'));
    return new Promise((resolve) => setTimeout(() => resolve('waited'), ms));
  });
  await server.start(createPluggableStdioTransport({ shutdownTimeoutMs: 60_000 }));
  process.stderr.write('started ' + process.pid + '\\n');
`;

interface Started {
  child: ChildProcessByStdio<Writable, Readable, Readable>;
  stderr(): string;
  lines(): { id: number; result?: { content: { text: string }[] } }[];
  call(id: number, name: string, args: object): void;
}

function start(): Started {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', SERVER], { cwd, stdio: 'pipe' });
  onTestFinished(() => void child.kill('SIGKILL'));
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  child.stdin.on('error', () => {});
  return {
    child,
    stderr: () => stderr,
    lines: () =>
      stdout
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as never),
    call(id, name, args) {
      const message = { jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } };
      child.stdin.write(`${JSON.stringify(message)}\n`);
    },
  };
}

it('what is under way when the input ends is answered, and then the process ends by itself', async () => {
  const { child, lines, stderr, call } = start();
  call(1, 'wait', { ms: 300 });
  call(2, 'wait', { ms: 100 });
  call(3, 'echo', { text: 'x'.repeat(3_000_000) });
  child.stdin.end();
  const [code] = (await once(child, 'close')) as [number];

  expect(code, stderr()).toBe(0);
  expect(new Map(lines().map(({ id, result }) => [id, result?.content[0]?.text.length]))).toEqual(
    new Map([
      [1, 6],
      [2, 6],
      [3, 3_000_000],
    ]),
  );
});

it('a client that goes away without a word ends the process, cleanly', async () => {
  const { child, stderr, call } = start();
  call(1, 'wait', { ms: 100 });
  await until('the call', () => stderr().includes('waiting'));
  // Nobody reads any more, and the input stays open.
  child.stdout.destroy();
  call(2, 'echo', { text: 'x'.repeat(1_000_000) });
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];

  expect({ code, signal, stderr: stderr() }).toMatchObject({ code: 0, signal: null });
  expect(stderr()).not.toMatch(/EPIPE|unhandled|uncaught/i);
});

it.runIf(process.platform !== 'win32')('a server does not outlive its host', async () => {
  const host = program(
    `const { spawn } = await import('node:child_process');
     const child = spawn(process.execPath, ['--input-type=module', '--eval', input], { stdio: ['pipe', 'pipe', 'pipe'] });
     child.stderr.setEncoding('utf8').on('data', (text) => { if (text.startsWith('started')) say('pid', child.pid); });
     child.stdin.write(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }) + '\\n');
     child.stdout.once('data', () => say('answered'));`,
    { input: SERVER },
  );
  const pid = (await host.says('pid')) as number;
  onTestFinished(() => void (isAlive(pid) && process.kill(pid, 'SIGKILL')));
  await host.says('answered');
  host.process.kill('SIGKILL');

  await allGone([pid]);
});
