// The life of a session: its id, its revision, its end.

import { describe, expect, it } from 'vitest';

import { sessionServer, type Tool } from '../fixtures/http/mcp.js';
import { connect } from '../helpers/connect.js';
import { mcpError, rejection } from '../helpers/errors.js';
import { http, over, overBoth } from '../helpers/remote.js';
import { toolEntry } from '../helpers/scripted.js';
import { timed, until } from '../helpers/until.js';

overBoth((stack) => {
  describe('a session', () => {
    it('is named by every request that follows the handshake, and by none before', async () => {
      const server = await sessionServer({ get: 'stream' });
      const { toolset } = await connect([http(server.url)], over(stack));
      await server.stream();
      await toolset.call('srv__echo', {});
      const [id] = server.sessions();
      await toolset.close();

      const [probe, initialize, ...later] = server.seen();
      expect([probe, initialize].map((one) => one?.header('mcp-session-id'))).toEqual([undefined, undefined]);
      expect(later.map(({ method, message }) => message.method ?? method).toSorted()).toEqual([
        'DELETE',
        'GET',
        'notifications/initialized',
        'tools/call',
        'tools/list',
      ]);
      expect(new Set(later.map((one) => one.header('mcp-session-id')))).toEqual(new Set([id]));
    });

    it.each(['2025-06-18', '2025-11-25'])('of %s states that revision with every request', async (protocolVersion) => {
      const server = await sessionServer({ protocolVersion, get: 'stream' });
      const { toolset } = await connect([http(server.url)], over(stack));
      await server.stream();
      await toolset.call('srv__echo', {});
      await toolset.close();

      const [, initialize, ...later] = server.seen();
      expect([undefined, '2025-11-25']).toContain(initialize?.header('mcp-protocol-version'));
      expect(new Set(later.map((one) => one.header('mcp-protocol-version')))).toEqual(new Set([protocolVersion]));
    });

    it('that the server does not open is not invented', async () => {
      const server = await sessionServer({ sessions: false });
      const { toolset } = await connect([http(server.url)], over(stack));
      await toolset.call('srv__echo', {});
      await toolset.close();

      expect(server.seen().map((one) => one.header('mcp-session-id'))).toEqual(server.seen().map(() => undefined));
      expect(server.seen('DELETE')).toEqual([]);
    });
  });

  describe('a session that the server has forgotten', () => {
    it.each([1, 8, 64])('is opened anew once for %i calls, which all succeed', async (calls) => {
      const server = await sessionServer();
      const { toolset, of } = await connect([http(server.url)], over(stack));
      const [old] = server.sessions();
      server.expire();

      const results = await Promise.all(
        Array.from({ length: calls }, (_, index) => toolset.call('srv__echo', { index })),
      );
      expect(results).toEqual(Array.from({ length: calls }, (_, index) => JSON.stringify({ index })));
      expect(server.seen('initialize')).toHaveLength(2);
      expect(server.seen('notifications/initialized')).toHaveLength(2);
      expect(server.sessions()).toHaveLength(1);

      // Each was sent at most twice: with the old session, and with the new one.
      const sent = server
        .seen('tools/call')
        .map((one) => [one.message.params.arguments.index, one.header('mcp-session-id')]);
      const [fresh] = server.sessions();
      expect(sent.filter(([, id]) => id === fresh)).toHaveLength(calls);
      expect(sent.filter(([, id]) => id === old).length).toBeLessThanOrEqual(calls);
      expect(new Set(sent.map(String)).size).toBe(sent.length);
      expect(of('connection-failure')).toEqual([]);
    });

    it('is told again what it was to tell: resources, and log messages', async () => {
      const server = await sessionServer({
        capabilities: { tools: {}, logging: {}, resources: { subscribe: true } },
        before: (exchange) => {
          if (!['logging/setLevel', 'resources/subscribe'].includes(exchange.message.method ?? '')) return false;
          exchange.result({});
          return true;
        },
      });
      const { toolset } = await connect([http(server.url)], { ...over(stack), onLog: () => {} });
      await toolset.resources.subscribe('srv', 'tide://brest', () => {});
      server.expire();
      await toolset.call('srv__echo', {});

      const [, again] = await server.waitFor('resources/subscribe', 2);
      expect(again?.message.params).toEqual({ uri: 'tide://brest' });
      expect(again?.header('mcp-session-id')).toBe(server.sessions()[0]);
      await server.waitFor('logging/setLevel', 2);
    });

    it('is opened anew for calls that come while that goes on', async () => {
      const server = await sessionServer();
      const { toolset } = await connect([http(server.url)], over(stack));
      server.expire();
      const first = toolset.call('srv__echo', { n: 1 });
      await server.waitFor('initialize', 2);
      const second = toolset.call('srv__echo', { n: 2 });

      await expect(Promise.all([first, second])).resolves.toEqual(['{"n":1}', '{"n":2}']);
      expect(server.seen('initialize')).toHaveLength(2);
    });

    it('is opened anew each time', async () => {
      const server = await sessionServer();
      const { toolset } = await connect([http(server.url)], over(stack));
      for (const n of [1, 2, 3]) {
        server.expire();
        await expect(toolset.call('srv__echo', { n })).resolves.toBe(`{"n":${n}}`);
      }

      expect(server.seen('initialize')).toHaveLength(4);
    });

    it('is opened anew, and what comes then is checked against `outputSchema` as before', async () => {
      const outputSchema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };
      const structured: Tool = (call) => call.result({ content: [], structuredContent: call.args });
      const server = await sessionServer({
        tools: { count: structured },
        listing: [toolEntry('count', { outputSchema })],
      });
      const { toolset } = await connect([http(server.url)], over(stack));
      server.expire();
      expect(await toolset.call('srv__count', { n: 1 })).toEqual({ n: 1 });
      server.expire();
      await mcpError(toolset.call('srv__count', { n: 'one' }), 'output-schema');

      expect(server.seen('initialize')).toHaveLength(3);
      // The tools were listed once: what they promise outlives the session.
      expect(server.seen('tools/list')).toHaveLength(1);
    });

    it('again at once is an error, not a loop', async () => {
      const server = await sessionServer({
        before: ({ message }) => {
          if (message.method === 'tools/call') server.expire();
        },
      });
      const { toolset } = await connect([http(server.url)], over(stack));

      await expect(toolset.call('srv__echo', {})).rejects.toThrow(/session/);
      expect(server.seen('initialize')).toHaveLength(2);
      expect(server.seen('tools/call')).toHaveLength(2);
    });

    it('and cannot be opened anew is an error of every call that waits', async () => {
      let closed = false;
      const server = await sessionServer({
        before: (exchange) => {
          if (!closed || exchange.message.method !== 'initialize') return false;
          exchange.send(500);
          return true;
        },
      });
      const { toolset } = await connect([http(server.url)], over(stack));
      closed = true;
      server.expire();

      const calls = await Promise.allSettled(Array.from({ length: 8 }, () => toolset.call('srv__echo', {})));
      expect(calls.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 'rejected'));
      // One attempt for all of them.
      expect(server.seen('initialize')).toHaveLength(2);
      closed = false;
      await expect(toolset.call('srv__echo', { again: true })).resolves.toBe('{"again":true}');
    });

    it('and is refused anew in words is an error that repeats them', async () => {
      let closed = false;
      const server = await sessionServer({
        before: (exchange) => {
          if (!closed || exchange.message.method !== 'initialize') return false;
          exchange.error(200, { code: -32_000, message: 'closed for today' });
          return true;
        },
      });
      const { toolset } = await connect([http(server.url)], over(stack));
      closed = true;
      server.expire();

      const error = await mcpError(toolset.call('srv__echo', {}), 'server-error');
      expect(error.message).toContain('closed for today');
      expect(server.seen('notifications/initialized')).toHaveLength(1);
    });

    it('is opened anew by an answer on a stream that stays open', async () => {
      let again = false;
      const server = await sessionServer({
        sessions: false,
        before: (exchange) => {
          const { message, request } = exchange;
          if (message.method === 'initialize') {
            const result = { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 's' } };
            if (again) exchange.stream({ 'mcp-session-id': 'new' }).result(result);
            else exchange.result(result, { 'mcp-session-id': 'old' });
            return true;
          }
          if (!again || request.header('mcp-session-id') === 'new') return false;
          exchange.send(404);
          return true;
        },
      });
      const { toolset } = await connect([http(server.url)], over(stack));
      again = true;
      const { value, ms } = await timed(() => toolset.call('srv__echo', { n: 1 }));

      expect(value).toBe('{"n":1}');
      expect(ms).toBeLessThan(3000);
    });

    it('is opened anew by the next call when the first one is given up meanwhile', async () => {
      let deaf = false;
      const server = await sessionServer({
        before: ({ message }) => deaf && message.method === 'notifications/initialized',
      });
      const { toolset } = await connect([http(server.url)], over(stack));
      deaf = true;
      server.expire();
      const controller = new AbortController();
      const pending = rejection(toolset.call('srv__echo', {}, { signal: controller.signal }));
      await server.waitFor('notifications/initialized', 2);
      controller.abort();
      await pending;
      deaf = false;

      await expect(toolset.call('srv__echo', { n: 1 })).resolves.toBe('{"n":1}');
      const [call] = server.seen('tools/call').slice(-1);
      const begun = server.seen('notifications/initialized').map((one) => one.header('mcp-session-id'));
      expect(begun).toHaveLength(3);
      expect(call?.header('mcp-session-id')).toBe(begun[2]);
    });
  });

  it('a 404 to a call without a session is an error, with no second request', async () => {
    const server = await sessionServer({
      sessions: false,
      before: (exchange) => {
        if (exchange.message.method !== 'tools/call') return false;
        exchange.send(404);
        return true;
      },
    });
    const { toolset } = await connect([http(server.url)], over(stack));

    await expect(toolset.call('srv__echo', {})).rejects.toThrow(/404/);
    expect(server.seen('tools/call')).toHaveLength(1);
    expect(server.seen('initialize')).toHaveLength(1);
  });

  describe('closing', () => {
    it('ends the session with exactly one DELETE', async () => {
      const server = await sessionServer();
      const { toolset, diagnostics } = await connect([http(server.url)], over(stack));
      const [id] = server.sessions();
      await Promise.all([toolset.close(), toolset.close()]);
      await toolset.close();

      expect(server.seen('DELETE').map((one) => [one.path, one.body, one.header('mcp-session-id')])).toEqual([
        ['/mcp', '', id],
      ]);
      expect(diagnostics).toEqual([]);
    });

    it('says nothing when the server does not let clients end sessions', async () => {
      const server = await sessionServer({ delete: 405 });
      const { toolset, diagnostics } = await connect([http(server.url)], over(stack));
      await toolset.close();

      expect(server.seen('DELETE')).toHaveLength(1);
      expect(diagnostics).toEqual([]);
    });

    it.each([401, 403, 500, 503])('reports a DELETE that is answered with %i, once', async (status) => {
      const server = await sessionServer({ delete: status });
      const { toolset, diagnostics } = await connect([http(server.url)], over(stack));
      await toolset.close();

      expect(server.seen('DELETE')).toHaveLength(1);
      expect(diagnostics).toEqual([
        expect.objectContaining({ rule: 'connection-failure', message: expect.stringContaining(String(status)) }),
      ]);
    });

    it('does not wait for a DELETE longer than the time limit', async () => {
      const server = await sessionServer({
        before: (exchange) => exchange.request.method === 'DELETE',
      });
      const { toolset } = await connect([http(server.url, { timeoutMs: 500 })], over(stack));
      const begin = performance.now();
      await toolset.close();

      expect(performance.now() - begin).toBeLessThan(3000);
      expect(server.seen('DELETE')).toHaveLength(1);
      await until('the end of every connection', () => server.connections().open === 0);
    });

    it('sends no DELETE for a session that the server has ended', async () => {
      const server = await sessionServer({
        before: (exchange) => {
          if (exchange.message.method !== 'initialize' || server.seen('initialize').length < 2) return false;
          exchange.send(500);
          return true;
        },
      });
      const { toolset } = await connect([http(server.url)], over(stack));
      server.expire();
      await mcpError(toolset.call('srv__echo', {}), 'unavailable').catch(() => {});
      await toolset.close();

      expect(server.seen('DELETE')).toEqual([]);
    });
  });
});
