// From nothing to knowing every tool: 1, 10 and 50 servers of 20 tools over Streamable HTTP, in a process that has done
// nothing yet. The servers are http-echo, without and with 20 ms that each request takes on the way.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { buildPeer } from '../../lib/peers.mjs';

const TOOLS = 20;

const official = new URL('./official.mjs', import.meta.url);
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
  name: 'cold-start',
  title: 'servers over Streamable HTTP until all of their tools are known, in a fresh process',
  packages: ['@modelcontextprotocol/sdk'],
  work: new URL('./ready.mjs', import.meta.url),
  processPerRound: true,
  subjects: [
    { name: 'espalier', ...ours },
    { name: 'espalier-one', ...ours, servers: 1, variants: ['10-servers-20ms'] },
    { name: 'official', module: official },
    { name: 'official-all', module: official, atOnce: true },
  ],
  reference: 'official',
  metric: { unit: 'ms', better: 'lower', of: (round) => round.elapsedMs },
  variants: [
    variant(1, 0),
    variant(10, 0),
    variant(50, 0, [{ atLeast: 3 }, { atLeast: 1.5, vs: 'official-all' }]),
    variant(1, 20),
    variant(10, 20, [{ atMost: 1.5, vs: 'espalier-one' }]),
    variant(50, 20),
  ],

  async prepare({ log }) {
    return { httpEcho: await buildPeer('http-echo', log) };
  },

  /** What `start` of a subject is given. */
  input({ context, variant: { params }, subject, scratch }) {
    const servers = subject.servers ?? params.servers;
    const options = { '--servers': servers, '--tools': params.tools, '--delay-ms': params.delayMs };
    const args = [...Object.entries(options).flat().map(String), '--stats', join(scratch, 'server.json')];
    return { server: { command: context.httpEcho, args }, servers, atOnce: subject.atOnce ?? false };
  },

  /** The servers' own account after a subject was closed: how many listings they gave, and what all of it cost them. */
  async witness({ scratch }) {
    const { listings, connections, cpuNs } = JSON.parse(await readFile(join(scratch, 'server.json'), 'utf8'));
    return { operations: listings, cpuUs: cpuNs === null ? null : cpuNs / 1000, detail: { connections } };
  },
};
