// Rounds of connecting, calling and closing in one process leave nothing behind. `ESPALIER_SOAK` asks for the full count.

import { readdirSync } from 'node:fs';
import { getEventListeners } from 'node:events';

import { mcpTools } from 'espalier/node';
import { expect, it } from 'vitest';

import { childrenOf } from '../helpers/processes.js';
import { rejection } from '../helpers/errors.js';
import { echoServer, shellServer } from '../helpers/servers.js';
import { until } from '../helpers/until.js';

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
