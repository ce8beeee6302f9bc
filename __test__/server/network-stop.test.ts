// How a port ends: nothing new is taken, what runs may finish for a while, streams end, and the port is free.

import { createServer } from 'node:net';

import { describe, expect, it } from 'vitest';

import { begin, ported, reader, session, WAYS, type Way } from '../helpers/ported.js';
import { until } from '../helpers/until.js';
import { RawWebSocket } from '../helpers/websocket.js';

describe.each(WAYS)('a server that stops over %s', (way) => {
  it('lets a call finish, takes no other one, and frees the port', async () => {
    let finish: (() => void) | undefined;
    const { server, port } = await ported(way, { shutdownTimeoutMs: 60_000 }, (made) =>
      made.register({
        name: 'hold',
        inputSchema: { type: 'object' },
        handler: () => new Promise((resolve) => (finish = () => resolve('finished in time'))),
      }),
    );
    const call = await begin(way, port, 'hold');
    await until('the call', () => finish !== undefined);
    const stopped = server.stop();
    await until('a refusal', async () => {
      const late = knock(way, port);
      const status = await until('a reply', () => late.status());
      late.drop();
      return status === 503;
    });
    finish?.();
    await stopped;
    await until('the answer', () => call.text().includes('finished in time'));
    expect(server.isStarted()).toBe(false);

    const next = createServer();
    await new Promise<void>((resolve, reject) => {
      next.once('error', reject);
      next.listen(port, '127.0.0.1', resolve);
    });
    await new Promise((resolve) => next.close(resolve));
  });
});

/** Asks for something new. */
function knock(way: Way, port: number): { status: () => number | false; drop: () => void } {
  const known = (status: number): number | false => status !== 0 && status;
  if (way === 'websocket') {
    const socket = new RawWebSocket(port);
    return { status: () => known(socket.status), drop: () => socket.drop() };
  }
  const request = { id: 1, method: 'initialize', params: {} };
  const late =
    way === 'sse' ? reader(`http://127.0.0.1:${port}/sse`, {}) : reader(`http://127.0.0.1:${port}/mcp`, {}, request);
  return { status: () => known(late.status()), drop: () => late.drop() };
}

it('the streams of sessions end with the server', async () => {
  const { server, port } = await ported('session', {}, () => {});
  const stream = reader(`http://127.0.0.1:${port}/mcp`, { 'mcp-session-id': await session(port) });
  await until('the stream', () => stream.status() === 200);
  await server.stop();
  await stream.ended;
  expect(server.stats()).toMatchObject({ sockets: 0, sessions: 0, connections: 0 });
});
