// Why the signal of a handler fires, seen from outside: over each transport on a port.

import type { MCPServer, MCPToolDefinition } from 'espalier/server';
import { describe, expect, it } from 'vitest';

import { begin, ported, reader, session, WAYS, type Way } from '../helpers/ported.js';
import { until } from '../helpers/until.js';
import { RawWebSocket } from '../helpers/websocket.js';
import type { Json } from '../helpers/wire.js';

interface Waiting {
  server: MCPServer;
  port: number;
  /** What the signals said. */
  reasons: unknown[];
  /** Waits until the handler of a call waits for its signal. */
  called: () => Promise<unknown>;
}

/** A server whose tool waits for its signal. */
async function waiting(way: Way, limits: Json): Promise<Waiting> {
  const reasons: unknown[] = [];
  let isCalled = false;
  const tool: MCPToolDefinition = {
    name: 'wait',
    inputSchema: { type: 'object' },
    handler: (args, { signal, progress }) => {
      if (args['tells'] === true) progress(1);
      return new Promise((resolve) => {
        signal.addEventListener('abort', () => {
          reasons.push((signal.reason as Error).cause);
          resolve('late');
        });
        isCalled = true;
      });
    },
  };
  const called = async (): Promise<unknown> => until('the call', () => isCalled);
  return { ...(await ported(way, limits, (server) => server.register(tool))), reasons, called };
}

describe.each(WAYS)('the signal of a handler over %s', (way) => {
  it('fires when the connection of its client is closed', async () => {
    const { server, port, reasons, called } = await waiting(way, {});
    const call = await begin(way, port, 'wait');
    await called();
    expect(reasons).toEqual([]);
    call.drop();
    await until('the signal', () => reasons.length > 0);
    expect(reasons).toEqual(['closed']);
    await until('the end of all of it', () => server.stats().running + server.stats().jobs === 0);
  });

  it('fires when the time of the request is up, and the client is told', async () => {
    const { server, port, reasons } = await waiting(way, { requestTimeoutMs: 100 });
    const call = await begin(way, port, 'wait');
    await until('the answer', () => call.text().includes('Request timed out'));
    expect(reasons).toEqual(['timeout']);
    expect(server.stats().timedOut).toBe(1);
  });

  it('fires when the server stops and the time for that is up', async () => {
    const { server, port, reasons, called } = await waiting(way, { shutdownTimeoutMs: 100 });
    await begin(way, port, 'wait');
    await called();
    await server.stop();
    expect(reasons).toEqual(['stopped']);
  });
});

describe('the signal of a handler', () => {
  it('fires when its session is deleted', async () => {
    const { port, reasons, called } = await waiting('session', {});
    const id = await session(port);
    const url = `http://127.0.0.1:${port}/mcp`;
    const call = reader(
      url,
      { 'mcp-session-id': id },
      { id: 1, method: 'tools/call', params: { name: 'wait', arguments: {} } },
    );
    await called();
    expect((await fetch(url, { method: 'DELETE', headers: { 'mcp-session-id': id } })).status).toBe(200);
    await until('the signal', () => reasons.length > 0);
    expect(reasons).toEqual(['closed']);
    await call.ended;
    expect(call.status()).toBe(404);
  });

  it('fires when nobody comes back to the stream of its call for so long', async () => {
    const { server, port, reasons } = await waiting('session', { idleTimeoutMs: 300, requestTimeoutMs: 0 });
    const call = await begin('session', port, 'wait', { tells: true });
    // An event with an id: its client may come back.
    await until('the stream', () => /^id: /m.test(call.text()));
    call.drop();
    await until('the end of the connection', () => server.stats().sockets === 0);
    await until('the signal', () => reasons.length > 0);
    expect(reasons).toEqual(['idle']);
    await until('the end of the session', () => server.stats().sessions === 0, 15_000);
  });

  it('fires when a WebSocket does not answer a ping', async () => {
    const { server, port, reasons } = await waiting('websocket', { heartbeatIntervalMs: 300 });
    const socket = await new RawWebSocket(port).opened();
    socket.send({ id: 1, method: 'tools/call', params: { name: 'wait', arguments: {} } });
    await until('the signal', () => reasons.length > 0);
    expect(reasons).toEqual(['heartbeat']);
    await until('its end', () => socket.isClosed);
    expect(server.stats().closed.silent).toBe(1);
  });

  it('fires when the client cancels', async () => {
    const { port, reasons, called } = await waiting('websocket', {});
    const socket = await new RawWebSocket(port).opened();
    socket.send({ id: 1, method: 'tools/call', params: { name: 'wait', arguments: {} } });
    await called();
    socket.send({ method: 'notifications/cancelled', params: { requestId: 1 } });
    await until('the signal', () => reasons.length > 0);
    expect(reasons).toEqual(['cancelled']);
  });
});
