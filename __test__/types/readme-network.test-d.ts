// The examples of README.md about serving on a port, word for word, so that they are compiled.

import { createSSETransport, MCPServer, type RuntimeLike } from 'espalier/server';

export async function listen(acme: RuntimeLike, globex: RuntimeLike): Promise<MCPServer> {
  const server = new MCPServer({ name: 'my-mcp-server' });
  server.registerSession(crypto.randomUUID(), acme, { tenantId: 'acme' });
  server.registerSession(crypto.randomUUID(), globex, { tenantId: 'globex' });
  const transport = createSSETransport({
    port: 0, // any that is free
    streamableHttp: true, // serve Streamable HTTP at /mcp as well
    tenantIdExtractor: ({ headers }) => headers['x-tenant-id'],
  });
  await server.start(transport);
  console.error(`listening on port ${transport.port}`);
  return server;
}
