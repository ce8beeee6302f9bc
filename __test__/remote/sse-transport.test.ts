// The transport of 2024-11-05 with its two endpoints.

import { describe, expect, it } from 'vitest';

import { sseServer } from '../fixtures/http/mcp.js';
import { peer } from '../fixtures/http/peer.js';
import { connect } from '../helpers/connect.js';
import { mcpError, rejection } from '../helpers/errors.js';
import { over, overBoth, sse } from '../helpers/remote.js';
import { textResult } from '../helpers/scripted.js';
import { timed, until } from '../helpers/until.js';

overBoth((stack) => {
  describe('HTTP+SSE', () => {
    it('opens a stream, shakes hands at its endpoint, lists and calls', async () => {
      const server = await sseServer();
      const { toolset, diagnostics } = await connect([sse(server.sseUrl)], over(stack));

      expect(toolset.servers()).toMatchObject([
        { state: 'ready', type: 'sse', era: 'session', protocolVersion: '2024-11-05', tools: 1 },
      ]);
      await expect(toolset.call('srv__echo', { a: 1 })).resolves.toBe('{"a":1}');
      const [get, ...posts] = server.seen();
      expect(get).toMatchObject({ method: 'GET', path: '/sse' });
      expect(get?.header('accept')).toContain('text/event-stream');
      expect(posts.map(({ message }) => message.method)).toEqual([
        'initialize',
        'notifications/initialized',
        'tools/list',
        'tools/call',
      ]);
      expect(new Set(posts.map(({ path }) => path))).toEqual(new Set(['/messages']));
      expect(diagnostics).toEqual([]);
    });

    it.each<[string, (origin: string) => string, RegExp]>([
      ['relative to the root', () => '/post?sessionId=1&key=a%20b', /^\/post\?sessionId=1&key=a%20b$/],
      ['relative to the stream', () => 'post?sessionId=1', /^\/deep\/post\?sessionId=1$/],
      ['a query alone', () => '?sessionId=1', /^\/deep\/sse\?sessionId=1$/],
      ['absolute', (origin) => `${origin}/post?sessionId=1`, /^\/post\?sessionId=1$/],
      ['absolute, with a host in capitals', (origin) => `${origin.toUpperCase()}/post?x=%C3%BC`, /^\/post\?x=%C3%BC$/],
      ['without a scheme', (origin) => `${origin.replace('http:', '')}/post?a=1`, /^\/post\?a=1$/],
    ])('follows an endpoint that is %s', async (_what, endpoint, target) => {
      const server = await sseServer({ endpoint: () => endpoint(server.origin) });
      const { toolset } = await connect([sse(`${server.origin}/deep/sse`)], over(stack));

      await expect(toolset.call('srv__echo', {})).resolves.toBe('{}');
      for (const { target: seen } of server.seen('POST')) expect(seen).toMatch(target);
    });

    it('refuses an endpoint on another origin, and sends nothing there', async () => {
      const second = await sseServer();
      const first = await sseServer({ endpoint: () => `${second.origin}/messages?sessionId=1` });
      const { of } = await connect([sse(first.sseUrl, { headers: { 'x-key': 'secretive' } })], over(stack));

      expect(of('connection-failure')).toEqual([
        expect.objectContaining({ message: expect.stringContaining('endpoint origin does not match') }),
      ]);
      expect(second.connections().all).toBe(0);
      expect(first.seen('POST')).toEqual([]);
    });

    it.each([
      (port: number) => `https://127.0.0.1:${port}/messages`,
      (port: number) => `http://localhost:${port}/messages`,
      (port: number) => `//127.0.0.1:${port === 65_535 ? 1 : port + 1}/messages`,
      (port: number) => `\\\\evil.example:${port}\\messages`,
      () => 'http://127.0.0.1/messages',
    ])('takes a scheme, a host and a port for an origin (%#)', async (endpoint) => {
      const server = await sseServer({ endpoint: () => endpoint(server.port) });
      const { of } = await connect([sse(server.sseUrl)], over(stack));

      expect(of('connection-failure')).toEqual([
        expect.objectContaining({ message: expect.stringContaining('endpoint origin does not match') }),
      ]);
      expect(server.seen('POST')).toEqual([]);
    });

    it.each(['', 'http://[', 'javascript:alert(1)', 'file:///etc/passwd', 'data:,x'])(
      'refuses "%s" for an endpoint',
      async (endpoint) => {
        const server = await sseServer({ endpoint: () => endpoint });
        const { value, ms } = await timed(() => connect([sse(server.sseUrl, { timeoutMs: 1500 })], over(stack)));

        expect(value.of('connection-failure')).toHaveLength(1);
        expect(ms).toBeLessThan(3000);
      },
    );

    it.each<[string, number, Record<string, string>]>([
      ['404', 404, {}],
      ['405', 405, {}],
      ['500', 500, {}],
      ['200 and no stream', 200, { 'content-type': 'text/html' }],
      ['204', 204, {}],
    ])('cannot do with %s for a stream', async (_what, status, headers) => {
      const server = await peer((exchange) => exchange.send(status, '', headers));
      const { value, ms } = await timed(() => connect([sse(server.url)], over(stack)));

      expect(value.of('connection-failure')).toHaveLength(1);
      expect(ms).toBeLessThan(2000);
      expect(server.seen()).toHaveLength(1);
    });

    it.each(['\r', '\r\n', '\n'])('reads lines that end in %j, however they are cut', async (end) => {
      const server = await peer(async (exchange) => {
        if (exchange.request.method !== 'GET') return exchange.send(202);
        const stream = exchange.stream();
        const write = async (text: string): Promise<void> => {
          for (const byte of Buffer.from(text.replaceAll('\n', end))) {
            stream.text(Buffer.from([byte]));
            await new Promise((resolve) => setImmediate(resolve));
          }
        };
        await write('\uFEFF: hello\n\nevent: endpoint\ndata: /messages\n\n');
        const answered = new Set<unknown>();
        for (;;) {
          const next = await until('a request', () =>
            server.seen('POST').find(({ message }) => message.id !== undefined && !answered.has(message.id)),
          ).catch(() => undefined);
          if (next === undefined || exchange.request.gone) return;
          answered.add(next.message.id);
          const results: Record<string, unknown> = {
            initialize: { protocolVersion: '2024-11-05', capabilities: {}, serverInfo: { name: 's', version: '1' } },
            'tools/list': { tools: [{ name: 't', inputSchema: { type: 'object' } }] },
            'tools/call': textResult('价格 ✅'),
          };
          const result = results[next.message.method ?? ''];
          await write(`event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', id: next.message.id, result })}\n\n`);
        }
      });
      const { toolset } = await connect([sse(server.url)], over(stack));

      await expect(toolset.call('srv__t', {})).resolves.toBe('价格 ✅');
    });

    it('is given up at the time limit when no endpoint is named, and its stream is closed', async () => {
      let exchanged: Promise<void> | undefined;
      const server = await peer(async (exchange) => {
        exchanged = exchange.left;
        const stream = exchange.stream();
        while (!exchange.request.gone) {
          stream.text(': hi\n\n');
          await new Promise((resolve) => setTimeout(resolve, 50));
        }
      });
      const { value, ms } = await timed(() => connect([sse(server.url, { timeoutMs: 600 })], over(stack)));

      expect(value.of('connection-failure')).toHaveLength(1);
      expect(ms).toBeGreaterThan(500);
      expect(ms).toBeLessThan(2500);
      await exchanged;
    });

    it('is given up at the time limit when no headers come', async () => {
      const server = await peer((exchange) => exchange.hang());
      const { value, ms } = await timed(() => connect([sse(server.url, { timeoutMs: 600 })], over(stack)));

      expect(value.of('connection-failure')).toHaveLength(1);
      expect(ms).toBeLessThan(2500);
      await until('the end of the connection', () => server.connections().open === 0);
    });

    it.each([400, 404, 500])('a message that is refused with %i fails its call at once', async (status) => {
      const server = await sseServer({
        before: (exchange) => {
          if (exchange.message.method !== 'tools/call') return false;
          exchange.send(status);
          return true;
        },
      });
      const { toolset } = await connect([sse(server.sseUrl)], over(stack));
      const { ms } = await timed(() => expect(toolset.call('srv__echo', {})).rejects.toThrow(String(status)));

      expect(ms).toBeLessThan(1000);
      expect(server.seen('tools/call')).toHaveLength(1);
    });

    it.each([200, 202, 204])('a message may be accepted with %i', async (status) => {
      const server = await sseServer({
        before: (exchange) => {
          if (exchange.message.method !== 'tools/call') return false;
          const { id } = exchange.message;
          server.streams()[0]?.message({ id, result: textResult('fine') });
          exchange.send(status);
          return true;
        },
      });
      const { toolset } = await connect([sse(server.sseUrl)], over(stack));

      await expect(toolset.call('srv__echo', {})).resolves.toBe('fine');
    });

    it('an endpoint that the server names later on another origin gets nothing', async () => {
      const second = await sseServer();
      const first = await sseServer();
      const { toolset } = await connect([sse(first.sseUrl)], over(stack));
      first.streams()[0]?.event({ event: 'endpoint', data: `${second.origin}/messages` });
      await rejection(Promise.resolve(toolset.call('srv__echo', {})).then(() => Promise.reject(new Error('fine'))));

      expect(second.connections().all).toBe(0);
    });

    it('is closed by `close()`, without a DELETE', async () => {
      const server = await sseServer({ tools: { never: () => {} } });
      const { toolset, diagnostics } = await connect([sse(server.sseUrl)], over(stack));
      const [stream] = server.streams();
      const pending = mcpError(toolset.call('srv__never', {}), 'closed');
      await server.waitFor('tools/call');
      await toolset.close();
      await pending;

      await stream?.exchange.left;
      expect(server.seen('DELETE')).toEqual([]);
      expect(diagnostics).toEqual([]);
      await until('the end of every connection', () => server.connections().open === 0);
    });

    it('sends a cancellation to the endpoint', async () => {
      const server = await sseServer({ tools: { never: () => {} } });
      const { toolset } = await connect([sse(server.sseUrl)], over(stack));
      const controller = new AbortController();
      const pending = rejection(toolset.call('srv__never', {}, { signal: controller.signal }));
      const [call] = await server.waitFor('tools/call');
      controller.abort();
      await pending;

      const [cancelled] = await server.waitFor('notifications/cancelled');
      expect(cancelled?.message.params.requestId).toBe(call?.message.id);
    });

    it('closes the request of a call that is given up before the server has taken it', async () => {
      let left: Promise<void> | undefined;
      const server = await sseServer({
        before: (exchange) => {
          if (exchange.message.method !== 'tools/call') return false;
          ({ left } = exchange);
          return true;
        },
      });
      const { toolset } = await connect([sse(server.sseUrl)], over(stack));
      const controller = new AbortController();
      const pending = rejection(toolset.call('srv__echo', {}, { signal: controller.signal }));
      await server.waitFor('tools/call');
      controller.abort();
      await pending;

      await left;
      await mcpError(toolset.call('srv__echo', {}, { timeoutMs: 100 }), 'timeout');
      await left;
    });

    it('is not held up by a server that takes no cancellation', async () => {
      const server = await sseServer({
        tools: { echo: undefined, never: () => {} },
        before: ({ message }) => message.method === 'notifications/cancelled',
      });
      const { toolset } = await connect([sse(server.sseUrl)], over(stack));
      await mcpError(toolset.call('srv__never', {}, { timeoutMs: 100 }), 'timeout');
      await server.waitFor('notifications/cancelled');
      const { value, ms } = await timed(() => toolset.call('srv__echo', { n: 1 }));

      expect(value).toBe('{"n":1}');
      expect(ms).toBeLessThan(3000);
    });

    it('brings what the server asks, and takes the answer to the endpoint', async () => {
      const server = await sseServer();
      await connect([sse(server.sseUrl)], over(stack));
      server.streams()[0]?.message({ id: 'server-1', method: 'ping' });

      const answer = await until('an answer', () =>
        server.seen('POST').find(({ message }) => message.id === 'server-1'),
      );
      expect(answer.message).toEqual({ jsonrpc: '2.0', id: 'server-1', result: {} });
    });
  });
});
