// Subject: the official SDK, version 1, as its documentation has it.

import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';

import { highLevel } from '../../lib/servers/official-1.mjs';

export async function start({ tools }) {
  const server = highLevel(tools)();
  await server.connect(new StdioServerTransport());
  return { info: {}, close: () => server.close() };
}
