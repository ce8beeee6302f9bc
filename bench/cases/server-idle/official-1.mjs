// Subject: the official SDK, version 1, with a server for each stream.

import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';

import { listen } from '../../lib/servers/listen.mjs';
import { lowLevel } from '../../lib/servers/official-1.mjs';

export function start() {
  const makeServer = lowLevel(20);
  return listen(async (_request, response) => {
    await makeServer().connect(new SSEServerTransport('/messages', response));
  });
}
