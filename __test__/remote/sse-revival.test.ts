// A stream of HTTP+SSE that ends takes its connection with it. The next call opens another one.

import { describe, expect, it } from 'vitest';

import { sseServer, type SseOptions, type SseServer } from '../fixtures/http/mcp.js';
import { connect, type Connected } from '../helpers/connect.js';
import { mcpError, rejection } from '../helpers/errors.js';
import { over, overBoth, sse, type Stack } from '../helpers/remote.js';
import { until } from '../helpers/until.js';
import type { McpOptions } from 'espalier/node';

interface Lost extends Connected {
  server: SseServer;
}

/** A connected server whose stream has ended since. */
async function lost(stack: Stack, options: SseOptions = {}, more: McpOptions = {}): Promise<Lost> {
  const server = await sseServer(options);
  const connected = await connect([sse(server.sseUrl)], { ...over(stack), ...more });
  server.streams()[0]?.cut();
  await until('the end of the connection', () => connected.toolset.servers()[0]?.state === 'unavailable');
  return { server, ...connected };
}

/** Answers the second stream and those after it with something else, until it is told to leave that. */
function sick(answer: NonNullable<SseOptions['before']>): SseOptions & { heal(): void } {
  let streams = 0;
  let healed = false;
  return {
    heal: () => {
      healed = true;
    },
    before: (exchange) => {
      if (exchange.request.method !== 'GET' || healed) return false;
      streams += 1;
      return streams > 1 && answer(exchange);
    },
  };
}

overBoth((stack) => {
  describe('a stream that is lost', () => {
    it('is opened anew by the next call, with a new handshake and without a listing', async () => {
      const { server, toolset, diagnostics } = await lost(stack);

      await expect(toolset.call('srv__echo', { again: true })).resolves.toBe('{"again":true}');
      expect(server.seen('GET')).toHaveLength(2);
      expect(server.seen('initialize')).toHaveLength(2);
      expect(server.seen('notifications/initialized')).toHaveLength(2);
      expect(server.seen('tools/list')).toHaveLength(1);
      const queries = server.seen('initialize').map(({ query }) => query);
      expect(queries[0]).not.toBe(queries[1]);
      expect(server.seen('tools/call').map(({ query }) => query)).toEqual([queries[1]]);
      expect(toolset.servers()).toMatchObject([{ state: 'ready', tools: 1 }]);
      expect(diagnostics).toEqual([]);
    });

    it('is opened once for all calls that come meanwhile', async () => {
      const { server, toolset } = await lost(stack);
      const calls = [1, 2, 3, 4, 5, 6, 7, 8].map((n) => toolset.call('srv__echo', { n }));
      expect(toolset.servers()).toMatchObject([{ state: 'connecting' }]);

      await expect(Promise.all(calls)).resolves.toEqual([1, 2, 3, 4, 5, 6, 7, 8].map((n) => `{"n":${n}}`));
      expect(server.seen('initialize')).toHaveLength(2);
      expect(server.streams()).toHaveLength(1);
    });

    it('is opened anew as often as it is lost', async () => {
      const { server, toolset } = await lost(stack);
      for (let n = 0; n < 8; n += 1) {
        await expect(toolset.call('srv__echo', { n })).resolves.toBe(`{"n":${n}}`);
        server.streams()[0]?.end();
        await until('the end of the connection', () => toolset.servers()[0]?.state === 'unavailable');
      }
      expect(server.seen('GET')).toHaveLength(9);
    });

    it('is opened with a credential that is asked for anew', async () => {
      let issued = 0;
      const auth = async (): Promise<{ token: string }> => ({ token: `token-${(issued += 1)}` });
      const { server, toolset } = await lost(stack, {}, { auth, session: 's' });
      await toolset.call('srv__echo', {});

      const [first, second] = server.seen('GET').map((request) => request.header('authorization'));
      expect(first).toBe('Bearer token-1');
      expect(second).toMatch(/^Bearer token-[23]$/);
    });

    it('and cannot be opened fails every call that waits, with the cause, and later calls try again', async () => {
      const options = sick((exchange) => {
        exchange.send(500);
        return true;
      });
      const { toolset, of } = await lost(stack, options);

      const errors = await Promise.all([1, 2, 3].map(() => mcpError(toolset.call('srv__echo', {}), 'unavailable')));
      for (const error of errors) expect(error.message).toMatch(/srv.*HTTP 500/);
      expect(of('connection-failure')).toEqual([
        {
          section: '7.2.2',
          rule: 'connection-failure',
          origin: 'srv',
          message: expect.stringMatching(/srv.*HTTP 500/),
        },
      ]);
      options.heal();
      const call = (): Promise<unknown> => toolset.call('srv__echo', { n: 1 }).catch(() => false);
      await expect(until('a call that succeeds', call)).resolves.toBe('{"n":1}');
      expect(of('connection-failure')).toHaveLength(1);
    });

    it('is not asked for again and again while it cannot be opened', async () => {
      const options = sick((exchange) => {
        exchange.cut();
        return true;
      });
      const { server, toolset } = await lost(stack, options);
      const begin = performance.now();
      let calls = 0;
      for (; performance.now() - begin < 1000; calls += 1) await mcpError(toolset.call('srv__echo', {}), 'unavailable');

      expect(calls).toBeGreaterThan(10);
      // One at once and one for each half of a second, but for what a busy machine adds.
      expect(server.seen('GET').length).toBeLessThan(6);
    });
  });

  describe('a call that waits for a stream', () => {
    const hangs = (): SseOptions => sick(() => true);

    it('waits no longer than its own time limit, and than it is wanted', async () => {
      const { server, toolset } = await lost(stack, hangs());
      const controller = new AbortController();
      const aborted = rejection(toolset.call('srv__echo', {}, { signal: controller.signal }));
      const late = await mcpError(toolset.call('srv__echo', {}, { timeoutMs: 200 }), 'timeout');
      controller.abort();

      expect(late.message).toMatch(/before it could be sent/);
      await expect(aborted).resolves.toMatchObject({ name: 'AbortError' });
      expect(server.seen('tools/call')).toEqual([]);
    });

    it('does not outlive `close()`, and neither does the stream', async () => {
      const { server, toolset } = await lost(stack, hangs());
      const waiting = mcpError(toolset.call('srv__echo', {}), 'closed');
      const [, second] = await server.waitFor('GET', 2);
      await toolset.close();

      expect((await waiting).message).toMatch(/unavailable/);
      await until('the end of the request', () => second?.gone);
      expect(server.seen('tools/call')).toEqual([]);
    });
  });
});
