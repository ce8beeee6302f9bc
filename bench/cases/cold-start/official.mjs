// Subject: the official TypeScript client, one after another or all at once.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

import { startHttpEcho } from '../../lib/http-echo.mjs';

export async function start({ server, servers, atOnce }) {
  const peer = await startHttpEcho(server);
  const connections = [];

  async function connectOne(url) {
    const client = new Client({ name: 'bench', version: '0.0.0' });
    const transport = new StreamableHTTPClientTransport(new URL(url));
    connections.push({ client, transport });
    await client.connect(transport);
    const { tools } = await client.listTools();
    return tools.length;
  }

  return {
    servers,
    async connect() {
      if (atOnce) return (await Promise.all(peer.urls.map(connectOne))).reduce((sum, tools) => sum + tools, 0);
      let tools = 0;
      for (const url of peer.urls) tools += await connectOne(url);
      return tools;
    },
    async close() {
      await Promise.all(connections.map(({ transport }) => transport.terminateSession()));
      await Promise.all(connections.map(({ client }) => client.close()));
      await peer.close();
    },
  };
}
