// A server of this package, as a user writes it.

import { MCPServer } from 'espalier/server';

import { listing } from './tools.mjs';

export function mcpServer(count) {
  const server = new MCPServer({ name: 'bench', version: '1.0.0' });
  for (const tool of listing(count)) server.register({ ...tool, handler: ({ text = '' }) => text });
  return server;
}
