// Which hosts may be spoken to at all.

import { describe, expect, it } from 'vitest';

import { sessionServer, sseServer, statelessServer } from '../fixtures/http/mcp.js';
import { connect } from '../helpers/connect.js';
import { mcpError } from '../helpers/errors.js';
import { http, over, overBoth, sse } from '../helpers/remote.js';
import { timed } from '../helpers/until.js';

overBoth((stack) => {
  describe('`allowedHosts`', () => {
    it('lets through what it names, whatever the port', async () => {
      const server = await statelessServer();
      const { toolset, diagnostics } = await connect([http(server.url)], {
        ...over(stack),
        allowedHosts: ['other.example', '127.0.0.1'],
      });

      await expect(toolset.call('srv__echo', {})).resolves.toBe('{}');
      expect(diagnostics).toEqual([]);
    });

    it.each(['http', 'sse'] as const)('refuses every other host before a socket opens (%s)', async (transport) => {
      const server = await statelessServer();
      const config = transport === 'http' ? http(server.url) : sse(server.url);
      const { of } = await connect([config], { ...over(stack), allowedHosts: ['other.example'] });

      expect(of('connection-failure')).toEqual([
        {
          section: '7.2.2',
          rule: 'connection-failure',
          origin: 'srv',
          message: expect.stringMatching(/srv/),
        },
      ]);
      expect(of('connection-failure')[0]?.message).toMatch(/127\.0\.0\.1/);
      expect(of('connection-failure')[0]?.message).toMatch(/allowedHosts/);
      expect(server.connections().all).toBe(0);
    });

    it('that is empty refuses everything', async () => {
      const server = await statelessServer();
      const { of } = await connect([http(server.url)], { ...over(stack), allowedHosts: [] });

      expect(of('connection-failure')).toHaveLength(1);
      expect(server.connections().all).toBe(0);
    });

    it.each([
      ['http://LOCALHOST:{port}/mcp', 'localhost'],
      ['http://localhost:{port}/mcp', 'LocalHost'],
      ['http://localhost:{port}/mcp', 'localhost.'],
      ['http://127.0.0.1.:{port}/mcp', '127.1'],
      ['http://2130706433:{port}/mcp', '127.0.0.1'],
      ['http://0x7f.1:{port}/mcp', '127.0.0.1'],
    ])('compares %s with %s as the URL parser reads them', async (url, allowed) => {
      const server = await statelessServer();
      const { toolset } = await connect([http(url.replace('{port}', String(server.port)))], {
        ...over(stack),
        allowedHosts: [allowed],
      });

      expect(toolset.servers()).toMatchObject([{ state: 'ready' }]);
    });

    it.each(['::1', '[::1]', '0:0:0:0:0:0:0:1'])('knows an IPv6 address as %s', async (allowed) => {
      const server = await statelessServer({ host: '::1' });
      const { toolset } = await connect([http(server.url)], { ...over(stack), allowedHosts: [allowed] });

      expect(toolset.servers()).toMatchObject([{ state: 'ready' }]);
    });

    it.each([
      ['http://localhost.evil.example/mcp', 'localhost.evil.example'],
      ['http://127.0.0.1.evil.example/mcp', '127.0.0.1.evil.example'],
      ['http://127.0.0.1@evil.example/mcp', 'evil.example'],
      ['http://127.0.0.1%2f@evil.example/mcp', 'evil.example'],
      ['http://evil.example/127.0.0.1', 'evil.example'],
      ['http://evil.example#127.0.0.1', 'evil.example'],
      ['http://xn--mnchen-3ya.example/', 'xn--mnchen-3ya.example'],
      ['http://localhost\\@evil.example/', 'localhost'],
    ])('is not taken in by %s', async (url, host) => {
      const { value, ms } = await timed(() =>
        connect([http(url)], { ...over(stack), allowedHosts: ['127.0.0.1', 'münchen.test'] }),
      );

      expect(value.of('connection-failure')).toEqual([
        expect.objectContaining({ message: expect.stringContaining(host) }),
      ]);
      expect(value.of('connection-failure')[0]?.message).toContain('allowedHosts');
      expect(ms).toBeLessThan(2000);
    });

    it.each([
      ['http://xn--mnchen-3ya.test:1/', 'münchen.test'],
      ['http://MÜNCHEN.test:1/', 'xn--mnchen-3ya.test'],
      ['http://LocalHost.:1/', 'localhost'],
      ['http://localhost.:1/', 'LOCALHOST.:8080'],
    ])('knows %s as %s', async (url, allowed) => {
      const { of } = await connect([http(url, { timeoutMs: 2000 })], { ...over(stack), allowedHosts: [allowed] });

      expect(of('connection-failure')).toHaveLength(1);
      expect(of('connection-failure')[0]?.message).not.toContain('allowedHosts');
    });
  });

  describe('an `allowedHosts` function', () => {
    it('is asked per server, with its name and the session', async () => {
      const one = await statelessServer();
      const two = await statelessServer();
      const asked: unknown[] = [];
      const { toolset } = await connect([http(one.url, { name: 'one' }), http(two.url, { name: 'two' })], {
        ...over(stack),
        session: 'whose',
        allowedHosts: (name, context) => {
          asked.push([name, context]);
          return name === 'one' ? ['127.0.0.1'] : [];
        },
      });

      expect(toolset.servers().map(({ name, state }) => [name, state])).toEqual([
        ['one', 'ready'],
        ['two', 'unavailable'],
      ]);
      expect(asked).toContainEqual(['one', { session: 'whose' }]);
      expect(asked).toContainEqual(['two', { session: 'whose' }]);
      expect(two.connections().all).toBe(0);
    });

    it('without a session is a wrong option', async () => {
      const server = await statelessServer();
      const error = await mcpError(
        connect([http(server.url)], { ...over(stack), allowedHosts: () => ['127.0.0.1'] }),
        'invalid-option',
      );

      expect(error.message).toContain('session');
      expect(server.connections().all).toBe(0);
    });

    it.each<[string, () => unknown]>([
      [
        'throws',
        () => {
          throw new Error('no idea');
        },
      ],
      ['gives nothing', () => undefined],
      ['gives a text', () => '127.0.0.1'],
      ['gives a promise', () => Promise.resolve(['127.0.0.1'])],
      ['gives a list with something else in it', () => ['127.0.0.1', 7]],
      ['gives an object', () => ({ 0: '127.0.0.1', length: 1 })],
    ])('that %s refuses that server', async (_what, allowedHosts) => {
      const server = await statelessServer();
      const { of } = await connect([http(server.url)], {
        ...over(stack),
        session: 's',
        allowedHosts: allowedHosts as never,
      });

      expect(of('connection-failure')).toEqual([expect.objectContaining({ origin: 'srv' })]);
      expect(server.connections().all).toBe(0);
    });
  });

  it('holds for every hop of a stream, a session and a call', async () => {
    const second = await statelessServer();
    const elsewhere = second.url.replace('127.0.0.1', 'localhost');
    const first = await sessionServer({
      before: (exchange) => {
        const { method } = exchange.request;
        if (method !== 'GET' && method !== 'DELETE' && exchange.message.method !== 'tools/call') return false;
        exchange.redirect(307, elsewhere);
        return true;
      },
    });
    const { toolset } = await connect([http(first.url)], { ...over(stack), allowedHosts: ['127.0.0.1'] });
    await first.waitFor('GET');
    const error = await mcpError(toolset.call('srv__echo', {}), 'host-blocked');
    await toolset.close();

    expect(error.message).toContain('localhost');
    expect(second.connections().all).toBe(0);
  });

  it('holds for the endpoint that a stream names', async () => {
    const second = await sseServer();
    const first = await sseServer({ endpoint: () => `${second.origin.replace('127.0.0.1', 'localhost')}/messages` });
    const { of } = await connect([sse(first.sseUrl)], { ...over(stack), allowedHosts: ['127.0.0.1'] });

    expect(of('connection-failure')).toHaveLength(1);
    expect(second.connections().all).toBe(0);
  });
});
