// Subject: the official SDK, version 2.

import { serveStdio } from '@modelcontextprotocol/server/stdio';

import { factory } from '../../lib/servers/official-2.mjs';

export function start({ tools }) {
  const served = serveStdio(factory(tools), { legacy: 'serve' });
  return { info: {}, close: () => served.close() };
}
