// Subject: the official TypeScript client over its own stdio transport, all servers at once.

import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

export function start({ command, servers }) {
  const clients = [];

  async function schemas() {
    const client = new Client({ name: 'bench', version: '0.0.0' });
    clients.push(client);
    await client.connect(new StdioClientTransport({ command }));
    const { tools } = await client.listTools();
    return tools.map(({ inputSchema }) => inputSchema);
  }

  return {
    tools: 1,
    async ready() {
      return (await Promise.all(Array.from({ length: servers }, schemas))).flat();
    },
    close: () => Promise.all(clients.map((client) => client.close())),
  };
}
