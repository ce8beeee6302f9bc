// Calls and connections that are given up: both sides hear of it, at once.

import { AbortError } from 'espalier/node';
import { describe, expect, it } from 'vitest';

import { sessionServer, statelessServer, type Call, type Tool } from '../fixtures/http/mcp.js';
import { peer } from '../fixtures/http/peer.js';
import { connect } from '../helpers/connect.js';
import { mcpError, rejection } from '../helpers/errors.js';
import { http, over, overBoth } from '../helpers/remote.js';
import { timed, until } from '../helpers/until.js';

/** What a call that is never answered may look like from the server. */
const silences: [what: string, begin: (call: Call) => void][] = [
  ['nothing is answered', () => {}],
  [
    'half a body was answered',
    ({ exchange }) => void exchange.head(200, { 'content-type': 'application/json', 'content-length': '99' }).raw('{'),
  ],
  ['a stream was begun', ({ exchange }) => void exchange.stream().text(': hello\n\n')],
];

overBoth((stack) => {
  describe.each(['session', 'stateless'] as const)('in the %s era', (era) => {
    const start = (never: Tool = () => {}) =>
      (era === 'session' ? sessionServer : statelessServer)({ tools: { echo: undefined, never } });

    it.each(silences)('an abort while %s closes the request', async (_what, begin) => {
      let left: Promise<void> | undefined;
      const server = await start((call) => {
        left = call.exchange.left;
        begin(call);
      });
      const { toolset } = await connect([http(server.url)], over(stack));
      const controller = new AbortController();
      const pending = rejection(toolset.call('srv__never', {}, { signal: controller.signal }));
      const [call] = await server.waitFor('tools/call');
      const reason = { why: 'enough' };
      const aborted = performance.now();
      controller.abort(reason);
      const error = await pending;

      expect(error).toBeInstanceOf(AbortError);
      expect((error as Error).cause).toBe(reason);
      expect(performance.now() - aborted).toBeLessThan(1000);
      await left;
      await expect(toolset.call('srv__echo', { after: true })).resolves.toBe('{"after":true}');
      // It goes on a connection of its own, and may be later than what was sent after it.
      if (era === 'session') await server.waitFor('notifications/cancelled');
      const told = server.seen('notifications/cancelled').map(({ message }) => message.params.requestId);
      expect(told).toEqual(era === 'session' ? [call?.message.id] : []);
    });

    it('a time limit closes the request, and says how long it was and that the outcome is unknown', async () => {
      let left: Promise<void> | undefined;
      const server = await start(({ exchange }) => (left = exchange.left));
      const { toolset } = await connect([http(server.url)], over(stack));
      const { value: error, ms } = await timed(() =>
        mcpError(toolset.call('srv__never', {}, { timeoutMs: 400 }), 'timeout'),
      );

      expect(error.message).toMatch(/\b4\d\d ms/);
      expect(error.message).toMatch(/unknown/);
      expect(ms).toBeGreaterThan(350);
      expect(ms).toBeLessThan(2000);
      await left;
      const [call] = server.seen('tools/call');
      await expect(toolset.call('srv__echo', {})).resolves.toBe('{}');
      if (era === 'session') await server.waitFor('notifications/cancelled');
      const told = server.seen('notifications/cancelled').map(({ message }) => message.params.requestId);
      expect(told).toEqual(era === 'session' ? [call?.message.id] : []);
    });

    it('progress starts the time limit anew', async () => {
      const server = await start(async ({ exchange, params }) => {
        const stream = exchange.stream();
        for (let progress = 1; progress <= 5; progress += 1) {
          await new Promise((resolve) => setTimeout(resolve, 250));
          stream.message({
            method: 'notifications/progress',
            params: { progressToken: params._meta.progressToken, progress, total: 5 },
          });
        }
        stream.result({ resultType: 'complete', content: [{ type: 'text', text: 'done' }] }).end();
      });
      const { toolset } = await connect([http(server.url)], over(stack));
      const seen: number[] = [];

      await expect(
        toolset.call('srv__never', {}, { timeoutMs: 700, onProgress: ({ progress }) => void seen.push(progress) }),
      ).resolves.toBe('done');
      expect(seen).toEqual([1, 2, 3, 4, 5]);
    });

    it('a signal that is aborted beforehand sends nothing', async () => {
      const server = await start();
      const { toolset } = await connect([http(server.url)], over(stack));
      const before = server.seen().length;

      expect(await rejection(toolset.call('srv__echo', {}, { signal: AbortSignal.abort() }))).toBeInstanceOf(
        AbortError,
      );
      await toolset.call('srv__echo', {});
      expect(server.seen('tools/call')).toHaveLength(1);
      expect(server.seen().length).toBe(before + 1);
    });

    it('an abort takes only its own call with it', async () => {
      const server = await start(({ args, text, exchange }) => {
        if (args.n === 2)
          void server.waitFor('tools/call', 3).then(async () => exchange.message.id !== undefined && text('mine'));
      });
      const { toolset } = await connect([http(server.url)], over(stack));
      const controller = new AbortController();
      const one = rejection(toolset.call('srv__never', { n: 1 }, { signal: controller.signal }));
      const two = toolset.call('srv__never', { n: 2 });
      await server.waitFor('tools/call', 2);
      controller.abort();
      await one;
      await expect(toolset.call('srv__echo', {})).resolves.toBe('{}');

      await expect(two).resolves.toBe('mine');
    });

    it('`close()` rejects what is pending, and closes its requests', async () => {
      const gone: Promise<void>[] = [];
      const server = await start(({ exchange }) => void gone.push(exchange.left));
      const { toolset, of } = await connect([http(server.url)], over(stack));
      const pending = [1, 2, 3].map((n) => mcpError(toolset.call('srv__never', { n }), 'closed'));
      await server.waitFor('tools/call', 3);
      const { ms } = await timed(() => toolset.close());

      for (const error of await Promise.all(pending)) expect(error.message).toMatch(/unavailable/);
      await Promise.all(gone);
      expect(ms).toBeLessThan(2000);
      expect(of('connection-failure')).toEqual([]);
      await until('the end of every connection', () => server.connections().open === 0);
      const later = await mcpError(toolset.call('srv__echo', {}), 'closed');
      expect(later.message).toMatch(/unavailable/);
    });
  });

  describe('connecting', () => {
    it.each(['server/discover', 'initialize', 'notifications/initialized', 'tools/list'])(
      'to a server that falls silent at %s ends at the time limit, and its request is closed',
      async (method) => {
        let left: Promise<void> | undefined;
        const server = await sessionServer({
          before: (exchange) => {
            if (exchange.message.method !== method) return false;
            left = exchange.left;
            return true;
          },
        });
        const { value, ms } = await timed(() => connect([http(server.url, { timeoutMs: 700 })], over(stack)));

        // Whether a notification was accepted need not be waited for.
        if (method !== 'notifications/initialized') {
          expect(value.of('connection-failure')).toEqual([
            expect.objectContaining({ message: expect.stringContaining('srv') }),
          ]);
        }
        expect(ms).toBeLessThan(2500);
        if (method === 'notifications/initialized') await value.toolset.close();
        await left;
        // Of what begins a connection, the listing alone may be cancelled.
        const told = server.seen('notifications/cancelled').map(({ message }) => message.params.requestId);
        const listings = server.seen('tools/list').map(({ message }) => message.id);
        expect(listings).toEqual(expect.arrayContaining(told));
      },
    );

    it('to a server that never answers does not hold up its siblings', async () => {
      const silent = await peer((exchange) => exchange.hang());
      const good = await statelessServer();
      const { toolset } = await connect(
        [http(silent.url, { name: 'silent', timeoutMs: 1000 }), http(good.url, { name: 'good' })],
        over(stack),
      );

      await expect(toolset.call('good__echo', {})).resolves.toBe('{}');
      expect(toolset.servers().map(({ state }) => state)).toEqual(['unavailable', 'ready']);
    });

    it('that is aborted rejects, and closes what was begun', async () => {
      const silent = await peer((exchange) => exchange.hang());
      const ready = await sessionServer({ get: 'stream' });
      const controller = new AbortController();
      const pending = rejection(
        connect([http(silent.url, { name: 'silent' }), http(ready.url)], { ...over(stack), signal: controller.signal }),
      );
      await silent.waitFor('POST');
      await ready.waitFor('tools/list');
      const reason = new Error('enough');
      controller.abort(reason);
      const error = await pending;

      expect(error).toBeInstanceOf(AbortError);
      expect((error as Error).cause).toBe(reason);
      await until('the end of every connection', () => silent.connections().open + ready.connections().open === 0);
    });

    it('to a port where nobody listens fails at once', async () => {
      const server = await peer((exchange) => exchange.hang());
      await server.stop();
      const { value, ms } = await timed(() => connect([http(server.url)], over(stack)));

      expect(value.of('connection-failure')).toEqual([
        expect.objectContaining({ message: expect.stringMatching(/srv/) }),
      ]);
      expect(ms).toBeLessThan(2000);
    });

    it('does not open a socket when the program does not ask for a server', async () => {
      const { toolset } = await connect([], over(stack));
      expect(toolset.tools).toEqual({});
    });
  });
});
