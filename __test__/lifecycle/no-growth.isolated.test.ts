// Rounds of connecting, calling and closing in one process leave nothing behind. `ESPALIER_SOAK` asks for the full count.

import { readdirSync } from 'node:fs';
import { getEventListeners } from 'node:events';

import { mcpTools } from 'espalier/node';
import { expect, it } from 'vitest';

import { childrenOf } from '../helpers/processes.js';
import { rejection } from '../helpers/errors.js';
import { scripted, toolEntry } from '../helpers/scripted.js';
import { echoServer, shellServer } from '../helpers/servers.js';
import { blockUntil, until } from '../helpers/until.js';

const rounds = process.env['ESPALIER_SOAK'] === undefined ? 20 : 400;
// The first rounds start what is started once: threads, caches, the watchdog.
const warmUp = 3;

interface Standing {
  descriptors: number;
  children: number;
  listeners: number;
}

function standing(signal: AbortSignal): Standing {
  return {
    descriptors: readdirSync('/proc/self/fd').length,
    children: childrenOf(process.pid).length,
    listeners:
      process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0) +
      getEventListeners(signal, 'abort').length,
  };
}

async function round(signal: AbortSignal): Promise<void> {
  const toolset = await mcpTools(
    [
      echoServer('a'),
      echoServer('b'),
      shellServer('broken', 'exit 1'),
      { type: 'stdio', name: 'absent', command: 'no-such-command' },
    ],
    { signal, onDiagnostic() {}, onProgress() {}, onStderr() {} },
  );
  const controller = new AbortController();
  const slow = rejection(toolset.call('a__slow', { ms: 60_000 }, { signal: controller.signal }));
  expect(await toolset.call('a__echo', { text: 'x' }, { signal })).toBe('x');
  expect(await toolset.call('b__sum', { a: 1, b: 2 }, { signal })).toBe('3');
  controller.abort();
  await slow;
  await toolset.close();
}

it(
  `${rounds} rounds of connect, call and close leave no descriptor, child or listener`,
  async () => {
    const { signal } = new AbortController();
    for (let n = 0; n < warmUp; n += 1) await round(signal);
    const before = standing(signal);
    for (let n = warmUp; n < rounds; n += 1) await round(signal);

    // What closes a moment later is waited for; what stays is growth.
    await until('the standing of before', () => {
      const now = standing(signal);
      return (
        now.descriptors <= before.descriptors && now.children <= before.children && now.listeners <= before.listeners
      );
    }).catch(() => undefined);
    expect(standing(signal)).toEqual(before);
  },
  rounds * 2000,
);

it('closed toolsets are collected', async () => {
  const quick = shellServer(
    'srv',
    `read l; echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}}}}'
     read l; read l; echo '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"t"}]}}'
     read l`,
  );
  const made = 20;
  const refs: WeakRef<object>[] = [];
  for (let n = 0; n < made; n += 1) {
    const toolset = await mcpTools([quick], { onDiagnostic() {}, onStderr() {} });
    expect(Object.keys(toolset.tools)).toEqual(['srv__t']);
    await toolset.close();
    refs.push(new WeakRef(toolset), new WeakRef(toolset.tools));
  }

  const left = (): number => refs.filter((ref) => ref.deref() !== undefined).length;
  // The last one may still be held by the frame of this function.
  await until(`their collection (${left()} are left)`, () => {
    globalThis.gc?.();
    return left() <= 4;
  });
});

it('progress that comes while the thread is blocked costs little memory', async () => {
  const megabyte = 'x'.repeat(1_000_000);
  const peer = scripted('srv', {
    tools: [toolEntry('flood')],
    calls: {
      flood: [
        [
          { repeat: [{ progress: { progress: 1, message: megabyte } }], times: 256 },
          { message: { id: 'asked', method: 'ping' } },
          { default: true },
        ],
      ],
    },
  });
  let told = 0;
  const toolset = await mcpTools([peer.config], { onProgress: () => void (told += 1) });
  try {
    const before = process.memoryUsage.rss();
    const call = toolset.call('srv__flood', {});
    blockUntil('the end of the flood', () => peer.received().some(({ id }) => id === 'asked'), 15_000);
    const grown = process.memoryUsage.rss() - before;

    await call;
    expect(told).toBeGreaterThan(0);
    expect(grown / 1_000_000).toBeLessThan(150);
  } finally {
    await toolset.close();
  }
});
