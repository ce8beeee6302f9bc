// The official SDK, version 1, with a server and a transport for each session: JSON replies, which is its faster manner.

import { randomUUID } from 'node:crypto';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';

import { bodyOf, listen } from '../../lib/servers/listen.mjs';

export function serveSessions(makeServer) {
  const sessions = new Map();
  return listen(async (request, response) => {
    const body = await bodyOf(request);
    let transport = sessions.get(request.headers['mcp-session-id']);
    if (transport === undefined) {
      transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        enableJsonResponse: true,
        onsessioninitialized: (id) => void sessions.set(id, transport),
      });
      await makeServer().connect(transport);
    }
    await transport.handleRequest(request, response, body);
  });
}
