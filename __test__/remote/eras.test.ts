// Which revision a server is spoken to in, and how that is found out.

import { describe, expect, it } from 'vitest';

import { sessionServer, statelessServer } from '../fixtures/http/mcp.js';
import { peer, type Answer, type Peer } from '../fixtures/http/peer.js';
import { connect } from '../helpers/connect.js';
import { http, over, overBoth, sse } from '../helpers/remote.js';

/** The JSON-RPC methods that a server has seen, in order, but for the optional stream. */
function methods(server: Peer): (string | undefined)[] {
  return server.seen('POST').map(({ message }) => message.method);
}

/** A session server that answers the probe, and nothing else, with something of the test's own. */
function answering(probe: Answer): ReturnType<typeof sessionServer> {
  return sessionServer({
    before: async (exchange) => {
      if (exchange.message.method !== 'server/discover') return false;
      await probe(exchange);
      return true;
    },
  });
}

overBoth((stack) => {
  describe('a server of the stateless era', () => {
    it('is found by one probe and never sees a handshake', async () => {
      const server = await statelessServer();
      const { toolset, diagnostics } = await connect([http(server.url)], over(stack));

      expect(toolset.servers()).toMatchObject([
        {
          state: 'ready',
          era: 'stateless',
          protocolVersion: '2026-07-28',
          serverInfo: { name: 'stateless-fixture' },
          tools: 1,
        },
      ]);
      await expect(toolset.call('srv__echo', { a: 1 })).resolves.toBe('{"a":1}');
      expect(methods(server).filter((method) => method !== 'subscriptions/listen')).toEqual([
        'server/discover',
        'tools/list',
        'tools/call',
      ]);
      expect(diagnostics).toEqual([]);
    });

    it.each(['sse', 'json'] as const)('may answer the probe as %s', async (reply) => {
      const server = await statelessServer({ reply });
      const { toolset } = await connect([http(server.url)], over(stack));

      expect(toolset.servers()).toMatchObject([{ era: 'stateless' }]);
    });

    it('that refuses the version once is asked again with a version from its list', async () => {
      let refused = false;
      const server = await statelessServer({
        before: (exchange) => {
          if (refused) return false;
          refused = true;
          const data = { supported: ['2026-07-28'], requested: exchange.message.params._meta.whatever };
          exchange.error(400, { code: -32_022, message: 'Unsupported protocol version', data });
          return true;
        },
      });
      const { toolset } = await connect([http(server.url)], over(stack));

      expect(toolset.servers()).toMatchObject([{ era: 'stateless', protocolVersion: '2026-07-28' }]);
      const [first, second] = server.seen('server/discover');
      expect(second?.message.id).not.toBe(first?.message.id);
      expect(methods(server)).not.toContain('initialize');
    });

    it.each([
      ['-32020', { code: -32_020, message: 'Header mismatch' }],
      ['-32021', { code: -32_021, message: 'Missing capability', data: { requiredCapabilities: { sampling: {} } } }],
      [
        '-32022 without a version of ours',
        { code: -32_022, message: 'Unsupported', data: { supported: ['2099-01-01'], requested: '2026-07-28' } },
      ],
    ])('that answers %s is not taken for an old one', async (_what, error) => {
      const server = await answering((exchange) => exchange.error(400, error));
      const { of } = await connect([http(server.url)], over(stack));

      expect(of('connection-failure')).toHaveLength(1);
      expect(methods(server)).not.toContain('initialize');
    });
  });

  describe('a server of the session era', () => {
    it('costs one extra request', async () => {
      const server = await sessionServer();
      const { toolset, diagnostics } = await connect([http(server.url)], over(stack));

      expect(toolset.servers()).toMatchObject([
        { state: 'ready', era: 'session', protocolVersion: '2025-11-25', serverInfo: { name: 'session-fixture' } },
      ]);
      await expect(toolset.call('srv__echo', { a: 1 })).resolves.toBe('{"a":1}');
      expect(methods(server)).toEqual([
        'server/discover',
        'initialize',
        'notifications/initialized',
        'tools/list',
        'tools/call',
      ]);
      expect(server.seen('initialize')[0]?.message.params).toMatchObject({
        protocolVersion: '2025-11-25',
        clientInfo: { name: 'espalier', version: expect.stringMatching(/^\d/) },
        capabilities: {},
      });
      expect(diagnostics).toEqual([]);
    });

    it.each<[string, Answer]>([
      ['400 and a JSON-RPC error', (exchange) => exchange.error(400, { code: -32_000, message: 'no session' })],
      ['400 without a body', (exchange) => exchange.send(400)],
      ['400 and HTML', (exchange) => exchange.send(400, '<h1>Bad Request</h1>', { 'content-type': 'text/html' })],
      [
        '400 and half a JSON text',
        (exchange) => exchange.send(400, '{"jsonrpc":"2.0","err', { 'content-type': 'application/json' }),
      ],
      ['404 without a body', (exchange) => exchange.send(404)],
      ['404 and -32601', (exchange) => exchange.error(404, { code: -32_601, message: 'Method not found' })],
      [
        '404 and a body without end',
        (exchange) =>
          void exchange
            .head(404, { 'content-type': 'text/html', 'transfer-encoding': 'chunked' })
            .chunk('<h1>on and on'),
      ],
      ['405', (exchange) => exchange.send(405)],
      ['406', (exchange) => exchange.send(406)],
      ['415', (exchange) => exchange.send(415)],
      ['422', (exchange) => exchange.send(422)],
      ['200 and -32601', (exchange) => exchange.error(200, { code: -32_601, message: 'Method not found' })],
      ['200 and -32602', (exchange) => exchange.error(200, { code: -32_602, message: 'Invalid params' })],
    ])('is known by %s', async (_what, probe) => {
      const server = await answering(probe);
      const { toolset, of } = await connect([http(server.url)], over(stack));

      expect(toolset.servers()).toMatchObject([{ state: 'ready', era: 'session' }]);
      expect(of('connection-failure')).toEqual([]);
      expect(server.seen('initialize')).toHaveLength(1);
    });

    it.each<[string, Answer]>([
      ['401', (exchange) => exchange.send(401)],
      ['403', (exchange) => exchange.send(403)],
      ['500', (exchange) => exchange.send(500)],
      ['502', (exchange) => exchange.send(502, '<h1>Bad Gateway</h1>', { 'content-type': 'text/html' })],
      ['503', (exchange) => exchange.send(503)],
      ['a broken connection', (exchange) => exchange.cut()],
      ['silence', (exchange) => exchange.hang()],
    ])('is not concluded from %s', async (_what, probe) => {
      const server = await answering(probe);
      const { of } = await connect([http(server.url, { timeoutMs: 1000 })], over(stack));

      expect(of('connection-failure')).toEqual([
        expect.objectContaining({ origin: 'srv', message: expect.stringContaining('srv') }),
      ]);
      expect(methods(server)).not.toContain('initialize');
    });

    it.each(['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'])('may answer with %s', async (protocolVersion) => {
      const server = await sessionServer({ protocolVersion });
      const { toolset } = await connect([http(server.url)], over(stack));

      expect(toolset.servers()).toMatchObject([{ era: 'session', protocolVersion }]);
      await expect(toolset.call('srv__echo', {})).resolves.toBe('{}');
    });

    it('is not offered the revision that has no handshake', async () => {
      const server = await sessionServer({ protocolVersion: '2026-07-28' });
      const { of } = await connect([http(server.url)], over(stack));

      expect(of('connection-failure')).toEqual([
        expect.objectContaining({ message: expect.stringContaining('2026-07-28') }),
      ]);
    });
  });

  describe('the era', () => {
    it('of an old server is remembered for its URL, whatever the query', async () => {
      const server = await sessionServer();
      await connect([http(server.url)], over(stack));
      const { toolset } = await connect([http(`${server.url}?tenant=b`)], over(stack));

      expect(toolset.servers()).toMatchObject([{ state: 'ready', era: 'session' }]);
      expect(server.seen('server/discover')).toHaveLength(1);
      expect(server.seen('initialize')).toHaveLength(2);
    });

    it('is not remembered for another path', async () => {
      const server = await sessionServer();
      await connect([http(server.url)], over(stack));
      await connect([http(`${server.origin}/other`)], over(stack));

      expect(server.seen('server/discover').map(({ path }) => path)).toEqual(['/mcp', '/other']);
    });

    it('is found out again when the server has moved on', async () => {
      const before = await sessionServer();
      await connect([http(before.url)], over(stack)).then(({ toolset }) => toolset.close());
      await before.stop();
      const after = await statelessServer({ port: before.port });
      const { toolset } = await connect([http(after.url)], over(stack));

      expect(toolset.servers()).toMatchObject([{ state: 'ready', era: 'stateless' }]);
    });

    it('is found out again when the server has gone back', async () => {
      const before = await statelessServer();
      await connect([http(before.url)], over(stack)).then(({ toolset }) => toolset.close());
      await before.stop();
      const after = await sessionServer({ port: before.port });
      const { toolset } = await connect([http(after.url)], over(stack));

      expect(toolset.servers()).toMatchObject([{ state: 'ready', era: 'session' }]);
    });
  });

  describe('the option `protocol`', () => {
    it('`legacy` never probes', async () => {
      const server = await sessionServer();
      const { toolset } = await connect([http(server.url)], { ...over(stack), protocol: 'legacy' });

      expect(toolset.servers()).toMatchObject([{ era: 'session' }]);
      expect(methods(server)[0]).toBe('initialize');
    });

    it('`legacy` does not get along with a server of the stateless era alone', async () => {
      const server = await statelessServer();
      const { of } = await connect([http(server.url)], { ...over(stack), protocol: 'legacy' });

      expect(of('connection-failure')).toHaveLength(1);
      expect(methods(server)).toEqual(['initialize']);
    });

    it('a pin to the stateless era never falls back', async () => {
      const server = await sessionServer();
      const { of } = await connect([http(server.url)], { ...over(stack), protocol: { pin: '2026-07-28' } });

      expect(of('connection-failure')).toHaveLength(1);
      expect(methods(server)).not.toContain('initialize');
    });

    it('a pin to a revision with a handshake offers just that one', async () => {
      const server = await sessionServer();
      const { toolset } = await connect([http(server.url)], { ...over(stack), protocol: { pin: '2025-06-18' } });

      expect(toolset.servers()).toMatchObject([{ era: 'session', protocolVersion: '2025-06-18' }]);
      expect(methods(server)[0]).toBe('initialize');
      expect(server.seen('initialize')[0]?.message.params.protocolVersion).toBe('2025-06-18');
    });

    it('a pin is not met by another revision', async () => {
      const server = await sessionServer({ protocolVersion: '2025-03-26' });
      const { of } = await connect([http(server.url)], { ...over(stack), protocol: { pin: '2025-06-18' } });

      expect(of('connection-failure')).toHaveLength(1);
    });

    it('of a server stands above that of the toolset', async () => {
      const server = await sessionServer();
      await connect([http(server.url, { protocol: 'auto' })], { ...over(stack), protocol: 'legacy' });

      expect(methods(server)[0]).toBe('server/discover');
    });
  });

  it('a `streamable-http` server is never spoken to over HTTP+SSE', async () => {
    const server = await peer((exchange) => {
      if (exchange.request.method === 'GET') exchange.stream().event({ event: 'endpoint', data: '/messages' });
      else exchange.send(405);
    });
    const { of } = await connect([http(server.url)], over(stack));

    expect(of('connection-failure')).toHaveLength(1);
    expect(server.seen().map(({ path }) => path)).not.toContain('/messages');
  });

  it('an `sse` server is never probed', async () => {
    const server = await peer((exchange) => exchange.hang());
    await connect([sse(server.url, { timeoutMs: 300 })], over(stack));

    expect(server.seen().map(({ method }) => method)).toEqual(['GET']);
  });
});
