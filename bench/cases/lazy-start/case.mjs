// 50 stdio servers until every tool and every schema is known: lazy ones with listings that are given, against clients
// that have to start them. A fresh process in each round.

import { buildPeer } from '../../lib/peers.mjs';

const official = new URL('./official.mjs', import.meta.url);
const ours = { module: new URL('./espalier.mjs', import.meta.url), ours: true };

export const benchCase = {
  name: 'lazy-start',
  title: 'stdio servers until all tools and schemas are known, in a fresh process',
  packages: ['@modelcontextprotocol/client'],
  work: new URL('./ready.mjs', import.meta.url),
  processPerRound: true,
  subjects: [
    // 20 tools each, given by hand.
    { name: 'espalier', ...ours, lazy: true },
    // One tool each, as line-echo lists it: less to know, and a process to be started for it.
    { name: 'espalier-eager', ...ours },
    { name: 'official-all', module: official },
  ],
  reference: 'official-all',
  metric: { unit: 'ms', better: 'lower', of: (round) => round.elapsedMs },
  variants: [
    {
      name: '50-servers',
      title: '50 servers',
      params: { servers: 50 },
      targets: [{ below: 50 }, { atLeast: 5 }],
    },
  ],

  async prepare({ log }) {
    return { lineEcho: await buildPeer('line-echo', log) };
  },

  /** What `start` of a subject is given. */
  input({ context, variant: { params }, subject }) {
    return { command: context.lineEcho, servers: params.servers, lazy: subject.lazy ?? false };
  },
};
