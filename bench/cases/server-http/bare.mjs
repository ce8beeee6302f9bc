// Subject: the ceiling of whoever builds on `node:http`. What is left when everything is taken away that makes it a server of
// the protocol: read the body, parse it, answer with what `JSON.stringify` makes. No checks, no limits, no errors.

import { createServer } from 'node:http';
import { once } from 'node:events';

import { listing, run } from '../../lib/servers/tools.mjs';

export async function start({ tools: count }) {
  const tools = listing(count);
  const methods = {
    ping: () => ({}),
    'tools/list': () => ({ tools }),
    'tools/call': ({ arguments: args }) => run(args),
  };
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (chunk) => (body += chunk));
    request.on('end', () => {
      const { id, method, params } = JSON.parse(body);
      const reply = JSON.stringify({ jsonrpc: '2.0', id, result: methods[method](params) });
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(reply) });
      response.end(reply);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    info: { url: `http://127.0.0.1:${server.address().port}/mcp` },
    async close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
