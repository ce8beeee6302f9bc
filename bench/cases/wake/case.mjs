// From stored rows to a map of tools that can be used, in a process that has done nothing yet and with servers that never
// answer; beside it a cold start of the same servers, which do. 1 and 10 servers of 100 tools, without and with 20 and
// 50 ms that each request takes on the way.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { buildPeer } from '../../lib/peers.mjs';

const TOOLS = 100;

const ours = { module: new URL('./espalier.mjs', import.meta.url), ours: true };

function variant(servers, delayMs, targets) {
  const many = servers === 1 ? '1 server' : `${servers} servers`;
  return {
    name: `${many.replace(' ', '-')}${delayMs > 0 ? `-${delayMs}ms` : ''}`,
    title: `${many} of ${TOOLS} tools${delayMs > 0 ? `, ${delayMs} ms added to each request` : ''}`,
    params: { servers, tools: TOOLS, delayMs },
    targets,
  };
}

export const benchCase = {
  name: 'wake',
  title: 'stored rows until the map of tools is ready, in a fresh process',
  packages: [],
  work: new URL('./ready.mjs', import.meta.url),
  processPerRound: true,
  subjects: [
    { name: 'wake', ...ours, from: 'rows' },
    { name: 'wake-file', ...ours, from: 'file' },
    { name: 'cold', ...ours, from: 'servers' },
  ],
  reference: 'cold',
  metric: { unit: 'ms', better: 'lower', of: (round) => round.elapsedMs },
  variants: [
    variant(1, 0),
    variant(10, 0),
    variant(1, 20, [{ below: 10 }, { atLeast: 20 }]),
    variant(10, 20, [{ below: 10 }, { atLeast: 20 }]),
    variant(10, 50, [{ below: 10 }, { atLeast: 20 }]),
  ],

  async prepare({ log }) {
    return { httpEcho: await buildPeer('http-echo', log) };
  },

  /** What `start` of a subject is given. */
  input({ context, variant: { params }, subject, scratch }) {
    const options = { '--servers': params.servers, '--tools': params.tools, '--delay-ms': params.delayMs };
    const args = [...Object.entries(options).flat().map(String), '--stats', join(scratch, 'server.json')];
    return {
      server: { command: context.httpEcho, args },
      servers: params.servers,
      from: subject.from,
      file: join(scratch, `rows-${Math.random().toString(36).slice(2)}.sqlite`),
    };
  },

  /** The servers' own account after a subject was closed: each was listed once to be remembered, and once in the end. */
  async witness({ scratch }) {
    const { listings, connections, cpuNs } = JSON.parse(await readFile(join(scratch, 'server.json'), 'utf8'));
    return { operations: listings, cpuUs: cpuNs === null ? null : cpuNs / 1000, detail: { connections } };
  },
};
