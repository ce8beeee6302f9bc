// What remote servers tell on their own account: on the standing stream, on the stream of HTTP+SSE, and through
// `subscriptions/listen`. Subscriptions over stdio are in `client/resource-subscriptions.test.ts`.

import type { McpToolset, McpToolsetEvents } from 'espalier/node';
import { describe, expect, it } from 'vitest';

import { notifyOn, sessionServer, sseServer, statelessServer, type StatelessServer } from '../fixtures/http/mcp.js';
import type { Exchange } from '../fixtures/http/peer.js';
import { connect } from '../helpers/connect.js';
import { mcpError } from '../helpers/errors.js';
import { http, over, overBoth, sse, type RemoteConfig } from '../helpers/remote.js';
import { toolEntry } from '../helpers/scripted.js';
import { timed, until } from '../helpers/until.js';

const CHANGING = {
  tools: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  prompts: { listChanged: true },
};
const SUBSCRIBABLE = { tools: {}, resources: { subscribe: true } };
const URI = 'file:///a';

/** A server, and how it says something on its own account. */
interface Talking {
  config: RemoteConfig;
  say: (method: string, params?: Record<string, unknown>) => void;
  /** What it lists. */
  tools: unknown[];
  seen: (method: string) => unknown[];
}

const WAYS: [string, () => Promise<Talking>][] = [
  [
    'the standing stream',
    async () => {
      const tools = [toolEntry('old')];
      const server = await sessionServer({ get: 'stream', capabilities: CHANGING, listing: tools, methods: SUBSCRIBE });
      return {
        config: http(server.url),
        tools,
        seen: server.seen,
        say: (method, params = {}) => void server.streams().at(-1)?.message({ method, params }),
      };
    },
  ],
  [
    'the stream of HTTP+SSE',
    async () => {
      const tools = [toolEntry('old')];
      const server = await sseServer({ capabilities: CHANGING, listing: tools, methods: SUBSCRIBE });
      return {
        config: sse(server.sseUrl),
        tools,
        seen: server.seen,
        say: (method, params = {}) => void server.streams().at(-1)?.message({ method, params }),
      };
    },
  ],
  [
    'a subscription of the stateless era',
    async () => {
      const tools = [toolEntry('old')];
      const server = await statelessServer({ capabilities: CHANGING, listing: tools });
      return {
        config: http(server.url),
        tools,
        seen: server.seen,
        say: (method, params) => {
          const member = method === 'notifications/resources/updated' ? 'resourceSubscriptions' : 'toolsListChanged';
          for (const stream of server.subscriptions()) {
            if (stream.exchange.message.params.notifications[member] !== undefined) notifyOn(stream, method, params);
          }
        },
      };
    },
  ],
];
const SUBSCRIBE = { 'resources/subscribe': () => ({}), 'resources/unsubscribe': () => ({}) };

/** Says it until it is heard: the stream may not be there yet. */
async function saidUntil(talking: Talking, method: string, heard: () => boolean, params?: Record<string, unknown>) {
  await until(`${method} to be heard`, async () => {
    talking.say(method, params);
    await new Promise((resolve) => setTimeout(resolve, 30));
    return heard();
  });
}

overBoth((stack) => {
  describe.each(WAYS)('news on %s', (_way, start) => {
    it('of the tools lead to another listing, and to another map', async () => {
      const talking = await start();
      const { toolset } = await connect([talking.config], { ...over(stack), onListChanged: 'apply' });
      const changes: McpToolsetEvents['change'][] = [];
      toolset.on('change', (change) => void changes.push(change));
      talking.tools.push(toolEntry('new'));
      await saidUntil(talking, 'notifications/tools/list_changed', () => talking.seen('tools/list').length > 1);
      await until('the change', () => changes.length > 0);

      expect(Object.keys(toolset.tools)).toEqual(['srv__old', 'srv__new']);
      expect(changes[0]).toEqual({ server: 'srv', what: 'tools' });
    });

    it('two hundred times over lead to a few listings', async () => {
      const talking = await start();
      const { toolset } = await connect([talking.config], over(stack));
      await saidUntil(talking, 'notifications/tools/list_changed', () => talking.seen('tools/list').length > 1);
      for (let n = 0; n < 200; n += 1) talking.say('notifications/tools/list_changed');
      await toolset.call('srv__old');

      expect(talking.seen('tools/list').length).toBeLessThanOrEqual(3);
    });

    it.each(['resources', 'prompts'] as const)('of the %s are told, and ask for nothing', async (what) => {
      const talking = await start();
      const { toolset } = await connect([talking.config], over(stack));
      const changes: McpToolsetEvents['change'][] = [];
      toolset.on('change', (change) => void changes.push(change));
      await saidUntil(talking, `notifications/${what}/list_changed`, () => changes.length > 0);

      expect(changes[0]).toEqual({ server: 'srv', what });
      expect(talking.seen(`${what}/list`)).toEqual([]);
      expect(talking.seen('tools/list')).toHaveLength(1);
    });

    it('of a resource reach who subscribed to it, and nobody afterwards', async () => {
      const talking = await start();
      const { toolset } = await connect([talking.config], over(stack));
      const heard: string[] = [];
      const off = await toolset.resources.subscribe('srv', URI, (uri) => void heard.push(uri));
      await saidUntil(talking, 'notifications/resources/updated', () => heard.length > 0, { uri: URI });
      await off();
      const before = heard.length;
      talking.say('notifications/resources/updated', { uri: URI });
      await toolset.call('srv__old');

      expect(new Set(heard)).toEqual(new Set([URI]));
      expect(heard).toHaveLength(before);
    });
  });

  describe('changes of lists in the stateless era', () => {
    it('are listened to where they are announced, all of them at once', async () => {
      const server = await statelessServer({ capabilities: CHANGING });
      await connect([http(server.url)], over(stack));
      await server.subscription('toolsListChanged');

      expect(server.seen('subscriptions/listen').map(({ message }) => message.params.notifications)).toEqual([
        { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true },
      ]);
    });

    it('are not listened to where there are none', async () => {
      const server = await statelessServer({ capabilities: { tools: { listChanged: false }, resources: {} } });
      const { toolset } = await connect([http(server.url)], over(stack));
      await toolset.call('srv__echo', {});

      expect(server.seen('subscriptions/listen')).toEqual([]);
    });

    it.each<[string, (server: StatelessServer) => void]>([
      ['is cut', (server) => server.subscriptions()[0]?.cut()],
      ['ends', (server) => server.subscriptions()[0]?.end()],
      ['is answered', (server) => server.subscriptions()[0]?.result({ resultType: 'complete' }).end()],
    ])('are listened to again when the stream %s, and count as changed', async (_what, end) => {
      const server = await statelessServer({ capabilities: CHANGING });
      const { toolset, diagnostics } = await connect([http(server.url)], over(stack));
      const changes: string[] = [];
      toolset.on('change', ({ what }) => void changes.push(what));
      await server.subscription('toolsListChanged');
      end(server);

      const [first, second] = await server.waitFor('subscriptions/listen', 2);
      expect(second?.message.id).not.toBe(first?.message.id);
      expect(second?.message.params.notifications).toEqual(first?.message.params.notifications);
      await server.waitFor('tools/list', 2);
      await until('the changes', () => changes.includes('prompts') && changes.includes('resources'));
      expect(diagnostics).toEqual([]);
    });

    it('are asked for ever less often of a server that always ends the stream', async () => {
      const server = await statelessServer({
        capabilities: CHANGING,
        before: (exchange) => {
          if (exchange.message.method !== 'subscriptions/listen') return false;
          exchange.stream().end();
          return true;
        },
      });
      const { toolset } = await connect([http(server.url)], over(stack));
      const begin = performance.now();
      while (performance.now() - begin < 2500) await toolset.call('srv__echo', {});

      expect(server.seen('subscriptions/listen').length).toBeGreaterThanOrEqual(2);
      expect(server.seen('subscriptions/listen').length).toBeLessThanOrEqual(4);
    });

    it.each<[string, (exchange: Exchange) => void]>([
      ['refused', (exchange) => exchange.error(404, { code: -32_601, message: 'Method not found' })],
      ['answered with 405', (exchange) => exchange.send(405)],
      ['never answered', (exchange) => exchange.hang()],
    ])('may be %s, and nothing else suffers', async (_what, answer) => {
      const server = await statelessServer({
        capabilities: CHANGING,
        before: (exchange) => {
          if (exchange.message.method !== 'subscriptions/listen') return false;
          answer(exchange);
          return true;
        },
      });
      const { toolset, diagnostics } = await connect([http(server.url)], over(stack));
      await server.waitFor('subscriptions/listen');

      await expect(toolset.call('srv__echo', {})).resolves.toBe('{}');
      expect(toolset.servers()).toMatchObject([{ state: 'ready' }]);
      expect(diagnostics).toEqual([]);
    });

    it('are no longer listened to after `close()`', async () => {
      const server = await statelessServer({ capabilities: CHANGING });
      const { toolset } = await connect([http(server.url)], over(stack));
      const stream = await server.subscription('toolsListChanged');
      const { ms } = await timed(() => toolset.close());

      await stream.exchange.left;
      expect(ms).toBeLessThan(15_000);
      await until('the end of every connection', () => server.connections().open === 0);
    });
  });

  describe('a subscription to a resource in the stateless era', () => {
    const serve = (more: Parameters<typeof statelessServer>[0] = {}) =>
      statelessServer({ capabilities: SUBSCRIBABLE, ...more });
    const refusing = (answer: (exchange: Exchange) => void) =>
      serve({
        before: (exchange) => {
          if (exchange.message.method !== 'subscriptions/listen') return false;
          answer(exchange);
          return true;
        },
      });
    const subscribe = (toolset: McpToolset, listener: (uri: string) => void = () => {}) =>
      toolset.resources.subscribe('srv', URI, listener);

    it('is a stream of its own, which ends with the last who leaves', async () => {
      const server = await serve();
      const { toolset } = await connect([http(server.url)], over(stack));
      const [offA, offB] = await Promise.all([subscribe(toolset), subscribe(toolset)]);
      const stream = await server.subscription('resourceSubscriptions');
      expect(server.seen('subscriptions/listen')).toHaveLength(1);
      expect(stream.exchange.message.params.notifications).toEqual({ resourceSubscriptions: [URI] });
      await offA();
      expect(stream.open).toBe(true);
      await offB();

      await stream.exchange.left;
      expect(server.seen('notifications/cancelled')).toEqual([]);
    });

    it('that is cut is opened again, and its listener is told of what it may have missed', async () => {
      const server = await serve();
      const { toolset, diagnostics } = await connect([http(server.url)], over(stack));
      const heard: string[] = [];
      await subscribe(toolset, (uri) => void heard.push(uri));
      server.subscriptions()[0]?.cut();
      await server.waitFor('subscriptions/listen', 2);
      await until('the missed one', () => heard.length > 0);
      server.notify('notifications/resources/updated', { uri: URI });
      await until('the new one', () => heard.length > 1);

      expect(heard).toEqual([URI, URI]);
      expect(diagnostics).toEqual([]);
    });

    it.each<[string, (exchange: Exchange) => void, string, string]>([
      [
        'with an error',
        (one) => one.error(200, { code: -32_602, message: 'not this one' }),
        'server-error',
        'not this one',
      ],
      ['with 401', (one) => one.send(401), 'unauthorized', '401'],
      ['with 403', (one) => one.send(403), 'unauthorized', '403'],
      ['with 500', (one) => one.send(500), 'invalid-response', '500'],
      ['with a page', (one) => one.send(200, '<html>', { 'content-type': 'text/html' }), 'invalid-response', ''],
      ['by the end of the connection', (one) => one.cut(), 'connection-lost', ''],
      ['by a stream that ends at once', (one) => one.stream().end(), 'connection-lost', ''],
      ['with a result', (one) => one.result({ resultType: 'complete' }), 'connection-lost', ''],
    ])('that is refused %s rejects at once', async (_what, answer, code, text) => {
      const server = await refusing(answer);
      const { toolset } = await connect([http(server.url)], over(stack));
      const { value, ms } = await timed(() => subscribe(toolset).then(undefined, (error: unknown) => error));

      expect(value).toMatchObject({ name: 'McpError', code, message: expect.stringContaining(text) });
      expect(ms).toBeLessThan(15_000);
      // Nobody goes on trying behind the caller's back.
      const seen = server.seen('subscriptions/listen').length;
      await toolset.close();
      expect(server.seen('subscriptions/listen')).toHaveLength(seen);
    });

    it('that the server does not honour rejects at once, and is ended', async () => {
      const server = await serve({ honours: () => ({}) });
      const { toolset } = await connect([http(server.url)], over(stack));
      await mcpError(subscribe(toolset), 'unavailable');

      await until('the end of the stream', () => server.subscriptions().length === 0);
      expect(server.seen('subscriptions/listen')).toHaveLength(1);
    });

    it('carries a credential of its own, and the newest one when it is opened again', async () => {
      const server = await serve();
      let issued = 0;
      const { toolset } = await connect([http(server.url)], {
        ...over(stack),
        session: 's',
        auth: () => ({ token: `token-${(issued += 1)}` }),
      });
      await subscribe(toolset);
      await toolset.call('srv__echo');
      server.subscriptions()[0]?.cut();
      const listens = await server.waitFor('subscriptions/listen', 2);

      expect(listens.map((one) => one.header('authorization'))).toEqual(['Bearer token-2', 'Bearer token-3']);
    });
  });
});
