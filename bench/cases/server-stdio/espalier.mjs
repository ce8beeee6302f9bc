// Subject: this package.

import { createPluggableStdioTransport } from 'espalier/server';

import { mcpServer } from '../../lib/servers/espalier.mjs';

export async function start({ tools }) {
  const server = mcpServer(tools);
  await server.start(createPluggableStdioTransport());
  return { info: {}, close: () => server.stop() };
}
