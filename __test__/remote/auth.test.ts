// Credentials that are asked for: when, for whom, and what becomes of those that are no good.

import { describe, expect, it } from 'vitest';

import { sessionServer, sseServer, statelessServer } from '../fixtures/http/mcp.js';
import { connect, tool } from '../helpers/connect.js';
import { mcpError, rejection } from '../helpers/errors.js';
import { http, over, overBoth, sse } from '../helpers/remote.js';
import { timed } from '../helpers/until.js';

overBoth((stack) => {
  describe('`auth`', () => {
    it('is asked before the first byte, with the name of the server and the session', async () => {
      const server = await sessionServer();
      const asked: unknown[] = [];
      await connect([http(server.url)], {
        ...over(stack),
        session: { user: 'u1' },
        auth: async (name, context) => {
          asked.push([name, context, server.connections().all]);
          return { token: 't' };
        },
      });

      expect(asked[0]).toEqual(['srv', { session: { user: 'u1' } }, 0]);
    });

    it('covers every request, notifications, the standing stream and the end of the session too', async () => {
      const server = await sessionServer({ get: 'stream', tools: { echo: undefined, never: () => {} } });
      const { toolset } = await connect([http(server.url)], {
        ...over(stack),
        session: 's',
        auth: async () => ({ token: 'token-1' }),
      });
      await server.stream();
      await toolset.call('srv__echo', {});
      const controller = new AbortController();
      const pending = rejection(toolset.call('srv__never', {}, { signal: controller.signal }));
      await server.waitFor('tools/call', 2);
      controller.abort();
      await pending;
      await server.waitFor('notifications/cancelled');
      await toolset.close();

      const kinds = new Set(server.seen().map(({ method, message }) => message.method ?? method));
      for (const kind of ['notifications/initialized', 'notifications/cancelled', 'GET', 'DELETE']) {
        expect(kinds).toContain(kind);
      }
      expect(new Set(server.seen().map((one) => one.header('authorization')))).toEqual(new Set(['Bearer token-1']));
    });

    it('covers both endpoints of HTTP+SSE', async () => {
      const server = await sseServer();
      const { toolset } = await connect([sse(server.sseUrl)], {
        ...over(stack),
        session: 's',
        auth: async () => ({ token: 'token-1' }),
      });
      await toolset.call('srv__echo', {});

      expect(new Set(server.seen().map((one) => one.header('authorization')))).toEqual(new Set(['Bearer token-1']));
      expect(new Set(server.seen().map(({ method }) => method))).toEqual(new Set(['GET', 'POST']));
    });

    it('that never answers holds a call no longer than its time limit, and than it is wanted', async () => {
      let answers = true;
      const server = await sessionServer();
      const { toolset } = await connect([http(server.url)], {
        ...over(stack),
        session: 's',
        auth: () => (answers ? Promise.resolve({ token: 't' }) : new Promise(() => {})),
      });
      answers = false;
      const controller = new AbortController();
      const aborted = rejection(toolset.call('srv__echo', {}, { signal: controller.signal }));
      const late = await mcpError(toolset.call('srv__echo', {}, { timeoutMs: 100 }), 'timeout');
      controller.abort('enough');

      expect(late.message).toMatch(/before it could be sent/);
      await expect(aborted).resolves.toMatchObject({ name: 'AbortError', cause: 'enough' });
      const closed = mcpError(toolset.call('srv__echo', {}), 'closed');
      await toolset.close();
      await closed;
      expect(server.seen('tools/call')).toEqual([]);
    });

    it.each(['session', 'stateless'] as const)('is asked again for each call (%s era)', async (era) => {
      const server = era === 'session' ? await sessionServer() : await statelessServer();
      let issued = 0;
      const { toolset } = await connect([http(server.url)], {
        ...over(stack),
        session: 's',
        auth: async () => ({ token: `token-${(issued += 1)}` }),
      });
      const atConnect = issued;
      await toolset.call('srv__echo', {});
      await toolset.call('srv__echo', {});

      expect(atConnect).toBe(1);
      expect(server.seen('tools/list')[0]?.header('authorization')).toBe('Bearer token-1');
      expect(server.seen('tools/call').map((one) => one.header('authorization'))).toEqual([
        'Bearer token-2',
        'Bearer token-3',
      ]);
    });

    it('is asked for the session of the call, or else for that of the toolset', async () => {
      const server = await sessionServer();
      const sessions: unknown[] = [];
      const { toolset } = await connect([http(server.url)], {
        ...over(stack),
        session: 'of the toolset',
        auth: async (_name, { session }) => {
          sessions.push(session);
          return { token: `token-${String(session).replaceAll(' ', '-')}` };
        },
      });
      await toolset.call('srv__echo', {}, { session: 'of the call' });
      await tool(toolset, 'srv__echo').execute({}, { session: 'of the context' });
      await tool(toolset, 'srv__echo').execute({});

      expect(sessions).toEqual(['of the toolset', 'of the call', 'of the context', 'of the toolset']);
      expect(server.seen('tools/call').map((one) => one.header('authorization'))).toEqual([
        'Bearer token-of-the-call',
        'Bearer token-of-the-context',
        'Bearer token-of-the-toolset',
      ]);
    });

    it('without a session is a wrong option', async () => {
      const server = await sessionServer();
      const error = await mcpError(
        connect([http(server.url)], { ...over(stack), auth: async () => ({ token: 't' }) }),
        'invalid-option',
      );

      expect(error.message).toContain('session');
      expect(server.connections().all).toBe(0);
    });

    it.each<[string, () => unknown]>([
      ['rejects', () => Promise.reject(new Error('no key at hand'))],
      [
        'throws',
        () => {
          throw new Error('no key at hand');
        },
      ],
      ['gives nothing', () => undefined],
      ['gives null', () => null],
      ['gives a bare text', () => 'token'],
      ['gives a token that is no text', () => ({ token: 7 })],
      ['gives a token with a line break', () => ({ token: 'secretive\r\nX-Injected: 1' })],
      ['gives a token with a NUL', () => ({ token: 'secretive\0' })],
      ['gives an empty token', () => ({ token: '' })],
    ])('that %s is that server’s failure, and nothing is sent', async (_what, auth) => {
      const server = await sessionServer();
      const other = await sessionServer();
      const { toolset, of } = await connect([http(server.url), http(other.url, { name: 'other' })], {
        ...over(stack),
        session: 's',
        auth: ((name: string) => (name === 'srv' ? auth() : Promise.resolve({ token: 't' }))) as never,
      });

      expect(of('connection-failure')).toEqual([
        expect.objectContaining({ origin: 'srv', message: expect.stringContaining('srv') }),
      ]);
      expect(JSON.stringify(of('connection-failure'))).not.toContain('secretive');
      expect(server.connections().all).toBe(0);
      await expect(toolset.call('other__echo', {})).resolves.toBe('{}');
    });

    it('that never answers is given up at the time limit', async () => {
      const server = await sessionServer();
      const { value, ms } = await timed(() =>
        connect([http(server.url, { timeoutMs: 500 })], {
          ...over(stack),
          session: 's',
          auth: () => new Promise(() => {}),
        }),
      );

      expect(ms).toBeLessThan(2500);
      expect(value.of('connection-failure')).toHaveLength(1);
      expect(server.connections().all).toBe(0);
    });

    it('that rejects for a call fails that call only, and sends nothing', async () => {
      const server = await sessionServer();
      let broken = false;
      const { toolset } = await connect([http(server.url)], {
        ...over(stack),
        session: 's',
        auth: async () => {
          if (broken) throw new Error('the vault is closed');
          return { token: 't' };
        },
      });
      broken = true;
      await rejection(toolset.call('srv__echo', {}));
      broken = false;

      await expect(toolset.call('srv__echo', { n: 2 })).resolves.toBe('{"n":2}');
      expect(server.seen('tools/call')).toHaveLength(1);
    });
  });

  describe('a server that refuses', () => {
    const refusals = [
      [401, 'rejected authorization (HTTP 401)'],
      [403, 'denied access (HTTP 403)'],
    ] as const;

    it.each(
      refusals.flatMap(([status, text]) =>
        ['server/discover', 'initialize', 'tools/list'].map((method) => [status, method, text] as const),
      ),
    )('with %i at %s is reported as such', async (status, method, text) => {
      const server = await sessionServer({
        before: (exchange) => {
          if (exchange.message.method !== method) return false;
          exchange.send(status, '', { 'www-authenticate': 'Bearer' });
          return true;
        },
      });
      const { toolset, of } = await connect([http(server.url)], over(stack));

      expect(of('connection-failure')).toEqual([
        expect.objectContaining({ origin: 'srv', message: expect.stringContaining(text) }),
      ]);
      expect(toolset.tools).toEqual({});
    });

    it.each(refusals)('the stream of HTTP+SSE with %i is reported as such', async (status, text) => {
      const server = await sseServer({
        before: (exchange) => {
          exchange.send(status);
          return true;
        },
      });
      const { of } = await connect([sse(server.sseUrl)], over(stack));

      expect(of('connection-failure')).toEqual([expect.objectContaining({ message: expect.stringContaining(text) })]);
    });

    it.each(refusals)('a call with %i is unavailable from then on, and asked no more', async (status) => {
      const server = await sessionServer({
        before: (exchange) => {
          if (exchange.message.method !== 'tools/call') return false;
          exchange.send(status);
          return true;
        },
      });
      const other = await sessionServer();
      const { toolset } = await connect([http(server.url), http(other.url, { name: 'other' })], over(stack));

      const error = await mcpError(toolset.call('srv__echo', {}), 'unauthorized');
      expect(error.message).toContain(String(status));
      expect(toolset.servers()).toMatchObject([{ state: 'unavailable' }, { state: 'ready' }]);
      await rejection(toolset.call('srv__echo', {}));
      expect(server.seen('tools/call')).toHaveLength(1);
      await expect(toolset.call('other__echo', {})).resolves.toBe('{}');
    });

    it('a call is asked once more when there is another token', async () => {
      let token = 'stale';
      const server = await sessionServer({
        before: (exchange) => {
          const stale = exchange.request.header('authorization') === 'Bearer stale';
          if (exchange.message.method !== 'tools/call' || !stale) return false;
          exchange.send(401);
          return true;
        },
      });
      const { toolset } = await connect([http(server.url)], {
        ...over(stack),
        session: 's',
        auth: async () => ({ token }),
      });

      await mcpError(toolset.call('srv__echo', {}), 'unauthorized');
      // The same token again is not worth a request.
      await rejection(toolset.call('srv__echo', {}));
      expect(server.seen('tools/call')).toHaveLength(1);

      token = 'fresh';
      await expect(toolset.call('srv__echo', { n: 3 })).resolves.toBe('{"n":3}');
      expect(toolset.servers()).toMatchObject([{ state: 'ready' }]);
    });

    it('a call once more with the other token has refused it for good', async () => {
      let issued = 0;
      const server = await sessionServer({
        before: (exchange) => {
          if (exchange.message.method !== 'tools/call') return false;
          exchange.send(403);
          return true;
        },
      });
      const { toolset } = await connect([http(server.url)], {
        ...over(stack),
        session: 's',
        auth: async () => ({ token: `token-${(issued += 1)}` }),
      });

      await mcpError(toolset.call('srv__echo', {}), 'unauthorized');
      await mcpError(toolset.call('srv__echo', {}), 'unauthorized');
      expect(server.seen('tools/call')).toHaveLength(2);
    });
  });
});
