// Subject: the official SDK, version 2, whose handler makes a server for each request.

import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler } from '@modelcontextprotocol/server';

import { listen } from '../../lib/servers/listen.mjs';
import { factory } from '../../lib/servers/official-2.mjs';

export function start({ tools }) {
  return listen(toNodeHandler(createMcpHandler(factory(tools), { responseMode: 'json' })));
}
