// Servers that ask to be asked later.

import { describe, expect, it } from 'vitest';

import { sessionServer, sseServer, statelessServer } from '../fixtures/http/mcp.js';
import { connect } from '../helpers/connect.js';
import { rejection } from '../helpers/errors.js';
import { http, over, overBoth, sse } from '../helpers/remote.js';
import { timed } from '../helpers/until.js';

/** A server whose first `times` calls are put off. */
function busy(status: number, retryAfter: string | undefined, times = 1) {
  return statelessServer({
    tools: {
      t: ({ count, exchange, text }) => {
        if (count > times) text(`answered at ${count}`);
        else exchange.send(status, 'later', retryAfter === undefined ? {} : { 'retry-after': retryAfter });
      },
    },
  });
}

overBoth((stack) => {
  describe.each([429, 503])('%i', (status) => {
    it('with `Retry-After` in seconds is waited for', async () => {
      const server = await busy(status, '1');
      const { toolset } = await connect([http(server.url)], over(stack));
      const { value, ms } = await timed(() => toolset.call('srv__t', {}));

      expect(value).toBe('answered at 2');
      expect(ms).toBeGreaterThanOrEqual(990);
      expect(ms).toBeLessThan(4000);
    });

    it('with `Retry-After` as a date is waited for', async () => {
      const server = await busy(status, new Date(Date.now() + 2000).toUTCString());
      const { toolset } = await connect([http(server.url)], over(stack));
      const { value, ms } = await timed(() => toolset.call('srv__t', {}));

      expect(value).toBe('answered at 2');
      expect(ms).toBeLessThan(5000);
    });

    it('with `Retry-After` of nothing is tried again, as often as it takes', async () => {
      const server = await busy(status, '0', 3);
      const { toolset } = await connect([http(server.url)], over(stack));

      await expect(toolset.call('srv__t', {})).resolves.toBe('answered at 4');
    });

    it.each([undefined, 'soon', '-1', ''])('with `Retry-After: %s` is an error', async (retryAfter) => {
      const server = await busy(status, retryAfter);
      const { toolset } = await connect([http(server.url)], over(stack));
      const { ms } = await timed(() => expect(toolset.call('srv__t', {})).rejects.toThrow(String(status)));

      expect(ms).toBeLessThan(1000);
      expect(server.seen('tools/call')).toHaveLength(1);
    });

    it('with a `Retry-After` beyond the time limit is an error', async () => {
      const server = await busy(status, '3600');
      const { toolset } = await connect([http(server.url, { timeoutMs: 1000 })], over(stack));
      const { ms } = await timed(() => rejection(toolset.call('srv__t', {})));

      expect(ms).toBeLessThan(2500);
      expect(server.seen('tools/call')).toHaveLength(1);
    });

    it('that goes on for ever ends at the time limit', async () => {
      const server = await busy(status, '0', Number.POSITIVE_INFINITY);
      const { toolset } = await connect([http(server.url, { timeoutMs: 700 })], over(stack));
      const { ms } = await timed(() => rejection(toolset.call('srv__t', {})));

      expect(ms).toBeLessThan(2500);
      // A server that says "now" is not to be hammered.
      expect(server.seen('tools/call').length).toBeLessThan(50);
    });

    it.each(['server/discover', 'initialize', 'notifications/initialized', 'tools/list'])(
      'while connecting is waited for as well (%s)',
      async (method) => {
        let put = 0;
        const server = await sessionServer({
          before: (exchange) => {
            if (exchange.message.method !== method || (put += 1) > 1) return false;
            exchange.send(status, '', { 'retry-after': '0' });
            return true;
          },
        });
        const { toolset, diagnostics } = await connect([http(server.url)], over(stack));

        await expect(toolset.call('srv__echo', {})).resolves.toBe('{}');
        expect(server.seen(method)).toHaveLength(2);
        expect(diagnostics).toEqual([]);
      },
    );

    it('of the stream of HTTP+SSE is waited for, and of what is posted', async () => {
      const put = new Set<string>();
      const server = await sseServer({
        before: (exchange) => {
          const what = exchange.message.method ?? exchange.request.method;
          if (put.has(what)) return false;
          put.add(what);
          exchange.send(status, '', { 'retry-after': '0' });
          return true;
        },
      });
      const { toolset, diagnostics } = await connect([sse(server.sseUrl)], over(stack));

      await expect(toolset.call('srv__echo', {})).resolves.toBe('{}');
      expect(server.seen('GET')).toHaveLength(2);
      expect(server.seen('tools/call')).toHaveLength(2);
      expect(diagnostics).toEqual([]);
    });
  });

  it('an abort ends the wait', async () => {
    const server = await busy(429, '30');
    const { toolset } = await connect([http(server.url)], over(stack));
    const controller = new AbortController();
    const pending = rejection(toolset.call('srv__t', {}, { signal: controller.signal }));
    await server.waitFor('tools/call');
    const begin = performance.now();
    controller.abort();

    expect(await pending).toMatchObject({ name: 'AbortError' });
    expect(performance.now() - begin).toBeLessThan(500);
  });
});
