// The examples of README.md about adapters, word for word, so that they are compiled.

import { adaptHarnessArtifacts, adaptHarnessPrompts, MCPServer, type RuntimeLike } from 'espalier/server';

export function serve(runtime: RuntimeLike): MCPServer {
  const server = new MCPServer({ name: 'my-mcp-server', runtime });
  // For the runtime of each request; without `perRequest`, of one runtime for all.
  server.registerResources((context) => adaptHarnessArtifacts(context!.runtime), { perRequest: true });
  server.registerPrompts(() => adaptHarnessPrompts(runtime));
  return server;
}
