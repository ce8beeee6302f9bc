// A server on the official SDK, version 2, whose schemas are made once.

import { fromJsonSchema, McpServer } from '@modelcontextprotocol/server';

import { converted, run } from './tools.mjs';

export function factory(count) {
  const tools = converted(count, ({ inputSchema }) => fromJsonSchema(inputSchema));
  return () => {
    const server = new McpServer({ name: 'bench', version: '1.0.0' });
    for (const [name, tool] of tools) server.registerTool(name, tool, run);
    return server;
  };
}
