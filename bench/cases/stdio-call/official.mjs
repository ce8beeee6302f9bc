// Subject: the official TypeScript client over its own stdio transport.

import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

export async function start({ server }) {
  const client = new Client({ name: 'bench', version: '0.0.0' });
  await client.connect(new StdioClientTransport(server));
  // An agent lists before it calls; it also fills the cache that `callTool` looks into.
  const { tools } = await client.listTools();
  if (tools.length !== 1 || tools[0].name !== 'echo') throw new Error('the listing is not the one of line-echo');
  return {
    call: (text) => call(client, text),
    close: () => client.close(),
  };
}

async function call(client, text) {
  const { content } = await client.callTool({ name: 'echo', arguments: { text } });
  return content[0].text;
}
