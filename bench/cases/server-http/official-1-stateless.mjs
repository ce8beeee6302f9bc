// Subject: the official SDK, version 1, with a server and a transport for each request.

import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';

import { bodyOf, listen } from '../../lib/servers/listen.mjs';
import { highLevel } from '../../lib/servers/official-1.mjs';

export function start({ tools }) {
  const makeServer = highLevel(tools);
  return listen(async (request, response) => {
    const body = await bodyOf(request);
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined, enableJsonResponse: true });
    await makeServer().connect(transport);
    response.once('close', () => void transport.close());
    await transport.handleRequest(request, response, body);
  });
}
