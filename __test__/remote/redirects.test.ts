// Redirects: which are followed, how far, and what goes along.

import { describe, expect, it } from 'vitest';

import { sessionServer, sseServer, statelessServer } from '../fixtures/http/mcp.js';
import { peer, type Exchange, type Seen } from '../fixtures/http/peer.js';
import { connect } from '../helpers/connect.js';
import { mcpError } from '../helpers/errors.js';
import { http, over, overBoth, sse } from '../helpers/remote.js';
import { timed } from '../helpers/until.js';

const FOLLOWED = [301, 302, 307, 308] as const;

/** Sends every request for `/old…` to the same place under `/mcp…`. */
function moved(status: number, target: (exchange: Exchange) => string): (exchange: Exchange) => boolean {
  return (exchange) => {
    if (!exchange.request.path.startsWith('/old')) return false;
    exchange.redirect(status, target(exchange));
    return true;
  };
}

overBoth((stack) => {
  describe('a redirect on the same origin', () => {
    it.each(FOLLOWED.flatMap((status) => (['relative', 'absolute'] as const).map((form) => [status, form] as const)))(
      'by %i to a %s address keeps method, body and headers',
      async (status, form) => {
        const server = await sessionServer({
          get: 'stream',
          before: moved(status, ({ request }) =>
            form === 'relative' ? '/mcp' : `http://${request.header('host') ?? ''}/mcp`,
          ),
        });
        const { toolset, diagnostics } = await connect(
          [http(`${server.origin}/old`, { headers: { 'x-tenant': 'one' } })],
          over(stack),
        );
        await server.stream();
        await expect(toolset.call('srv__echo', { a: 1 })).resolves.toBe('{"a":1}');
        await toolset.close();

        const there = server.seen().filter(({ path }) => path === '/mcp');
        const here = server.seen().filter(({ path }) => path === '/old');
        // The stream and the listing begin at the same time.
        const sent = (requests: Seen[]): string[] => requests.map(({ method, body }) => `${method} ${body}`).toSorted();
        expect(sent(there)).toEqual(sent(here));
        expect(there.map((one) => one.header('x-tenant'))).toEqual(there.map(() => 'one'));
        expect(there.filter(({ method }) => method === 'POST').map((one) => one.header('content-type'))).toEqual(
          there.filter(({ method }) => method === 'POST').map(() => 'application/json'),
        );
        expect(server.seen('DELETE').map(({ path }) => path)).toEqual(['/old', '/mcp']);
        expect(diagnostics).toEqual([]);
      },
    );

    it('by 303 on a POST is an error that names the target, and no request goes there', async () => {
      const server = await sessionServer({ before: moved(303, () => '/mcp/elsewhere') });
      const { of } = await connect([http(`${server.origin}/old`)], over(stack));

      expect(of('connection-failure')).toEqual([
        expect.objectContaining({ message: expect.stringContaining('/mcp/elsewhere') }),
      ]);
      expect(server.seen().filter(({ path }) => path !== '/old')).toEqual([]);
    });

    it('by 303 on a call is an error of the call', async () => {
      const server = await sessionServer({
        before: (exchange) => {
          if (exchange.message.method !== 'tools/call') return false;
          exchange.redirect(303, '/elsewhere');
          return true;
        },
      });
      const { toolset } = await connect([http(server.url)], over(stack));

      await expect(toolset.call('srv__echo', {})).rejects.toThrow('/elsewhere');
      expect(server.seen().filter(({ path }) => path === '/elsewhere')).toEqual([]);
    });

    it.each([300, 304, 305, 306])('by %i is not followed', async (status) => {
      const server = await sessionServer({ before: moved(status, () => '/mcp') });
      const { of } = await connect([http(`${server.origin}/old`)], over(stack));

      expect(of('connection-failure')).toHaveLength(1);
      expect(server.seen().filter(({ path }) => path === '/mcp')).toEqual([]);
    });

    it.each([undefined, '', 'http://', 'http://[', 'file:///etc/passwd', 'javascript:alert(1)', 'data:text/plain,x'])(
      'to %s is a failure',
      async (location) => {
        const server = await peer((exchange) => exchange.send(307, '', location === undefined ? {} : { location }));
        const { value, ms } = await timed(() => connect([http(server.url)], over(stack)));

        expect(value.of('connection-failure')).toHaveLength(1);
        expect(ms).toBeLessThan(3000);
      },
    );

    it('is followed five times', async () => {
      const server = await statelessServer({
        before: (exchange) => {
          const [, hop] = /^\/hop(\d)$/.exec(exchange.request.path) ?? [];
          if (hop === undefined) return false;
          exchange.redirect(307, hop === '1' ? '/mcp' : `/hop${Number(hop) - 1}`);
          return true;
        },
      });
      const { toolset } = await connect([http(`${server.origin}/hop5`)], over(stack));

      expect(toolset.servers()).toMatchObject([{ state: 'ready' }]);
    });

    it('is not followed six times', async () => {
      const server = await peer((exchange) => {
        const hop = Number(/\d+/.exec(exchange.request.path)?.[0] ?? 0);
        exchange.redirect(307, `/hop${hop + 1}`);
      });
      const { of } = await connect([http(`${server.origin}/hop0`)], over(stack));

      expect(of('connection-failure')).toHaveLength(1);
      expect(server.seen().map(({ path }) => path)).toEqual(['/hop0', '/hop1', '/hop2', '/hop3', '/hop4', '/hop5']);
    });

    it('to itself ends as well', async () => {
      const server = await peer((exchange) => exchange.redirect(308, exchange.request.target));
      const { value, ms } = await timed(() => connect([http(server.url)], over(stack)));

      expect(value.of('connection-failure')).toHaveLength(1);
      expect(server.seen().length).toBeLessThanOrEqual(6);
      expect(ms).toBeLessThan(3000);
    });

    it('with a body that never ends is followed all the same', async () => {
      const server = await statelessServer({
        before: (exchange) => {
          if (exchange.request.path !== '/old') return false;
          exchange.head(307, { location: '/mcp', 'transfer-encoding': 'chunked' }).chunk('on and on');
          return true;
        },
      });
      const { toolset } = await connect([http(`${server.origin}/old`)], over(stack));

      expect(toolset.servers()).toMatchObject([{ state: 'ready' }]);
    });

    it('moves the stream of HTTP+SSE', async () => {
      const server = await sseServer({ before: moved(307, () => '/sse') });
      const { toolset } = await connect([sse(`${server.origin}/old`)], over(stack));

      await expect(toolset.call('srv__echo', { a: 1 })).resolves.toBe('{"a":1}');
    });
  });

  describe('a redirect to another origin', () => {
    it.each(FOLLOWED)(
      'by %i is followed for what carries nothing of the user’s, without credentials',
      async (status) => {
        const second = await statelessServer();
        const first = await peer((exchange) => exchange.redirect(status, second.url));
        const url = first.url.replace('http://', 'http://user:password-in-url@');
        const { toolset, of } = await connect(
          [http(url, { headers: { 'x-key': 'key-of-first', cookie: 'c=first' } })],
          {
            ...over(stack),
            session: 's',
            auth: async () => ({ token: 'token-of-first' }),
          },
        );

        expect(toolset.servers()).toMatchObject([{ state: 'ready', era: 'stateless' }]);
        expect(second.seen().length).toBeGreaterThan(0);
        for (const request of second.seen()) {
          expect(request.header('authorization')).toBeUndefined();
          expect(request.header('x-key')).toBeUndefined();
          expect(request.header('cookie')).toBeUndefined();
        }
        expect(of('cross-origin-headers-withheld')).toEqual([
          {
            section: '7.2.1',
            rule: 'cross-origin-headers-withheld',
            origin: 'srv',
            message: expect.stringMatching(
              new RegExp(`${first.port}[^]*${second.port}|${second.port}[^]*${first.port}`),
            ),
          },
        ]);
      },
    );

    it('is not followed by a call, which names the target', async () => {
      const second = await statelessServer();
      const first = await statelessServer({
        before: (exchange) => {
          if (exchange.message.method !== 'tools/call') return false;
          exchange.redirect(307, second.url);
          return true;
        },
      });
      const { toolset } = await connect([http(first.url)], over(stack));

      const error = await mcpError(toolset.call('srv__echo', { secret: 'argument-value' }), 'host-blocked');
      expect(error.message).toContain(String(second.port));
      expect(error.message).not.toContain('argument-value');
      expect(second.connections().all).toBe(0);
    });

    it('does not take a session along, in either direction', async () => {
      // The handshake is moved to the second origin, which opens a session; everything else starts at the first.
      const second = await sessionServer();
      const first = await peer((exchange) => exchange.redirect(307, second.url));
      const { toolset } = await connect([http(first.url)], { ...over(stack), protocol: 'legacy' });
      const [id = 'none'] = second.sessions();
      await toolset.close();

      expect(toolset.servers()).toHaveLength(1);
      expect(first.bytes()).not.toContain(id);
      expect(second.seen('tools/list')[0]?.header('mcp-session-id')).toBe(id);
      expect(second.seen('DELETE')[0]?.header('mcp-session-id')).toBe(id);
    });

    it('does not show the second origin the session of the first', async () => {
      const second = await sessionServer({ sessions: false });
      const first = await sessionServer({
        get: 307,
        before: (exchange) => {
          const { method, message } = { method: exchange.request.method, message: exchange.message };
          if (method !== 'GET' && method !== 'DELETE' && message.method !== 'tools/list') return false;
          exchange.redirect(307, second.url);
          return true;
        },
      });
      const { toolset } = await connect([http(first.url)], { ...over(stack), protocol: 'legacy' });
      const [id = 'none'] = first.sessions();
      await first.waitFor('GET');
      await toolset.close();

      expect(second.seen('tools/list')).toHaveLength(1);
      expect(second.seen('DELETE')).toHaveLength(1);
      expect(second.bytes()).not.toContain(id);
    });

    it('that is not among the allowed hosts is refused before a socket opens', async () => {
      const second = await statelessServer();
      const first = await peer((exchange) => exchange.redirect(307, second.url.replace('127.0.0.1', 'localhost')));
      const { of } = await connect([http(first.url)], { ...over(stack), allowedHosts: ['127.0.0.1'] });

      expect(of('connection-failure')).toEqual([
        expect.objectContaining({
          message: expect.stringMatching(/localhost[^]*allowedHosts|allowedHosts[^]*localhost/),
        }),
      ]);
      expect(second.connections().all).toBe(0);
    });

    it('with credentials of its own in the address does not send them', async () => {
      const second = await statelessServer();
      const first = await peer((exchange) =>
        exchange.redirect(307, second.url.replace('http://', 'http://planted:planted@')),
      );
      await connect([http(first.url)], over(stack));

      for (const request of second.seen()) expect(request.header('authorization')).toBeUndefined();
    });
  });
});
