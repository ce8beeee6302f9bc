// What lies between the native stack and a server: certificates and proxies.

import { readFileSync } from 'node:fs';
import { connect as connectSocket, createServer } from 'node:net';

import { describe, expect, it, onTestFinished } from 'vitest';

import { statelessServer, type StatelessOptions } from '../fixtures/http/mcp.js';
import { peer } from '../fixtures/http/peer.js';
import { connect } from '../helpers/connect.js';
import { mcpError } from '../helpers/errors.js';
import { environment, http } from '../helpers/remote.js';
import { timed } from '../helpers/until.js';

const pem = (file: string): string => readFileSync(new URL(`../fixtures/http/tls/${file}`, import.meta.url), 'utf8');
const ca = pem('ca.pem');

function secureServer(options: StatelessOptions = {}) {
  return statelessServer({ ...options, tls: { key: pem('server.key.pem'), cert: pem('server.pem') } });
}

/** A proxy that knows `CONNECT` alone, and what it was asked for. */
async function tunnel(): Promise<{ origin: string; heads: string[] }> {
  const heads: string[] = [];
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', (head) => {
      heads.push(head.toString('latin1'));
      const [, host = '', port = ''] = /^CONNECT ([^ ]*):(\d+) /.exec(head.toString('latin1')) ?? [];
      const onward = connectSocket(Number(port), host, () => {
        socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
        socket.pipe(onward).pipe(socket);
      });
      onward.on('error', () => socket.destroy());
    });
    onTestFinished(() => void socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port');
  return { origin: `http://127.0.0.1:${address.port}`, heads };
}

function withoutProxies(): void {
  for (const name of ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'NO_PROXY']) {
    environment(name, '');
    environment(name.toLowerCase(), '');
  }
}

describe('https', () => {
  it('with a root of the option `ca` is spoken', async () => {
    const server = await secureServer();
    const { toolset, diagnostics } = await connect([http(server.url)], { ca });

    await expect(toolset.call('srv__echo', { a: 1 })).resolves.toBe('{"a":1}');
    expect(diagnostics).toEqual([]);
  });

  it('to a name that the certificate holds is spoken too', async () => {
    const server = await secureServer();
    const { toolset } = await connect([http(server.url.replace('127.0.0.1', 'localhost'))], { ca });

    expect(toolset.servers()).toMatchObject([{ state: 'ready' }]);
  });

  it('without a root that knows the certificate is a failure, and nothing is sent', async () => {
    const server = await secureServer();
    const { value, ms } = await timed(() => connect([http(server.url, { headers: { 'x-key': 'secretive' } })]));

    expect(value.of('connection-failure')).toEqual([
      expect.objectContaining({ message: expect.stringMatching(/certificate/i) }),
    ]);
    expect(server.seen()).toEqual([]);
    expect(ms).toBeLessThan(3000);
  });

  it('to a port that speaks http is a failure', async () => {
    const server = await peer((exchange) => exchange.hang());
    const { value, ms } = await timed(() =>
      connect([http(server.url.replace('http:', 'https:'), { timeoutMs: 3000 })], { ca }),
    );

    expect(value.of('connection-failure')).toHaveLength(1);
    expect(ms).toBeLessThan(5000);
  });

  it('that redirects to http is refused', async () => {
    const plain = await statelessServer();
    const server = await secureServer({
      before: (exchange) => {
        exchange.redirect(307, plain.url);
        return true;
      },
    });
    const { of } = await connect([http(server.url)], { ca });

    expect(of('connection-failure')).toHaveLength(1);
    expect(plain.connections().all).toBe(0);
  });

  it.each(['', 'no certificate', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'])(
    'with "%s" for a root is a wrong option',
    async (wrong) => {
      await mcpError(connect([http('https://127.0.0.1:9/mcp')], { ca: wrong }), 'invalid-option');
    },
  );
});

describe('a proxy', () => {
  it('of the options is asked for the whole address of a server', async () => {
    withoutProxies();
    const proxy = await statelessServer();
    const { toolset } = await connect([http('http://mcp.example/mcp?a=1')], { proxy: proxy.origin });

    await expect(toolset.call('srv__echo', {})).resolves.toBe('{}');
    for (const { target } of proxy.seen()) expect(target).toBe('http://mcp.example/mcp?a=1');
  });

  it.each(['http_proxy', 'HTTP_PROXY'])('of the variable %s is used by default', async (name) => {
    withoutProxies();
    const proxy = await statelessServer();
    environment(name, proxy.origin);
    const { toolset } = await connect([http('http://mcp.example/mcp')]);

    expect(toolset.servers()).toMatchObject([{ state: 'ready' }]);
  });

  it('is not used for what NO_PROXY names', async () => {
    withoutProxies();
    const proxy = await peer((exchange) => exchange.send(502));
    const server = await statelessServer();
    environment('http_proxy', proxy.origin);
    environment('no_proxy', '127.0.0.1,other.example');
    const { toolset } = await connect([http(server.url)]);

    expect(toolset.servers()).toMatchObject([{ state: 'ready' }]);
    expect(proxy.connections().all).toBe(0);
  });

  it('is not used with `none`', async () => {
    withoutProxies();
    const proxy = await peer((exchange) => exchange.send(502));
    const server = await statelessServer();
    environment('http_proxy', proxy.origin);
    const { toolset } = await connect([http(server.url)], { proxy: 'none' });

    expect(toolset.servers()).toMatchObject([{ state: 'ready' }]);
    expect(proxy.connections().all).toBe(0);
  });

  it('makes a tunnel for https, and sees nothing of what goes through', async () => {
    withoutProxies();
    const proxy = await tunnel();
    const server = await secureServer();
    const { toolset } = await connect([http(server.url, { headers: { 'x-key': 'secretive' } })], {
      ca,
      proxy: proxy.origin,
    });

    await expect(toolset.call('srv__echo', {})).resolves.toBe('{}');
    expect(proxy.heads.length).toBeGreaterThan(0);
    for (const head of proxy.heads) {
      expect(head).toMatch(new RegExp(`^CONNECT 127\\.0\\.0\\.1:${server.port} `));
      expect(head).not.toContain('secretive');
    }
  });

  it('gets the credentials of its own address, which no text of ours holds', async () => {
    withoutProxies();
    const proxy = await peer((exchange) => exchange.send(407));
    const url = proxy.origin.replace('http://', 'http://proxy-user:proxy-password@');
    const { diagnostics } = await connect([http('http://mcp.example/mcp')], { proxy: url });

    expect(proxy.seen()[0]?.header('proxy-authorization')).toBe(
      `Basic ${Buffer.from('proxy-user:proxy-password').toString('base64')}`,
    );
    expect(diagnostics).toHaveLength(1);
    expect(JSON.stringify(diagnostics)).not.toMatch(/proxy-user|proxy-password/);
  });

  it.each(['nowhere', 'ftp://127.0.0.1', ''])('that is "%s" is a wrong option', async (proxy) => {
    await mcpError(connect([http('http://127.0.0.1:9/mcp')], { proxy }), 'invalid-option');
  });
});
