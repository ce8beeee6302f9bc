// Subject: this package.

import { createStreamableHttpTransport } from 'espalier/server';

import { mcpServer } from '../../lib/servers/espalier.mjs';

export async function start({ tools }) {
  const server = mcpServer(tools);
  const transport = createStreamableHttpTransport({ port: 0 });
  await server.start(transport);
  return { info: { url: `http://127.0.0.1:${transport.port}/mcp` }, close: () => server.stop() };
}
