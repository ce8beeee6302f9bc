// A storm of slow readers, floods, aborts, long and invalid messages on a port, beside clients that behave: those lose nothing,
// and what the storm has cost is given back. `ESPALIER_SOAK` asks for a minute of it.

import { type ChildProcess, spawn } from 'node:child_process';
import { Agent, request } from 'node:http';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import type { ServerStats } from 'espalier/server';
import { expect, it, onTestFinished } from 'vitest';

import { session } from '../helpers/ported.js';
import { until } from '../helpers/until.js';
import { RawWebSocket } from '../helpers/websocket.js';

const isLong = process.env['ESPALIER_SOAK'] !== undefined;
const seconds = isLong ? 60 : 3;
const MEBIBYTE = 1024 * 1024;

interface Left {
  live: number;
  rss: number;
  stats: ServerStats[];
}

/** Starts a program of `fixtures/served`; its lines of output are taken one by one. */
function start(
  name: string,
  args: (string | number)[],
  execArgv: string[] = [],
): { child: ChildProcess; line: () => Promise<string> } {
  const file = fileURLToPath(new URL(`../fixtures/served/${name}.mjs`, import.meta.url));
  const child = spawn(process.execPath, [...execArgv, file, ...args.map(String)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines: string[] = [];
  createInterface(child.stdout).on('line', (line) => lines.push(line));
  return { child, line: async () => until(`a line of ${name}`, () => lines.shift(), (seconds + 60) * 1000) };
}

/** One after the other over one connection, in a session; every other call tells of its progress. */
async function overHttp(port: number, id: string, agent: Agent, n: number): Promise<string> {
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: n,
    method: 'tools/call',
    params: { name: 'echo', arguments: { n }, _meta: { progressToken: n } },
  });
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        port,
        agent,
        host: '127.0.0.1',
        path: '/mcp',
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-session-id': id,
        },
      },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        response.on('end', () => resolve(text)).on('error', reject);
      },
    );
    sent.on('error', reject).end(body);
  });
}

/** Calls until it is told to stop; gives how long each took. */
async function behaves(call: (n: number) => Promise<string>, goesOn: () => boolean, lost: string[]): Promise<number[]> {
  const took: number[] = [];
  for (let n = 1; goesOn(); n += 1) {
    const begun = performance.now();
    const text = await call(n).catch((error: unknown) => String(error));
    took.push(performance.now() - begun);
    const isWhole =
      text.includes(`"structuredContent":{"n":${n}}`) && (n % 2 === 1 || text.includes('notifications/progress'));
    if (!isWhole) lost.push(`${n}: ${text}`);
    await sleep(2);
  }
  return took;
}

const p99 = (took: number[]): number =>
  took.toSorted((a, b) => a - b)[Math.max(0, Math.ceil(took.length * 0.99) - 1)] ?? Number.NaN;

it(
  `clients that behave lose nothing beside a storm of ${seconds} s, and its memory comes back`,
  async () => {
    const server = start('stormed', [], ['--expose-gc']);
    const [httpPort = 0, wsPort = 0] = JSON.parse(await server.line()) as number[];
    const left = async (): Promise<Left> => {
      server.child.stdin?.write('\n');
      return JSON.parse(await server.line()) as Left;
    };
    const storm = async (lasts: number, seed: number): Promise<string> =>
      start('storm', [httpPort, wsPort, lasts, seed]).line();
    /** What is left when nothing but the clients that behave is connected. */
    const settled = async (): Promise<Left> =>
      until(
        'the end of what the storm had begun',
        async () => {
          const now = await left();
          const [http, ws] = now.stats;
          const isQuiet =
            http?.sessions === 1 && ws?.sockets === 1 && now.stats.every(({ jobs, queued }) => jobs + queued === 0);
          return isQuiet && now;
        },
        30_000,
      );

    const id = await session(httpPort);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => agent.destroy());
    const socket = await new RawWebSocket(wsPort, { answersPings: true }).opened();
    const overWebSocket = async (n: number): Promise<string> => {
      socket.messages.length = 0;
      const params = { name: 'echo', arguments: { n }, _meta: { progressToken: n } };
      socket.send({ id: n, method: 'tools/call', params });
      while (!socket.messages.some((message) => message['id'] === n)) {
        if (socket.isClosed) throw new Error('the connection ended');
        await socket.news();
      }
      return JSON.stringify(socket.messages);
    };
    const lost: string[] = [];
    const both = async (goesOn: () => boolean): Promise<number[][]> =>
      Promise.all([
        behaves((n) => overHttp(httpPort, id, agent, n), goesOn, lost),
        behaves(overWebSocket, goesOn, lost),
      ]);
    const during = async <T>(work: Promise<T>): Promise<{ value: T; took: number[][] }> => {
      let isOver = false;
      const took = both(() => !isOver);
      const value = await work.finally(() => (isOver = true));
      return { value, took: await took };
    };

    // What is made once is made before anything is measured.
    await during(storm(isLong ? 10 : 2, 1));
    const before = await during(settled());
    const quiet = await during(sleep(isLong ? 5000 : 500));
    const stormy = await during(storm(seconds, 42));
    const after = await during(settled());

    if (isLong) {
      console.log({
        attacks: stormy.value,
        calls: stormy.took.map((took) => took.length),
        quietP99: quiet.took.map(p99),
        stormP99: stormy.took.map(p99),
        before: { live: before.value.live / MEBIBYTE, rss: before.value.rss / MEBIBYTE },
        after: { live: after.value.live / MEBIBYTE, rss: after.value.rss / MEBIBYTE },
        stats: after.value.stats,
      });
    }
    expect(lost).toEqual([]);
    expect(stormy.took.every((took) => took.length > 10)).toBe(true);
    const { live, rss } = before.value;
    expect(after.value.live).toBeLessThan(Math.max(live * 1.1, live + 5 * MEBIBYTE));
    // What the process has from the system besides, where the core's own memory is: a bound for a leak, not for what an
    // allocator keeps.
    expect(after.value.rss).toBeLessThan(rss + 32 * MEBIBYTE);
    // That it was one.
    for (const [n, { requests }] of after.value.stats.entries()) {
      expect(requests).toBeGreaterThan((before.value.stats[n]?.requests ?? 0) + 50);
    }
    if (isLong) {
      const [http] = after.value.stats;
      expect(http?.refused.malformed).toBeGreaterThan(0);
      expect(http?.refused.tooLarge).toBeGreaterThan(0);
      expect(http?.closed.slowReaders).toBeGreaterThan(0);
      for (const [n, took] of stormy.took.entries()) {
        expect(p99(took)).toBeLessThan(Math.max(10 * p99(quiet.took[n] ?? []), 50));
      }
    }
  },
  (seconds + 120) * 1000,
);
