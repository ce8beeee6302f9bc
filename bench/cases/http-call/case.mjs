// `tools/call` over Streamable HTTP: one call after another, and 64 in flight, with replies in JSON and as event streams,
// against the raw http-echo server.

import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { buildPeer } from '../../lib/peers.mjs';

const run = promisify(execFile);

/** `fetch` takes some thousand calls to become as fast as it gets. */
const WARM_UP_CALLS = 10_000;

const variant = (name, title, params, targets) => ({
  name,
  title,
  params: { textBytes: 40, warmUpCalls: WARM_UP_CALLS, ...params },
  targets,
});
const wanted = [{ atLeast: 3 }, { atLeast: 3, of: 'cpu' }];

/**
 * Each of its calls leaves a listener at one signal until the next collection of garbage; printing that warning thousands
 * of times is not the work to be measured.
 */
const execArgv = ['--disable-warning=MaxListenersExceededWarning'];

export const benchCase = {
  name: 'http-call',
  title: 'tools/call over Streamable HTTP, against a raw http-echo server',
  packages: ['@modelcontextprotocol/sdk', '@modelcontextprotocol/client'],
  work: new URL('../../lib/calls.mjs', import.meta.url),
  subjects: [
    { name: 'espalier', module: new URL('./espalier.mjs', import.meta.url), ours: true },
    { name: 'official', module: new URL('./official.mjs', import.meta.url), execArgv },
    { name: 'official-2', module: new URL('./official-2.mjs', import.meta.url), execArgv },
    { name: 'bare', module: new URL('./bare.mjs', import.meta.url) },
  ],
  reference: 'official',
  metric: { unit: 'calls/s', better: 'higher', of: (round) => round.operations / (round.elapsedMs / 1000) },
  variants: [
    variant('sequential-json', 'one call after another, JSON replies', { inFlight: 1, reply: 'json' }),
    variant('sequential-sse', 'one call after another, event streams', { inFlight: 1, reply: 'sse' }),
    variant('64-in-flight-json', '64 calls in flight, JSON replies', { inFlight: 64, reply: 'json' }, wanted),
    variant('64-in-flight-sse', '64 calls in flight, event streams', { inFlight: 64, reply: 'sse' }, wanted),
  ],

  async prepare({ log }) {
    return { httpEcho: await buildPeer('http-echo', log) };
  },

  /** How fast the server is when the client costs next to nothing. */
  async solo({ context, variant: { params }, seconds }) {
    const { inFlight, textBytes, reply } = params;
    const options = { '--in-flight': inFlight, '--text-bytes': textBytes, '--reply': reply, '--seconds': seconds };
    const { stdout } = await run(context.httpEcho, ['solo', ...Object.entries(options).flat().map(String)]);
    return JSON.parse(stdout).rate;
  },

  /** What `start` of a subject is given. */
  input({ context, variant: { params }, scratch }) {
    const args = ['--reply', params.reply, '--stats', join(scratch, 'server.json')];
    return { server: { command: context.httpEcho, args } };
  },

  /** The server's own account after a subject was closed: how many calls it answered, and what they cost it. */
  async witness({ scratch }) {
    const { calls, connections, cpuNs } = JSON.parse(await readFile(join(scratch, 'server.json'), 'utf8'));
    return { operations: calls, cpuUs: cpuNs === null ? null : cpuNs / 1000, detail: { connections } };
  },
};
