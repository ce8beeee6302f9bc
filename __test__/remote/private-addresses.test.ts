// `blockPrivateAddresses`: by what a name resolves to, not by how it is written.

import { describe, expect, it } from 'vitest';

import { statelessServer } from '../fixtures/http/mcp.js';
import { peer } from '../fixtures/http/peer.js';
import { connect } from '../helpers/connect.js';
import { mcpError } from '../helpers/errors.js';
import { environment, http, sse } from '../helpers/remote.js';
import { timed } from '../helpers/until.js';

describe('`blockPrivateAddresses`', () => {
  it('is off by default', async () => {
    const server = await statelessServer();
    const { toolset } = await connect([http(server.url)]);

    expect(toolset.servers()).toMatchObject([{ state: 'ready' }]);
  });

  it.each(['127.0.0.1', 'localhost', '2130706433', '0x7f.0.0.1', '0177.1', '127.1', '[::ffff:127.0.0.1]', '0.0.0.0'])(
    'refuses the loopback as %s, and opens no socket',
    async (host) => {
      const server = await statelessServer();
      const { value, ms } = await timed(() =>
        connect([http(`http://${host}:${server.port}/mcp`)], { blockPrivateAddresses: true }),
      );

      expect(value.of('connection-failure')).toEqual([
        expect.objectContaining({ origin: 'srv', message: expect.stringMatching(/address/) }),
      ]);
      expect(server.connections().all).toBe(0);
      expect(ms).toBeLessThan(3000);
    },
  );

  it.each([
    '[::1]',
    '[::]',
    '10.0.0.1',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
    '100.127.255.255',
    '224.0.0.1',
    '239.255.255.255',
    '[fe80::1]',
    '[fc00::1]',
    '[fd00:ec2::254]',
    '[ff02::1]',
    '[::ffff:10.0.0.1]',
    '[::ffff:a9fe:a9fe]',
    '[64:ff9b::7f00:1]',
  ])('refuses %s at once', async (host) => {
    const { value, ms } = await timed(() =>
      connect([http(`http://${host}:9/mcp`), sse(`http://${host}:9/sse`, { name: 'old' })], {
        blockPrivateAddresses: true,
      }),
    );

    expect(
      value
        .of('connection-failure')
        .map(({ origin }) => origin)
        .toSorted(),
    ).toEqual(['old', 'srv']);
    expect(ms).toBeLessThan(2000);
  });

  it('together with a proxy that would be used is a wrong option', async () => {
    const server = await statelessServer();
    const error = await mcpError(
      connect([http(server.url)], { blockPrivateAddresses: true, proxy: 'http://127.0.0.1:9' }),
      'invalid-option',
    );

    expect(error.message).toMatch(/proxy/);
  });

  it('together with a `fetch` is a wrong option', async () => {
    const server = await statelessServer();
    const error = await mcpError(
      connect([http(server.url)], { blockPrivateAddresses: true, fetch: (url, init) => fetch(url, init) }),
      'invalid-option',
    );

    expect(error.message).toMatch(/blockPrivateAddresses/);
    expect(server.connections().all).toBe(0);
  });

  describe('where the environment names a proxy', () => {
    it('is a wrong option as soon as one server would be reached through it', async () => {
      const proxy = await peer((exchange) => exchange.send(502));
      const server = await statelessServer();
      environment('HTTP_PROXY', proxy.origin);
      environment('http_proxy', proxy.origin);
      environment('no_proxy', '127.0.0.1');
      const error = await mcpError(
        connect([http(server.url), sse('http://mcp.example/sse', { name: 'far' })], { blockPrivateAddresses: true }),
        'invalid-option',
      );

      expect(error.message).toMatch(/blockPrivateAddresses.*mcp\.example/);
      expect(proxy.connections().all).toBe(0);
      expect(server.connections().all).toBe(0);
    });

    it('is legal where it applies to none of the servers', async () => {
      const proxy = await peer((exchange) => exchange.send(502));
      environment('HTTP_PROXY', proxy.origin);
      environment('http_proxy', proxy.origin);
      environment('no_proxy', 'mcp.test');
      const { of } = await connect([http('http://mcp.test/mcp', { timeoutMs: 2000 })], {
        blockPrivateAddresses: true,
      });

      expect(of('connection-failure')).toHaveLength(1);
      expect(proxy.connections().all).toBe(0);
    });
  });
});
