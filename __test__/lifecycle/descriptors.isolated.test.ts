// A server whose process runs out of descriptors: whoever is connected is served, nobody else is let in for a while, and
// afterwards everything is as before.

import { connect, type Socket } from 'node:net';

import { expect, it, onTestFinished } from 'vitest';

import { program } from '../helpers/programs.js';
import { until } from '../helpers/until.js';
import { RawWebSocket } from '../helpers/websocket.js';

const SERVER = `
  import { createWebSocketTransport, MCPServer } from 'espalier/server';
  const server = new MCPServer({ name: 'poor', runtime: {} });
  server.register({ name: 'sockets', inputSchema: { type: 'object' }, handler: () => ({ sockets: server.stats().sockets }) });
  // Patient enough that those who only take room keep it.
  const transport = createWebSocketTransport({ port: 0, headerTimeoutMs: 60_000 });
  await server.start(transport);
  say('port', transport.port);
`;

it.skipIf(process.platform === 'win32')(
  'a server outlives having no descriptor left',
  { timeout: 60_000 },
  async () => {
    // Node takes some thirty of them by itself.
    const limit = 100;
    const server = program(SERVER, { under: ['sh', '-c', `ulimit -n ${limit} && exec "$@"`, 'sh'] });
    const port = (await server.says('port')) as number;
    const known = await new RawWebSocket(port).opened();
    let last = 0;
    const sockets = async (socket: RawWebSocket): Promise<number> => {
      last += 1;
      socket.send({ id: last, method: 'tools/call', params: { name: 'sockets', arguments: {} } });
      const { result } = (await socket.answer(last)) as { result: { structuredContent: { sockets: number } } };
      return result.structuredContent.sockets;
    };
    expect(await sockets(known)).toBe(1);

    const crowd: Socket[] = [];
    onTestFinished(() => crowd.forEach((socket) => socket.destroy()));
    for (let count = 0; count < 2 * limit; count += 1)
      crowd.push(connect(port, '127.0.0.1').on('error', () => undefined));
    let before = 0;
    const full = await until('no room', async () => {
      const now = await sockets(known);
      const isSettled = now > limit / 4 && now === before && now < 2 * limit;
      before = now;
      return isSettled && now;
    });
    expect(full).toBeLessThan(limit);

    for (const socket of crowd) socket.destroy();
    await until('room', async () => (await sockets(known)) === 1);
    const next = await new RawWebSocket(port).opened();
    expect(await sockets(next)).toBe(2);
    expect(server.stderr()).toBe('');
  },
);
