// The optional stream on which a server of the session era says what nobody asked for.

import { describe, expect, it } from 'vitest';

import { sessionServer } from '../fixtures/http/mcp.js';
import { connect } from '../helpers/connect.js';
import { http, over, overBoth } from '../helpers/remote.js';
import { timed, until } from '../helpers/until.js';

overBoth((stack) => {
  describe('the standing stream', () => {
    it('is opened once the handshake is done', async () => {
      const server = await sessionServer({ get: 'stream' });
      await connect([http(server.url)], over(stack));

      const [get] = await server.waitFor('GET');
      expect(get).toMatchObject({ path: '/mcp', body: '' });
      expect(get?.header('accept')).toContain('text/event-stream');
      expect(get?.header('last-event-id')).toBeUndefined();
      const [initialized] = server.seen('notifications/initialized');
      expect(get?.at).toBeGreaterThan(initialized?.at ?? Number.POSITIVE_INFINITY);
    });

    it.each([400, 401, 403, 404, 405, 406, 500, 501])('may be refused with %i', async (get) => {
      const server = await sessionServer({ get });
      const { toolset, of } = await connect([http(server.url)], over(stack));
      await server.waitFor('GET');

      await expect(toolset.call('srv__echo', { a: 1 })).resolves.toBe('{"a":1}');
      expect(toolset.servers()).toMatchObject([{ state: 'ready' }]);
      expect(of('connection-failure')).toEqual([]);
      expect(server.seen('initialize')).toHaveLength(1);
    });

    it.each([404, 405])('is not asked for again after %i', async (get) => {
      const server = await sessionServer({ get });
      const { toolset } = await connect([http(server.url)], over(stack));
      await server.waitFor('GET');
      for (let n = 0; n < 5; n += 1) await toolset.call('srv__echo', { n });

      expect(server.seen('GET')).toHaveLength(1);
    });

    it('that never gets an answer holds nothing up', async () => {
      const server = await sessionServer({ before: (exchange) => exchange.request.method === 'GET' });
      const { value, ms } = await timed(() => connect([http(server.url)], over(stack)));

      await expect(value.toolset.call('srv__echo', {})).resolves.toBe('{}');
      expect(ms).toBeLessThan(3000);
    });

    it('is closed by `close()`', async () => {
      const server = await sessionServer({ get: 'stream' });
      const { toolset } = await connect([http(server.url)], over(stack));
      const stream = await server.stream();
      await toolset.close();

      await stream.exchange.left;
      expect(server.streams()).toEqual([]);
    });

    it('brings requests of the server, which are answered', async () => {
      const server = await sessionServer({ get: 'stream' });
      await connect([http(server.url)], over(stack));
      const stream = await server.stream();
      stream.message({ id: 'server-1', method: 'ping' });

      const answer = await until('an answer', () =>
        server.seen('POST').find(({ message }) => message.id === 'server-1'),
      );
      expect(answer.message).toEqual({ jsonrpc: '2.0', id: 'server-1', result: {} });
      expect(answer.header('mcp-session-id')).toBe(server.sessions()[0]);
    });

    it('that breaks is opened again, from where it was', async () => {
      const server = await sessionServer({ get: 'stream' });
      await connect([http(server.url)], over(stack));
      const first = await server.stream();
      first
        .event({ id: 'event-7', retry: 50, data: '' })
        .message({ method: 'notifications/nothing' }, { id: 'event-8' });
      await until('the events to have been read', () => server.seen('GET').length === 1);
      first.end();

      const [, again] = await server.waitFor('GET', 2);
      expect(again?.header('last-event-id')).toBe('event-8');
      expect(again?.header('mcp-session-id')).toBe(server.sessions()[0]);
    });

    it('that always breaks is not asked for without end', async () => {
      const server = await sessionServer({
        before: (exchange) => {
          if (exchange.request.method !== 'GET') return false;
          exchange.stream().end();
          return true;
        },
      });
      const { toolset } = await connect([http(server.url)], over(stack));
      const begin = performance.now();
      while (performance.now() - begin < 2000) await toolset.call('srv__echo', {});

      expect(server.seen('GET').length).toBeLessThanOrEqual(5);
    });

    it('is not opened again without a pause, whatever the server asks for', async () => {
      const server = await sessionServer({
        before: (exchange) => {
          if (exchange.request.method !== 'GET') return false;
          exchange.stream().event({ id: 'e', retry: 0, data: '' }).end();
          return true;
        },
      });
      await connect([http(server.url)], over(stack));
      await server.waitFor('GET', 3);
      const begin = performance.now();
      const before = server.seen('GET').length;
      await until('half a second', () => performance.now() - begin > 500);

      // Ten in a second, at most.
      const often = Math.ceil((performance.now() - begin) / 100);
      expect(server.seen('GET').length - before).toBeLessThanOrEqual(often + 1);
    });

    it('on which the server asks more than it takes the answers to is answered in part', async () => {
      const server = await sessionServer({
        get: 'stream',
        before: ({ message }) => message.result !== undefined,
      });
      const { toolset, of } = await connect([http(server.url)], over(stack));
      const stream = await server.stream();
      for (let id = 0; id < 2000; id += 1) stream.message({ id: `ping-${id}`, method: 'ping' });
      await until('a word about it', () => of('protocol-violation').length > 0);

      await expect(toolset.call('srv__echo', { n: 1 })).resolves.toBe('{"n":1}');
      expect(of('protocol-violation').map(({ message }) => message)).toEqual([
        expect.stringMatching(/does not read what is sent to it/),
      ]);
      expect(server.connections().open).toBeLessThan(300);
    });

    it('belongs to its session: a new session has a new one', async () => {
      const server = await sessionServer({ get: 'stream' });
      const { toolset } = await connect([http(server.url)], over(stack));
      await server.stream();
      server.expire();
      await toolset.call('srv__echo', {});

      const gets = await server.waitFor('GET', 2);
      expect(gets.at(-1)?.header('mcp-session-id')).toBe(server.sessions()[0]);
      expect(gets.at(-1)?.header('last-event-id')).toBeUndefined();
      await until('one standing stream', () => server.streams().length === 1);
    });
  });
});
