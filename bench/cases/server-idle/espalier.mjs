// Subject: this package.

import { createSSETransport } from 'espalier/server';

import { mcpServer } from '../../lib/servers/espalier.mjs';

export async function start({ transport: form }) {
  const server = mcpServer(20);
  const transport = createSSETransport({ port: 0, streamableHttp: true });
  await server.start(transport);
  const path = form === 'sse' ? '/sse' : '/mcp';
  return { info: { url: `http://127.0.0.1:${transport.port}${path}` }, close: () => server.stop() };
}
