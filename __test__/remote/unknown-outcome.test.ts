// A call whose reply is lost may have been carried out. It is never sent again.

import { describe, expect, it } from 'vitest';

import { sessionServer, sseServer, statelessServer, type Call } from '../fixtures/http/mcp.js';
import type { Exchange } from '../fixtures/http/peer.js';
import { connect } from '../helpers/connect.js';
import { mcpError } from '../helpers/errors.js';
import { http, over, overBoth, sse } from '../helpers/remote.js';
import { timed, until } from '../helpers/until.js';

const JSON_TYPE = { 'content-type': 'application/json' };

const lost: [what: string, answer: (call: Call) => void][] = [
  ['before the answer begins', ({ exchange }) => exchange.cut()],
  ['in order, before the answer begins', ({ exchange }) => exchange.hangUp()],
  ['in the head', ({ exchange }) => exchange.raw('HTTP/1.1 200 OK\r\ncont').cut()],
  [
    'in a JSON body',
    ({ exchange }) =>
      exchange
        .head(200, { ...JSON_TYPE, 'content-length': '500' })
        .raw('{"json')
        .cut(),
  ],
  ['in a JSON body without a length', ({ exchange }) => exchange.head(200, JSON_TYPE).raw('{"json').hangUp()],
  ['in an event stream', ({ exchange }) => exchange.stream().text(': hello\n\n').cut()],
  ['in an event', ({ exchange }) => exchange.stream().text('data: {"jsonrpc":').cut()],
  [
    'after a notification',
    ({ exchange }) => exchange.stream().message({ method: 'notifications/progress', params: {} }).cut(),
  ],
];

overBoth((stack) => {
  describe.each(['session', 'stateless'] as const)('in the %s era', (era) => {
    const start = (tool: (call: Call) => void) =>
      (era === 'session' ? sessionServer : statelessServer)({ tools: { echo: undefined, t: tool } });

    it.each(lost)('a connection that is lost %s rejects within a second', async (_when, answer) => {
      const server = await start(answer);
      const { toolset, of } = await connect([http(server.url)], over(stack));
      const { value: error, ms } = await timed(() => mcpError(toolset.call('srv__t', {}), 'connection-lost'));

      expect(error.message).toMatch(/unknown/);
      expect(ms).toBeLessThan(1000);
      expect(server.seen('tools/call')).toHaveLength(1);
      expect(server.seen('initialize')).toHaveLength(era === 'session' ? 1 : 0);
      await expect(toolset.call('srv__echo', { next: true })).resolves.toBe('{"next":true}');
      expect(of('connection-failure')).toEqual([]);
    });

    it('not even when the connection had been used before', async () => {
      const server = await start(({ count, exchange, text }) => {
        if (count <= 3) text('fine');
        else exchange.hangUp();
      });
      const { toolset } = await connect([http(server.url)], over(stack));
      for (let n = 0; n < 3; n += 1) await toolset.call('srv__t', {});

      await mcpError(toolset.call('srv__t', {}), 'connection-lost');
      expect(server.seen('tools/call')).toHaveLength(4);
    });

    it('a kept connection that the server has closed is no obstacle', async () => {
      const server = await start(({ text, exchange }) => {
        text('fine');
        exchange.hangUp();
      });
      const { toolset } = await connect([http(server.url)], over(stack));
      for (let n = 0; n < 20; n += 1) {
        await expect(toolset.call('srv__t', { n })).resolves.toBe('fine');
        await until('the end of that connection', () => server.connections().open === 0);
      }

      expect(server.seen('tools/call')).toHaveLength(20);
    });
  });

  describe('over HTTP+SSE', () => {
    it('a stream that is lost rejects what waits for it within a second', async () => {
      const server = await sseServer({ tools: { echo: undefined, never: () => {} } });
      const { toolset } = await connect([sse(server.sseUrl)], over(stack));
      const pending = mcpError(toolset.call('srv__never', {}), 'connection-lost');
      await server.waitFor('tools/call');
      const { value: error, ms } = await timed(() => {
        server.streams()[0]?.cut();
        return pending;
      });

      expect(error.message).toMatch(/unknown/);
      expect(ms).toBeLessThan(1000);
      expect(server.seen('tools/call')).toHaveLength(1);
    });

    it.each([
      ['cut', (exchange: Exchange) => exchange.cut()],
      ['closed', (exchange: Exchange) => exchange.hangUp()],
    ])('a call whose request is %s without an answer rejects within a second', async (_how, end) => {
      const server = await sseServer({
        before: (exchange) => {
          if (exchange.message.method !== 'tools/call') return false;
          end(exchange);
          return true;
        },
      });
      const { toolset } = await connect([sse(server.sseUrl)], over(stack));
      const { value: error, ms } = await timed(() => mcpError(toolset.call('srv__echo', {}), 'connection-lost'));

      expect(error.message).toMatch(/unknown/);
      expect(ms).toBeLessThan(1000);
      expect(server.seen('tools/call')).toHaveLength(1);
      expect(server.streams()).toHaveLength(1);
    });
  });

  it('a server that cannot be reached is a failure that names it, not a call of unknown outcome', async () => {
    const server = await statelessServer();
    const { toolset } = await connect([http(server.url)], over(stack));
    await server.stop();

    const { ms } = await timed(() => expect(toolset.call('srv__echo', {})).rejects.toMatchObject({ name: 'McpError' }));
    expect(ms).toBeLessThan(2000);
    const again = await statelessServer({ port: server.port });
    await expect(toolset.call('srv__echo', { again: true })).resolves.toBe('{"again":true}');
    expect(again.seen('tools/call')).toHaveLength(1);
  });
});
