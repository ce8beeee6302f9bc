// Questions of servers, subscriptions and what is read in between leave nothing behind.

import { readdirSync } from 'node:fs';

import { mcpTools } from 'espalier/node';
import { afterEach, expect, it } from 'vitest';

import { scripted, textResult, toolEntry } from '../helpers/scripted.js';
import { acknowledging, statelessChild } from '../helpers/stateless.js';

const MEBIBYTE = 1024 * 1024;
const SAMPLING = '{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":1}';

afterEach(() => globalThis.gc?.());

interface Footprint {
  heap: number;
  rss: number;
  descriptors: number;
}

async function footprint(): Promise<Footprint> {
  for (let n = 0; n < 5; n += 1) {
    globalThis.gc?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { heapUsed, rss } = process.memoryUsage();
  return { heap: heapUsed / MEBIBYTE, rss: rss / MEBIBYTE, descriptors: readdirSync('/proc/self/fd').length };
}

function expectNoGrowth(before: Footprint, after: Footprint, heap: number, rss: number): void {
  if (process.env['ESPALIER_SOAK'] !== undefined) console.log({ before, after });
  expect(after.heap - before.heap).toBeLessThan(heap);
  expect(after.rss - before.rss).toBeLessThan(rss);
  expect(after.descriptors).toBeLessThanOrEqual(before.descriptors);
}

it('10,000 questions, answered, thrown at and taken back', async () => {
  const perCall = 50;
  const ask = (kind: string) =>
    `{"jsonrpc":"2.0","id":"${kind}-$n","method":"sampling/createMessage","params":${SAMPLING}}`;
  const server = scripted('srv', {
    tools: [toolEntry('t')],
    calls: {
      t: [
        [
          ...Array.from({ length: perCall }, (_, n) => ask(`q${n}`)),
          // Those that nobody answers are taken back.
          ...Array.from(
            { length: perCall },
            (_, n) => `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"q${n}-$n"}}`,
          ),
          { reply: textResult('done') },
        ],
      ],
    },
  });
  let asked = 0;
  let withdrawn = 0;
  const toolset = await mcpTools([server.config], {
    sampling: (_request, { signal }) => {
      asked += 1;
      if (asked % 3 === 0) {
        return new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            withdrawn += 1;
            reject(new Error('too late'));
          });
        });
      }
      return { role: 'assistant', model: 'm', content: { type: 'text', text: 'x'.repeat(500) } };
    },
  });
  // What is thrown after a question was taken back is a warning, of which there would be thousands.
  const emitWarning = process.emitWarning;
  process.emitWarning = () => {};
  try {
    for (let n = 0; n < 40; n += 1) await toolset.call('srv__t');
    const before = await footprint();
    for (let n = 0; n < 200; n += 1) await toolset.call('srv__t');
    const after = await footprint();

    expect(asked).toBeGreaterThan(10_000);
    expect(withdrawn).toBeGreaterThan(0);
    expectNoGrowth(before, after, 3, 30);
  } finally {
    process.emitWarning = emitWarning;
    await toolset.close();
  }
}, 120_000);

it.each(['session', 'stateless'] as const)(
  '1,000 subscriptions, taken and left (%s era)',
  async (era) => {
    const capabilities = { tools: {}, resources: { subscribe: true } };
    const server =
      era === 'session'
        ? scripted('srv', {
            capabilities,
            on: { 'resources/subscribe': [[{ reply: {} }]], 'resources/unsubscribe': [[{ reply: {} }]] },
          })
        : statelessChild('srv', {
            capabilities,
            on: { 'subscriptions/listen': [acknowledging({ resourceSubscriptions: ['any'] })] },
          });
    const toolset = await mcpTools([server.config]);
    const round = async (n: number): Promise<void> => {
      const off = await toolset.resources.subscribe('srv', `file:///${n}`, () => {});
      await off();
    };
    try {
      for (let n = 0; n < 200; n += 1) await round(n);
      const before = await footprint();
      for (let n = 0; n < 1000; n += 1) await round(n);
      const after = await footprint();

      expectNoGrowth(before, after, 2, 20);
    } finally {
      await toolset.close();
    }
  },
  120_000,
);
