// Subject: the official SDK, version 1, by its lower level.

import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';

import { lowLevel } from '../../lib/servers/official-1.mjs';

export async function start({ tools }) {
  const server = lowLevel(tools)();
  await server.connect(new StdioServerTransport());
  return { info: {}, close: () => server.close() };
}
