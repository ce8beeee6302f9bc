// What a port refused, and what is open on it, in the figures of its server.

import { createStreamableHttpTransport, MCPServer, type MCPTransport } from 'espalier/server';
import { afterEach, describe, expect, it } from 'vitest';

describe('the figures of a server on a port', () => {
  let server: MCPServer;
  afterEach(() => server.stop());

  async function start(options: object): Promise<MCPTransport> {
    server = new MCPServer({ name: 'figures', version: '1.0.0' });
    const transport = createStreamableHttpTransport({ port: 0, ...options });
    await server.start(transport);
    return transport;
  }

  function post({ port }: MCPTransport, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
    return fetch(`http://127.0.0.1:${port}/mcp`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', connection: 'close', ...headers },
      body: JSON.stringify(body),
    });
  }

  const initialize = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } },
  };

  it('count sessions, and those that found no room', async () => {
    const transport = await start({ maxSessions: 1 });
    expect((await post(transport, initialize)).status).toBe(200);
    const refused = await post(transport, initialize);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    expect(server.stats()).toMatchObject({ sessions: 1, requests: 1, refused: { full: 1 } });
  });

  it('count bodies that are too long, pages that are not allowed, and callers without a name', async () => {
    const transport = await start({ maxBodyBytes: 1000, tenantIdExtractor: () => undefined });
    expect((await post(transport, initialize, { origin: 'https://elsewhere.example' })).status).toBe(403);
    expect((await post(transport, initialize)).status).toBe(401);
    expect(server.stats().refused).toMatchObject({ tooLarge: 0, forbidden: 1, unauthorized: 1 });
    await server.stop();

    const open = await start({ maxBodyBytes: 1000 });
    expect((await post(open, { ...initialize, padding: 'x'.repeat(1000) })).status).toBe(413);
    expect(server.stats().refused).toMatchObject({ tooLarge: 1, forbidden: 0, unauthorized: 0 });
  });

  it('count sessions that nobody used', async () => {
    const transport = await start({ idleTimeoutMs: 50 });
    await post(transport, initialize);
    await expect.poll(() => server.stats().closed.idle, { timeout: 15_000 }).toBe(1);
    expect(server.stats().sessions).toBe(0);
  });
});
