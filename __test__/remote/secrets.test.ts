// What must not be seen: by another server, and in our own texts.

import { describe, expect, it } from 'vitest';

import { sessionServer, statelessServer } from '../fixtures/http/mcp.js';
import { peer, type Exchange, type Peer } from '../fixtures/http/peer.js';
import { connect, type Connected } from '../helpers/connect.js';
import { rejection } from '../helpers/errors.js';
import { http, over, overBoth, sse } from '../helpers/remote.js';

const SECRET = {
  header: 'header-value-of-the-user',
  token: 'token-of-the-user-1234567',
  user: 'user-in-the-url',
  password: 'password-in-the-url',
  query: 'query-of-the-url',
  argument: 'argument-of-the-call',
};

/** A configuration that is full of secrets. */
function secretive(url: string, more = {}) {
  const full = new URL(url);
  full.username = SECRET.user;
  full.password = SECRET.password;
  full.searchParams.set('key', SECRET.query);
  return http(full.href, { headers: { 'x-key': SECRET.header, cookie: `c=${SECRET.header}` }, ...more });
}

const withAuth = { session: 'session-of-the-user', auth: async () => ({ token: SECRET.token }) };
const basic = Buffer.from(`${SECRET.user}:${SECRET.password}`).toString('base64');

function expectNothingOf(text: string, more: readonly string[] = []): void {
  for (const secret of [...Object.values(SECRET), basic, 'session-of-the-user', ...more]) {
    expect(text).not.toContain(secret);
  }
}

overBoth((stack) => {
  describe('a second origin', () => {
    it.each([301, 302, 307, 308])(
      'sees nothing of the user’s when everything is redirected to it by %i',
      async (status) => {
        const second = await peer((exchange) => exchange.send(404));
        const first = await peer((exchange) => exchange.redirect(status, `${second.origin}/there`));
        await connect([secretive(first.url)], { ...over(stack), ...withAuth });
        await connect([{ ...secretive(first.url), type: 'sse' }], { ...over(stack), ...withAuth, timeoutMs: 2000 });

        expect(second.seen('POST').length).toBeGreaterThan(0);
        expect(second.seen('GET').length).toBeGreaterThan(0);
        expectNothingOf(second.bytes());
        // The first one does get them: the test looks for the right thing.
        for (const secret of [SECRET.header, SECRET.token, SECRET.query]) expect(first.bytes()).toContain(secret);
      },
    );

    it('sees neither session, token, header nor argument over POST, GET and DELETE', async () => {
      const second = await peer((exchange) => exchange.send(405));
      const away = new Set(['tools/call', 'GET', 'DELETE', 'notifications/cancelled']);
      const first = await sessionServer({
        before: (exchange: Exchange) => {
          const kind = exchange.message.method ?? exchange.request.method;
          if (!away.has(kind)) return false;
          exchange.redirect(307, `${second.origin}/there`);
          return true;
        },
      });
      const { toolset } = await connect([secretive(first.url)], { ...over(stack), ...withAuth });
      const [id = 'none'] = first.sessions();
      await first.waitFor('GET');
      await rejection(toolset.call('srv__echo', { secret: SECRET.argument }));
      await toolset.close();

      expect(second.seen('GET').length + second.seen('DELETE').length).toBeGreaterThan(0);
      expectNothingOf(second.bytes(), [id]);
      expect(first.bytes()).toContain(SECRET.argument);
    });

    it('sees nothing when it is reached over an open redirect of an allowed host', async () => {
      const third = await peer((exchange) => exchange.send(404));
      const second = await peer((exchange) => exchange.redirect(307, third.url));
      const first = await peer((exchange) => exchange.redirect(307, second.url));
      await connect([secretive(first.url)], { ...over(stack), ...withAuth });

      expect(third.seen('POST').length).toBeGreaterThan(0);
      expectNothingOf(second.bytes());
      expectNothingOf(third.bytes());
    });

    it('gets credentials back when a redirect leads home', async () => {
      const home = await statelessServer({
        before: (exchange) => {
          if (exchange.request.path !== '/mcp' || exchange.message.method === 'tools/call') return false;
          exchange.redirect(307, second.url);
          return true;
        },
      });
      const second: Peer = await peer((exchange) => exchange.redirect(307, `${home.origin}/home`));
      const { toolset } = await connect([secretive(home.url)], { ...over(stack), ...withAuth });

      expect(toolset.servers()).toMatchObject([{ state: 'ready' }]);
      expectNothingOf(second.bytes());
    });

    it('is any other port, scheme or host', async () => {
      const second = await peer((exchange) => exchange.send(404), { host: '127.0.0.1' });
      const first = await peer((exchange) => exchange.redirect(307, `http://localhost:${second.port}/mcp`));
      await connect([secretive(first.url)], { ...over(stack), ...withAuth });

      expect(second.seen('POST').length).toBeGreaterThan(0);
      expectNothingOf(second.bytes());
    });
  });

  describe('our own texts', () => {
    /** Everything that a program could print. */
    const said = ({ diagnostics, toolset }: Connected, ...errors: unknown[]): string =>
      JSON.stringify([
        diagnostics,
        toolset.servers(),
        errors.map((error) => [String(error), (error as { data?: unknown }).data, String((error as Error).cause)]),
      ]);

    it.each<[string, (exchange: Exchange) => void]>([
      ['refuses', (exchange) => exchange.send(401, 'no', { 'www-authenticate': `Bearer error="${SECRET.token}"` })],
      ['fails', (exchange) => exchange.send(500, 'oops')],
      ['redirects without end', (exchange) => exchange.redirect(307, exchange.request.target)],
      ['redirects by 303', (exchange) => exchange.redirect(303, exchange.request.target)],
      ['breaks', (exchange) => exchange.cut()],
      ['is silent', (exchange) => exchange.hang()],
      ['answers something else', (exchange) => exchange.send(200, 'hello', { 'content-type': 'text/plain' })],
    ])('hold no secret when a server %s', async (_what, answer) => {
      const server = await peer(answer);
      const all = await connect(
        [
          secretive(server.url, { timeoutMs: 500 }),
          { ...secretive(server.url, { timeoutMs: 500 }), type: 'sse', name: 'old' },
        ],
        { ...over(stack), ...withAuth },
      );

      expect(all.of('connection-failure')).toHaveLength(2);
      expectNothingOf(said(all));
    });

    it('hold no secret when a host is blocked, unknown or not listening', async () => {
      const server = await peer((exchange) => exchange.hang());
      await server.stop();
      const blocked = await connect([secretive('http://blocked.example/mcp')], {
        ...over(stack),
        ...withAuth,
        allowedHosts: ['x'],
      });
      const closed = await connect([secretive(server.url)], { ...over(stack), ...withAuth });
      const unknown = await connect([secretive('http://no-such-host.invalid/mcp', { timeoutMs: 3000 })], {
        ...over(stack),
        ...withAuth,
      });

      for (const one of [blocked, closed, unknown]) {
        expect(one.of('connection-failure')).toHaveLength(1);
        expectNothingOf(said(one));
      }
    });

    it.each<[string, (exchange: Exchange) => void]>([
      [
        'as an error',
        (exchange) =>
          exchange.error(200, {
            code: -32_000,
            message: `I know ${SECRET.header} and ${SECRET.token} and ${SECRET.password}`,
          }),
      ],
      [
        'in a body',
        (exchange) =>
          exchange.send(500, `I know ${SECRET.header} and ${SECRET.token}`, { 'content-type': 'text/plain' }),
      ],
      [
        'in an address',
        (exchange) => exchange.redirect(303, `/x?key=${SECRET.query}&h=${SECRET.header}&t=${SECRET.token}`),
      ],
    ])('hold no secret that a server gives back %s', async (_how, answer) => {
      const server = await sessionServer({
        before: (exchange) => {
          if (exchange.message.method !== 'initialize') return false;
          answer(exchange);
          return true;
        },
      });
      const all = await connect([secretive(server.url)], { ...over(stack), ...withAuth });

      expect(all.of('connection-failure')).toHaveLength(1);
      expectNothingOf(said(all));
    });

    it('hold no secret when a call fails', async () => {
      const odd: Record<string, (exchange: Exchange) => void> = {
        cut: (exchange) => exchange.cut(),
        text: (exchange) => exchange.send(200, 'hello', { 'content-type': 'text/plain' }),
        away: (exchange) => exchange.redirect(307, `http://localhost:9/?k=${SECRET.query}`),
        see: (exchange) => exchange.redirect(303, `/?k=${SECRET.query}`),
        large: (exchange) => exchange.send(500, SECRET.header.repeat(100)),
        never: (exchange) => exchange.hang(),
      };
      const tools = Object.fromEntries(
        Object.entries(odd).map(([name, answer]) => [name, ({ exchange }: { exchange: Exchange }) => answer(exchange)]),
      );
      const server = await sessionServer({ tools });
      const all = await connect([secretive(server.url)], { ...over(stack), ...withAuth });
      const [id = 'none'] = server.sessions();
      const errors: unknown[] = [];
      for (const name of Object.keys(odd)) {
        errors.push(await rejection(all.toolset.call(`srv__${name}`, { secret: SECRET.argument }, { timeoutMs: 500 })));
      }
      await server.stop();
      errors.push(await rejection(all.toolset.call('srv__cut', { secret: SECRET.argument }, { timeoutMs: 500 })));

      expectNothingOf(said(all, ...errors), [id]);
    });

    it('name no credential of `auth` that was no good', async () => {
      const server = await sessionServer();
      const all = await connect([http(server.url)], {
        ...over(stack),
        session: 's',
        auth: async () => ({ token: `${SECRET.token}\r\nX: 1` }),
      });

      expectNothingOf(said(all));
    });

    it('hold no secret of an `sse` endpoint on another origin', async () => {
      const server = await peer((exchange) => {
        exchange
          .stream()
          .event({ event: 'endpoint', data: `http://u:${SECRET.password}@localhost:9/?k=${SECRET.query}` });
      });
      const all = await connect([sse(server.url)], over(stack));

      expect(all.of('connection-failure')).toHaveLength(1);
      expectNothingOf(said(all));
    });
  });
});
