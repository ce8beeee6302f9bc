// Reply streams of the session era that break, or are put down, and are taken up again.

import { describe, expect, it } from 'vitest';

import { sessionServer, statelessServer, type Call, type SessionOptions } from '../fixtures/http/mcp.js';
import type { EventStream, Exchange } from '../fixtures/http/peer.js';
import { connect } from '../helpers/connect.js';
import { mcpError, rejection } from '../helpers/errors.js';
import { http, over, overBoth } from '../helpers/remote.js';
import { textResult } from '../helpers/scripted.js';
import { timed, until } from '../helpers/until.js';

/** A server that gives a GET with `Last-Event-ID` to `resumed`. */
function resumable(
  tool: (call: Call) => void,
  resumed: (exchange: Exchange, lastEventId: string) => void,
  more: SessionOptions = {},
): ReturnType<typeof sessionServer> {
  return sessionServer({
    ...more,
    tools: { echo: undefined, t: tool },
    before: (exchange) => {
      const id = exchange.request.header('last-event-id');
      if (exchange.request.method !== 'GET' || id === undefined) return false;
      resumed(exchange, id);
      return true;
    },
  });
}

function resumptions(server: Awaited<ReturnType<typeof sessionServer>>) {
  return server.seen('GET').filter((one) => one.header('last-event-id') !== undefined);
}

overBoth((stack) => {
  describe('a reply stream that is left with an event id', () => {
    it.each<[string, (stream: EventStream) => void]>([
      ['is cut', (stream) => stream.cut()],
      ['ends', (stream) => stream.end()],
    ])('and %s is taken up where it was', async (_how, leave) => {
      let id: unknown;
      const server = await resumable(
        (call) => {
          ({ id } = call);
          leave(call.exchange.stream().event({ id: 'e-1', retry: 50, data: '' }));
        },
        (exchange) =>
          exchange
            .stream()
            .message({ id, result: textResult('late, but here') }, { id: 'e-2' })
            .end(),
      );
      const { toolset } = await connect([http(server.url, { headers: { 'x-tenant': 'one' } })], {
        ...over(stack),
        session: 's',
        auth: async () => ({ token: 'token-1' }),
      });

      await expect(toolset.call('srv__t', {})).resolves.toBe('late, but here');
      expect(server.seen('tools/call')).toHaveLength(1);
      const [get] = resumptions(server);
      expect(get?.header('last-event-id')).toBe('e-1');
      expect(get?.header('accept')).toContain('text/event-stream');
      expect(get?.header('mcp-session-id')).toBe(server.sessions()[0]);
      expect(get?.header('mcp-protocol-version')).toBe('2025-11-25');
      expect(get?.header('authorization')).toBe('Bearer token-1');
      expect(get?.header('x-tenant')).toBe('one');
    });

    it('is taken up again and again, from the newest id', async () => {
      let id: unknown;
      const server = await resumable(
        (call) => {
          ({ id } = call);
          call.exchange.stream().event({ id: '1', retry: 20, data: '' }).end();
        },
        (exchange, last) => {
          const stream = exchange.stream().event({ id: String(Number(last) + 1), data: '' });
          if (last === '4') stream.message({ id, result: textResult('at last') }).end();
          else stream.cut();
        },
      );
      const { toolset } = await connect([http(server.url)], over(stack));

      await expect(toolset.call('srv__t', {})).resolves.toBe('at last');
      expect(resumptions(server).map((one) => one.header('last-event-id'))).toEqual(['1', '2', '3', '4']);
    });

    it('is not taken up before the time that the server has named', async () => {
      let id: unknown;
      let left = Number.NaN;
      const server = await resumable(
        (call) => {
          ({ id } = call);
          call.exchange.stream().event({ id: 'e', retry: 400, data: '' }).end();
          left = performance.now();
        },
        (exchange) =>
          exchange
            .stream()
            .message({ id, result: textResult('fine') })
            .end(),
      );
      const { toolset } = await connect([http(server.url)], over(stack));
      await toolset.call('srv__t', {});

      const waited = (resumptions(server)[0]?.at ?? 0) - left;
      expect(waited).toBeGreaterThanOrEqual(390);
      expect(waited).toBeLessThan(2000);
    });

    it('is taken up after a second when the server names no time', async () => {
      let id: unknown;
      let left = Number.NaN;
      const server = await resumable(
        (call) => {
          ({ id } = call);
          call.exchange.stream().event({ id: 'e', data: '' }).end();
          left = performance.now();
        },
        (exchange) =>
          exchange
            .stream()
            .message({ id, result: textResult('fine') })
            .end(),
      );
      const { toolset } = await connect([http(server.url)], over(stack));
      await toolset.call('srv__t', {});

      const waited = (resumptions(server)[0]?.at ?? 0) - left;
      expect(waited).toBeGreaterThanOrEqual(900);
      expect(waited).toBeLessThan(2500);
    });

    it.each([400, 404, 405, 500])(
      'and cannot be taken up (%i) is lost, and the call is not sent again',
      async (status) => {
        const server = await resumable(
          ({ exchange }) => exchange.stream().event({ id: 'e', retry: 20, data: '' }).end(),
          (exchange) => exchange.send(status),
        );
        const { toolset } = await connect([http(server.url, { timeoutMs: 3000 })], over(stack));
        const error = await rejection(toolset.call('srv__t', {}));

        expect(String(error)).toMatch(/unknown/);
        expect(server.seen('tools/call')).toHaveLength(1);
      },
    );

    it('and never brings the reply is given up at the time limit', async () => {
      const server = await resumable(
        ({ exchange }) => exchange.stream().event({ id: 'e', retry: 20, data: '' }).end(),
        (exchange) => exchange.stream().event({ id: 'e', data: '' }).end(),
      );
      const { toolset } = await connect([http(server.url, { timeoutMs: 800 })], over(stack));
      const { value: error, ms } = await timed(() => rejection(toolset.call('srv__t', {})));

      expect(String(error)).toMatch(/unknown/);
      expect(ms).toBeGreaterThan(700);
      expect(ms).toBeLessThan(2500);
    });

    it('stops to be taken up when the call is aborted', async () => {
      const server = await resumable(
        ({ exchange }) => exchange.stream().event({ id: 'e', retry: 20, data: '' }).end(),
        (exchange) => void exchange.stream(),
      );
      const { toolset } = await connect([http(server.url)], over(stack));
      const controller = new AbortController();
      const pending = rejection(toolset.call('srv__t', {}, { signal: controller.signal }));
      await server.waitFor('notifications/initialized');
      const [call] = await server.waitFor('tools/call');
      await until('the resumption', () => resumptions(server).length > 0);
      controller.abort();

      expect(await pending).toMatchObject({ name: 'AbortError' });
      const [cancelled] = await server.waitFor('notifications/cancelled');
      expect(cancelled?.message.params.requestId).toBe(call?.message.id);
      expect(resumptions(server)).toHaveLength(1);
    });
  });

  it('a stream on which no id was seen is not taken up', async () => {
    const server = await resumable(
      ({ exchange }) => exchange.stream().event({ retry: 20, data: '' }).cut(),
      (exchange) => exchange.send(404),
    );
    const { toolset } = await connect([http(server.url)], over(stack));

    await mcpError(toolset.call('srv__t', {}), 'connection-lost');
    expect(resumptions(server)).toEqual([]);
  });

  it('a stream of the stateless era is never taken up', async () => {
    const server = await statelessServer({
      tools: { t: ({ exchange }) => exchange.stream().event({ id: 'e', retry: 20, data: '' }).cut() },
    });
    const { toolset } = await connect([http(server.url)], over(stack));

    const { ms } = await timed(() => mcpError(toolset.call('srv__t', {}), 'connection-lost'));
    expect(ms).toBeLessThan(1000);
    expect(server.seen('GET')).toEqual([]);
  });
});
