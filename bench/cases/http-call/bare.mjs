// Subject: the ceiling of whoever builds on `fetch`. What is left of a client when everything is taken away that makes
// it one: no timeouts, no signals, no checks, no errors.

import { startHttpEcho } from '../../lib/http-echo.mjs';

const HEADERS = {
  accept: 'application/json, text/event-stream',
  'content-type': 'application/json',
  'mcp-protocol-version': '2025-11-25',
};
const DATA = 'data: ';

export async function start({ server }) {
  const peer = await startHttpEcho(server);
  let lastId = 0;
  return {
    async call(text) {
      const message = {
        jsonrpc: '2.0',
        id: ++lastId,
        method: 'tools/call',
        params: { name: 'echo', arguments: { text } },
      };
      const response = await fetch(peer.urls[0], { method: 'POST', headers: HEADERS, body: JSON.stringify(message) });
      const body = await response.text();
      const json = body.startsWith('{') ? body : body.slice(body.indexOf(DATA) + DATA.length);
      return JSON.parse(json).result.content[0].text;
    },
    close: () => peer.close(),
  };
}
