// A server over Streamable HTTP, in both eras, on kept connections: `ping`, `tools/list`, and `tools/call` of an echo.

import { join } from 'node:path';
import { writeFile } from 'node:fs/promises';

import { headerArgs, load, openSession, requestArgs } from '../../lib/load.mjs';
import { startHttpEcho } from '../../lib/http-echo.mjs';
import { buildPeer } from '../../lib/peers.mjs';
import { listing } from '../../lib/servers/tools.mjs';

const CONNECTIONS = [1, 32, 256];

/** How each subject is spoken to, where both eras are not spoken by all. `official-1` and `fastmcp` know one of them. */
const DIALECTS = {
  espalier: { session: 'session', stateless: 'stateless' },
  'official-1-session': { session: 'session', stateless: 'session' },
  'official-1-low': { session: 'session', stateless: 'session' },
  'official-1-stateless': { session: 'sessionless', stateless: 'sessionless' },
  'official-2': { session: 'sessionless', stateless: 'stateless' },
  fastmcp: { session: 'sessionless', stateless: 'sessionless' },
  bare: { session: 'sessionless', stateless: 'stateless' },
  rmcp: { session: 'sessionless', stateless: 'stateless' },
};

const OFFICIAL = ['official-1-session', 'official-1-stateless', 'official-2'];
const TARGETS = {
  'list-20-32-stateless': [...OFFICIAL.map((vs) => ({ atLeast: 50, vs })), { atLeast: 2, vs: 'rmcp' }],
  'call-32-stateless': [
    ...OFFICIAL.map((vs) => ({ atLeast: 10, vs })),
    { atLeast: 1.2, vs: 'bare' },
    { atLeast: 2, vs: 'rmcp' },
  ],
};

const WORK = [
  { name: 'ping', title: 'ping', params: { method: 'ping', tools: 20 }, eras: ['session'] },
  { name: 'list-20', title: 'tools/list with 20 tools', params: { method: 'tools/list', tools: 20 } },
  { name: 'list-200', title: 'tools/list with 200 tools', params: { method: 'tools/list', tools: 200 } },
  { name: 'call', title: 'tools/call', params: { method: 'tools/call', tools: 20 } },
];

function variants() {
  return WORK.flatMap(({ name, title, params, eras = ['stateless', 'session'] }) =>
    CONNECTIONS.flatMap((inFlight) =>
      eras.map((era) => {
        const variant = `${name}-${inFlight}-${era}`;
        const what = `${title}, ${inFlight} connection${inFlight === 1 ? '' : 's'}, ${era} era`;
        return { name: variant, title: what, params: { ...params, inFlight, era }, targets: TARGETS[variant] };
      }),
    ),
  );
}

export const benchCase = {
  name: 'server-http',
  title: 'a server over Streamable HTTP, driven by raw requests',
  packages: ['@modelcontextprotocol/sdk', '@modelcontextprotocol/server', '@modelcontextprotocol/node', 'fastmcp'],
  subjects: Object.keys(DIALECTS).map((name) => ({
    name,
    module: new URL(`./${name}.mjs`, import.meta.url),
    ours: name === 'espalier',
  })),
  reference: 'bare',
  metric: { unit: 'requests/s', better: 'higher', of: (round) => round.operations / (round.elapsedMs / 1000) },
  soloOf: 'the load against a raw http-echo server',
  variants: variants(),

  async prepare({ log }) {
    return {
      load: await buildPeer('load', log),
      httpEcho: await buildPeer('http-echo', log),
      rmcp: await buildPeer('rmcp-server', log),
    };
  },

  async solo({ context, variant: { params }, seconds }) {
    const echo = await startHttpEcho({ command: context.httpEcho, args: ['--tools', String(params.tools)] });
    try {
      const { rate } = await load(context.load, httpArgs(echo.urls[0], { ...params, seconds }, 'sessionless', []));
      return rate;
    } finally {
      await echo.close();
    }
  },

  async input({ context, variant: { params }, scratch }) {
    const file = join(scratch, 'tools.json');
    await writeFile(file, JSON.stringify(listing(params.tools)));
    return { tools: params.tools, rmcp: { command: context.rmcp, args: ['both', file] } };
  },

  async drive({ context, subject, info, params }) {
    const dialect = DIALECTS[subject.name][params.era];
    if (dialect === 'session') {
      info.sessions ??= await Promise.all(Array.from({ length: params.inFlight }, () => openSession(info.url)));
    }
    return load(context.load, httpArgs(info.url, params, dialect, info.sessions ?? []));
  },
};

function httpArgs(url, params, dialect, sessions) {
  const { host, pathname } = new URL(url);
  return [
    'http',
    '--address',
    host,
    '--path',
    pathname,
    ...headerArgs(params.method, dialect),
    ...sessions.flatMap((id) => ['--session', id]),
    ...requestArgs(params, dialect === 'stateless'),
  ];
}
