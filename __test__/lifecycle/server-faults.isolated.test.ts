// Handlers that fail in every way, many times over: each request gets exactly one answer, and nothing is left behind.
// `ESPALIER_SOAK` asks for the full count.

import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import type { ServerStats } from 'espalier/server';
import { expect, it, onTestFinished } from 'vitest';

import type { Answer } from '../helpers/wire.js';

const isLong = process.env['ESPALIER_SOAK'] !== undefined;
const calls = isLong ? 100_000 : 4000;
// Each waits for what never comes, as long as a request may take.
const measurements = isLong ? 20 : 4;
const requestTimeoutMs = 2000;
/** Fewer than there are slots, which are kept by what never settles. */
const never = 16;
const window = 40;
const MEBIBYTE = 1024 * 1024;

type Outcome = 'result' | 'failure' | 'error';

/** What each kind of handler comes to. */
const KINDS: Record<string, Outcome> = {
  fine: 'result',
  text: 'result',
  nothing: 'result',
  slow: 'result',
  twice: 'result',
  thenable: 'result',
  failed: 'failure',
  throws: 'failure',
  throwsNothing: 'failure',
  rejects: 'failure',
  rejectsNothing: 'failure',
  symbol: 'failure',
  bigint: 'failure',
  function: 'failure',
  cycle: 'failure',
  getter: 'failure',
  revoked: 'failure',
};
const common = Object.keys(KINDS);
const RARE: Record<string, Outcome> = { big: 'result', late: 'error', lateRejects: 'error', never: 'error' };

interface Measured {
  live: number;
  rss: number;
  stats: ServerStats;
}

/** A client that counts answers. */
class Counter {
  readonly #child;
  readonly #waiting = new Map<number, (answer: Answer) => void>();
  /** Answers to what was answered already, or never asked. */
  stray = 0;
  ended: number | null | undefined;

  constructor() {
    const file = fileURLToPath(new URL('../fixtures/served/faulty.mjs', import.meta.url));
    this.#child = spawn(process.execPath, ['--expose-gc', file, String(requestTimeoutMs)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.#child.once('exit', (code) => (this.ended = code));
    onTestFinished(() => void this.#child.kill('SIGKILL'));
    createInterface(this.#child.stdout).on('line', (line) => {
      const answer = JSON.parse(line) as Answer & { id: number };
      const settle = this.#waiting.get(answer.id);
      if (settle === undefined) this.stray += 1;
      this.#waiting.delete(answer.id);
      settle?.(answer);
    });
  }

  get unanswered(): number {
    return this.#waiting.size;
  }

  async request(id: number, method: string, params: object): Promise<Answer> {
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      this.#child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    });
  }

  async measure(id: number): Promise<Measured> {
    const { result } = await this.request(id, 'tools/call', { name: 'measure' });
    return result?.['structuredContent'] as Measured;
  }
}

it(
  `${calls} calls of handlers that fail in every way are each answered once, and nothing is left of them`,
  async () => {
    const client = new Counter();
    await client.request(0, 'initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'counter', version: '1' },
    });
    let lastId = 0;
    const wrong: string[] = [];
    const call = async (kind: string, n: number): Promise<void> => {
      lastId += 1;
      const { result, error } = await client.request(lastId, 'tools/call', { name: 'do', arguments: { kind, n } });
      const came: Outcome = error !== undefined ? 'error' : result?.['isError'] === true ? 'failure' : 'result';
      if (came !== (KINDS[kind] ?? RARE[kind])) wrong.push(`${kind}: ${JSON.stringify(error ?? result)}`);
    };

    const measured: Measured[] = [];
    const begun = performance.now();
    const perMeasurement = calls / measurements;
    const random = seeded(42);
    for (let round = 0; round < measurements; round += 1) {
      const first = round * perMeasurement;
      let next = first;
      const worker = async (): Promise<void> => {
        while (next < first + perMeasurement) {
          const n = next;
          next += 1;
          await call(kindOf(n, random), n);
        }
      };
      await Promise.all(Array.from({ length: window }, worker));
      measured.push(await client.measure(++lastId));
    }
    const ms = performance.now() - begun;

    expect(wrong).toEqual([]);
    expect({ unanswered: client.unanswered, stray: client.stray, ended: client.ended }).toEqual({
      unanswered: 0,
      stray: 0,
      ended: undefined,
    });
    // The first round makes what is made once.
    const [early, late] = [measured.slice(1, measurements / 2), measured.slice(measurements / 2)];
    const most = (of: Measured[], what: 'live' | 'rss'): number => Math.max(...of.map((one) => one[what]));
    if (isLong) {
      const figures = (of: Measured[]) => ({ live: most(of, 'live') / MEBIBYTE, rss: most(of, 'rss') / MEBIBYTE });
      console.log({
        calls,
        seconds: ms / 1000,
        early: figures(early),
        late: figures(late),
        end: measured.at(-1)?.stats,
      });
    }
    expect(most(late, 'live')).toBeLessThan(Math.max(most(early, 'live') * 1.05, most(early, 'live') + 5 * MEBIBYTE));
    // What never settles stays, and the measuring itself.
    expect(measured.at(-1)?.stats.jobs).toBeLessThanOrEqual(never + 1 + window);
    expect(measured.at(-1)?.stats).toMatchObject({ queued: 0, connections: 1 });
  },
  isLong ? 600_000 : 120_000,
);

/** Among many common kinds a few rare ones, which take time, room or a slot. */
function kindOf(n: number, random: () => number): string {
  if (n % Math.floor(calls / never) === 1) return 'never';
  if (n % 1000 === 2) return 'late';
  if (n % 1000 === 502) return 'lateRejects';
  if (n % 250 === 3) return 'big';
  return common[Math.floor(random() * common.length)] ?? 'fine';
}

/** Numbers from 0 to below 1 that are the same in every run (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
