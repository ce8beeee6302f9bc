// A WebSocket of somebody else's, the one that newer Nodes have, against a server of the package: both eras on one connection.

import { expect, it } from 'vitest';

import { underNewerNode } from '../helpers/newer-node.js';
import { ported } from '../helpers/ported.js';

const CLIENT = `
  const socket = new WebSocket('ws://127.0.0.1:' + input.port + '/ws', ['other', 'mcp']);
  const waiting = new Map();
  const told = [];
  socket.addEventListener('message', ({ data }) => {
    const message = JSON.parse(data);
    const settle = waiting.get(message.id);
    if (settle !== undefined) settle(message.result ?? message.error);
    else told.push(message.method ?? message.error.code);
  });
  await new Promise((resolve) => socket.addEventListener('open', resolve));
  let last = 0;
  const ask = (method, params) => new Promise((resolve) => {
    waiting.set(++last, resolve);
    socket.send(JSON.stringify({ jsonrpc: '2.0', id: last, method, params }));
  });
  const opened = await ask('initialize', {
    protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'browser', version: '1' },
  });
  socket.send(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }));
  const { tools } = await ask('tools/list', {});
  const call = (text, _meta) => ask('tools/call', { name: 'echo', arguments: { text }, _meta });
  const session = await call('x'.repeat(1_000_000), { progressToken: 1 });
  const stateless = await call('価格 — ✅', {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  });
  const many = await Promise.all(Array.from({ length: 200 }, (_, n) => call(String(n))));
  socket.send('{oops');
  const closed = new Promise((resolve) => socket.addEventListener('close', resolve));
  const ping = await ask('ping', {});
  socket.close(1000);
  const { code, wasClean } = await closed;
  say('result', {
    protocol: socket.protocol, opened: opened.protocolVersion, tools: tools.map(({ name }) => name), told,
    session: session.content[0].text.length, stateless: stateless.content[0].text,
    many: many.every(({ content }, n) => content[0].text === String(n)), ping, code, wasClean,
  });
`;

it('a WebSocket of Node speaks to a server', { timeout: 90_000 }, async (context) => {
  const { server, port } = await ported('websocket', {}, (made) =>
    made.register({
      name: 'echo',
      inputSchema: { type: 'object' },
      handler: ({ text }, { progress }) => {
        progress(1);
        return text;
      },
    }),
  );
  expect(await underNewerNode(context, CLIENT, { port })).toEqual({
    protocol: 'mcp',
    opened: '2025-11-25',
    tools: ['echo'],
    told: ['notifications/progress', -32700],
    session: 1_000_000,
    stateless: '価格 — ✅',
    many: true,
    ping: {},
    code: 1000,
    wasClean: true,
  });
  expect(server.stats()).toMatchObject({ sockets: 0, running: 0, refused: { malformed: 1 } });
});
