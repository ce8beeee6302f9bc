// `tools/call` over stdio: one call after another, and 64 in flight, against the raw line-echo server.

import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { buildPeer } from '../../lib/peers.mjs';

const run = promisify(execFile);

export const benchCase = {
  name: 'stdio-call',
  title: 'tools/call over stdio, against a raw line-echo server',
  packages: ['@modelcontextprotocol/client'],
  work: new URL('../../lib/calls.mjs', import.meta.url),
  subjects: [
    { name: 'espalier', module: new URL('./espalier.mjs', import.meta.url), ours: true },
    {
      name: 'official',
      module: new URL('./official.mjs', import.meta.url),
      // Its transport adds one listener to the pipe per call that waits for it; printing that warning thousands of
      // times is not the work to be measured.
      execArgv: ['--disable-warning=MaxListenersExceededWarning'],
    },
    { name: 'bare', module: new URL('./bare.mjs', import.meta.url) },
  ],
  reference: 'official',
  metric: { unit: 'calls/s', better: 'higher', of: (round) => round.operations / (round.elapsedMs / 1000) },
  variants: [
    {
      name: 'sequential',
      title: 'one call after another, 40-byte text',
      params: { inFlight: 1, textBytes: 40 },
      targets: [{ atLeast: 1.2 }],
    },
    {
      name: '64-in-flight',
      title: '64 calls in flight, 40-byte text',
      params: { inFlight: 64, textBytes: 40 },
      targets: [{ atLeast: 2 }],
    },
    {
      name: '64-in-flight-4k',
      title: '64 calls in flight, 4 KiB text (for information)',
      params: { inFlight: 64, textBytes: 4096 },
    },
  ],

  async prepare({ log }) {
    return { lineEcho: await buildPeer('line-echo', log) };
  },

  /** How fast the server is when the client costs next to nothing. */
  async solo({ context, variant, seconds }) {
    const { inFlight, textBytes } = variant.params;
    const options = { '--in-flight': inFlight, '--text-bytes': textBytes, '--seconds': seconds };
    const { stdout } = await run(context.lineEcho, ['solo', ...Object.entries(options).flat().map(String)]);
    return JSON.parse(stdout).rate;
  },

  /** What `start` of a subject is given. */
  input({ context, scratch }) {
    return { server: { command: context.lineEcho, args: ['--stats', join(scratch, 'server.json')] } };
  },

  /** The server's own account after a subject was closed: how many calls it answered, and what they cost it. */
  async witness({ scratch }) {
    const { calls, reads, cpuNs } = JSON.parse(await readFile(join(scratch, 'server.json'), 'utf8'));
    return { operations: calls, cpuUs: cpuNs === null ? null : cpuNs / 1000, detail: { reads } };
  },
};
