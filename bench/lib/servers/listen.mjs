// A server on `node:http`, as a subject.

import { createServer } from 'node:http';
import { once } from 'node:events';

export async function listen(handle) {
  const server = createServer((request, response) => {
    Promise.resolve(handle(request, response)).catch((error) => {
      console.error(error);
      response.destroy();
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

/** The body of a request, which is JSON. */
export async function bodyOf(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return JSON.parse(Buffer.concat(chunks).toString('utf8'));
}
