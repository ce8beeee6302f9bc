// The examples of README.md about serving, word for word, so that they are compiled.

import { createPluggableStdioTransport, MCPServer, type RuntimeLike } from 'espalier/server';

const runtime: RuntimeLike = {
  tools: {
    list: () => [
      {
        name: 'echo',
        description: 'Echo the text back.',
        parameters: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
        execute: async (args) => ({ echoed: args['text'] }),
      },
    ],
  },
};

const server = new MCPServer({
  name: 'my-mcp-server',
  version: '1.0.0',
  runtime, // whose tools are projected
  nativeExecution: true, // run each tool's own execute; off by default
});
server.register({
  name: 'ping',
  description: "Health check: returns 'pong'.",
  inputSchema: { type: 'object', properties: {} },
  handler: async () => ({ success: true, output: 'pong' }),
});

await server.start(createPluggableStdioTransport());

import type { HandlerContext } from 'espalier/server';

export async function book(args: Record<string, unknown>, context: HandlerContext) {
  const { action, content } = await context.elicit({
    message: `Which berth in ${String(args['port'])}?`,
    requestedSchema: { type: 'object', properties: { berth: { type: 'integer' } }, required: ['berth'] },
  });
  if (action !== 'accept') return { success: false, error: 'nothing was booked' };
  return { success: true, output: { berth: content?.['berth'] } };
}
