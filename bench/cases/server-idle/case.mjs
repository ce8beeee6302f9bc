// What connections cost that are only there: memory, and CPU time. The first round opens them, all rounds look on.

import { readFileSync } from 'node:fs';

import { headerArgs, hold, requestArgs } from '../../lib/load.mjs';
import { buildPeer } from '../../lib/peers.mjs';

/** Some heartbeats should fall into a round. */
const SECONDS = 3;

const subject = (name, more) => ({ name, module: new URL(`./${name}.mjs`, import.meta.url), ...more });

const targets = [
  { below: 15, unit: 'KiB of memory per connection', figure: (round) => round.memoryKiB },
  { below: 2, unit: '% of a core', figure: (round) => (round.cpuUs / 1000 / round.elapsedMs) * 100 },
];
const variant = (transport, connections, title) => ({
  name: `${transport}-${connections}`,
  title: `${connections.toLocaleString('en')} ${title}`,
  params: { transport, connections, seconds: SECONDS },
  targets,
});

export const benchCase = {
  name: 'server-idle',
  title: 'idle connections of a server',
  packages: ['@modelcontextprotocol/sdk'],
  subjects: [subject('espalier', { ours: true }), subject('official-1', { variants: ['sse-1000', 'sse-10000'] })],
  reference: 'official-1',
  metric: { unit: 'KiB', better: 'lower', of: (round) => round.memoryKiB },
  variants: [
    variant('sse', 1_000, 'streams of HTTP+SSE'),
    variant('sse', 10_000, 'streams of HTTP+SSE'),
    variant('listen', 1_000, 'subscriptions of the stateless era'),
    variant('listen', 10_000, 'subscriptions of the stateless era'),
  ],

  async prepare({ log }) {
    return { load: await buildPeer('load', log) };
  },

  input({ variant: { params } }) {
    return { transport: params.transport };
  },

  async drive({ context, info, params, pid }) {
    const { connections, seconds } = params;
    if (info.held === undefined) {
      const before = residentKiB(pid);
      info.held = await hold(context.load, [...idleArgs(info.url, params), '--connections', String(connections)]);
      await new Promise((resolve) => setTimeout(resolve, 1000));
      info.memoryKiB = (residentKiB(pid) - before) / connections;
    }
    const began = performance.now();
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
    return { operations: connections, memoryKiB: info.memoryKiB, elapsedMs: performance.now() - began };
  },

  async release({ info }) {
    await info.held?.close();
  },
};

function idleArgs(url, { transport }) {
  const { host, pathname } = new URL(url);
  const target = ['--address', host, '--path', pathname];
  if (transport === 'sse') return [...target, '--header', 'Accept: text/event-stream'];
  return [...target, ...headerArgs('subscriptions/listen', 'stateless'), '--body', subscription()];
}

/** A request of the stateless era that stays open. */
function subscription() {
  const args = requestArgs({ method: 'subscriptions/listen', inFlight: 1, seconds: 0 }, true);
  const params = JSON.parse(args[args.indexOf('--params') + 1]);
  params.notifications = { toolsListChanged: true };
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'subscriptions/listen', params });
}

/** Memory of a process that is in use (Linux). */
function residentKiB(pid) {
  const [, kib] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1')) ?? [];
  return Number(kib);
}
