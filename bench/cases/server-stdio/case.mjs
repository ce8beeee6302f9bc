// A server over stdio: `tools/list` with 100 tools and `tools/call` of an echo, one after another and 64 in flight.

import { INITIALIZE, load, requestArgs } from '../../lib/load.mjs';
import { buildPeer } from '../../lib/peers.mjs';

const TOOLS = 100;
const HELLO = [
  JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params: INITIALIZE }),
  JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }),
].flatMap((line) => ['--hello', line]);

const subject = (name, more) => ({ name, module: new URL(`./${name}.mjs`, import.meta.url), ...more });
const variant = (name, title, params, targets) => ({ name, title, params: { tools: TOOLS, ...params }, targets });
const against = (atLeast) => [{ atLeast }, { atLeast, vs: 'official-2' }];

export const benchCase = {
  name: 'server-stdio',
  title: 'a server over stdio, driven by raw lines',
  packages: ['@modelcontextprotocol/sdk', '@modelcontextprotocol/server'],
  subjects: [
    subject('espalier', { ours: true }),
    subject('official-1'),
    subject('official-1-low'),
    subject('official-2'),
  ],
  reference: 'official-1',
  metric: { unit: 'requests/s', better: 'higher', of: (round) => round.operations / (round.elapsedMs / 1000) },
  soloOf: 'the load against a raw line-echo server',
  hasPipes: true,
  variants: [
    variant('list', 'tools/list with 100 tools, one after another', { method: 'tools/list', inFlight: 1 }),
    variant('call', 'tools/call, one after another', { method: 'tools/call', inFlight: 1 }),
    variant('list-64', 'tools/list with 100 tools, 64 in flight', { method: 'tools/list', inFlight: 64 }, against(10)),
    variant('call-64', 'tools/call, 64 in flight', { method: 'tools/call', inFlight: 64 }, against(3)),
  ],

  async prepare({ log }) {
    return { load: await buildPeer('load', log), lineEcho: await buildPeer('line-echo', log) };
  },

  async solo({ context, variant: { params }, seconds }) {
    const request = requestArgs({ ...params, seconds }, false);
    const server = ['--', context.lineEcho, '--tools', String(params.tools)];
    const { rate } = await load(context.load, ['lines', ...HELLO, ...request, ...server]);
    return rate;
  },

  input({ variant: { params } }) {
    return { tools: params.tools };
  },

  async drive({ context, info, params, pipes }) {
    const hello = info.isOpen ? [] : HELLO;
    info.isOpen = true;
    const server = ['--in', pipes.input, '--out', pipes.output];
    return load(context.load, ['lines', ...server, ...hello, ...requestArgs(params, false)]);
  },
};
