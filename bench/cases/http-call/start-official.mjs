// What the two versions of the official client have in common: all that is needed of them here.

import { startHttpEcho } from '../../lib/http-echo.mjs';

export async function startOfficial(server, Client, Transport) {
  const peer = await startHttpEcho(server);
  const client = new Client({ name: 'bench', version: '0.0.0' });
  const transport = new Transport(new URL(peer.urls[0]));
  await client.connect(transport);
  // An agent lists before it calls; it also fills the cache that `callTool` looks into.
  const { tools } = await client.listTools();
  if (tools.length !== 1 || tools[0].name !== 'echo') throw new Error('the listing is not the one of http-echo');
  return {
    async call(text) {
      const { content } = await client.callTool({ name: 'echo', arguments: { text } });
      return content[0].text;
    },
    async close() {
      await transport.terminateSession();
      await client.close();
      await peer.close();
    },
  };
}
