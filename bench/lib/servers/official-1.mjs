// A server on the official SDK, version 1.

import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';

import { converted, listing, run, zodShape } from './tools.mjs';

const INFO = { name: 'bench', version: '1.0.0' };

/** Gives servers as its documentation has them: tools are registered with schemas of Zod. */
export function highLevel(count) {
  const tools = converted(count, zodShape);
  return () => {
    const server = new McpServer(INFO);
    for (const [name, tool] of tools) server.registerTool(name, tool, run);
    return server;
  };
}

/** Gives servers of its lower level: a list is one object that is there already. */
export function lowLevel(count) {
  const tools = listing(count);
  return () => {
    const server = new Server(INFO, { capabilities: { tools: { listChanged: true } } });
    server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }));
    server.setRequestHandler(CallToolRequestSchema, ({ params }) => run(params.arguments ?? {}));
    return server;
  };
}
