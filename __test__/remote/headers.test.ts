// Which headers go out, and whose they are.

import { describe, expect, it } from 'vitest';

import { sessionServer, statelessServer } from '../fixtures/http/mcp.js';
import { connect } from '../helpers/connect.js';
import { http, over, overBoth, sse } from '../helpers/remote.js';
import { rejection } from '../helpers/errors.js';
import { sseServer } from '../fixtures/http/mcp.js';

overBoth((stack) => {
  describe('a configured header', () => {
    it('goes with every request of a session: POST, GET, DELETE and notifications', async () => {
      const server = await sessionServer({ get: 'stream' });
      const { toolset } = await connect(
        [http(server.url, { headers: { 'X-Tenant': 'tenant-one', authorization: 'Basic configured' } })],
        over(stack),
      );
      await server.stream();
      await toolset.call('srv__echo', {});
      await toolset.close();

      const kinds = server.seen().map(({ method, message }) => message.method ?? method);
      expect(new Set(kinds)).toEqual(
        new Set([
          'server/discover',
          'initialize',
          'notifications/initialized',
          'GET',
          'tools/list',
          'tools/call',
          'DELETE',
        ]),
      );
      expect(server.seen().map((one) => one.header('x-tenant'))).toEqual(kinds.map(() => 'tenant-one'));
      expect(server.seen().map((one) => one.header('authorization'))).toEqual(kinds.map(() => 'Basic configured'));
    });

    it('goes with every request of HTTP+SSE', async () => {
      const server = await sseServer();
      const { toolset } = await connect([sse(server.sseUrl, { headers: { 'X-Tenant': 'tenant-one' } })], over(stack));
      await toolset.call('srv__echo', {});

      expect(server.seen().map(({ method }) => method)).toContain('GET');
      expect(server.seen().map((one) => one.header('x-tenant'))).toEqual(server.seen().map(() => 'tenant-one'));
    });

    it.each([
      ['Host', 'elsewhere.example'],
      ['Content-Length', '3'],
      ['Connection', 'close'],
      ['Transfer-Encoding', 'identity'],
      ['Mcp-Session-Id', 'mine'],
      ['mcp-method', 'mine'],
      ['MCP-Protocol-Version', '1999-01-01'],
      ['Mcp-Param-Region', 'mine'],
      ['Mcp-Anything', 'mine'],
      ['Accept', 'text/html'],
      ['content-type', 'text/plain'],
    ])('%s is ours to set: it is ignored and reported', async (name, value) => {
      const server = await sessionServer();
      const { toolset, of } = await connect([http(server.url, { headers: { [name]: value } })], over(stack));

      await expect(toolset.call('srv__echo', {})).resolves.toBe('{}');
      expect(of('header-ignored')).toEqual([
        {
          section: '7.2.1',
          rule: 'header-ignored',
          origin: 'srv',
          message: expect.stringMatching(new RegExp(name, 'i')),
        },
      ]);
      for (const request of server.seen()) expect(request.header(name)).not.toBe(value);
    });

    it.each([
      ['a line break', 'one\r\nX-Injected: two'],
      ['a line feed', 'one\nX-Injected: two'],
      ['a NUL', 'one\0two'],
    ])('with %s in its value is refused, and its value is not shown', async (_what, value) => {
      const server = await sessionServer();
      const connected = connect([http(server.url, { headers: { 'X-Key': `secretive-${value}` } })], over(stack));
      const said = await connected.then(
        ({ diagnostics }) => JSON.stringify(diagnostics),
        (error: unknown) => String(error),
      );

      expect(said).toMatch(/x-key/i);
      expect(said).not.toContain('secretive');
      expect(server.seen()).toEqual([]);
    });

    it.each(['', 'two words', 'colon:', 'ümlaut', 'line\nbreak'])('of the name "%s" is refused', async (name) => {
      const server = await sessionServer();
      const connected = connect([http(server.url, { headers: { [name]: 'secretive' } })], over(stack));
      const said = await connected.then(
        ({ of }) => of('connection-failure').map(String).join(''),
        (error: unknown) => String(error),
      );

      expect(said).not.toBe('');
      expect(said).not.toContain('secretive');
      expect(server.seen()).toEqual([]);
    });
  });

  describe('credentials', () => {
    it('in a URL are sent as Basic ones', async () => {
      const server = await sessionServer();
      const url = new URL(server.url);
      url.username = 'user@corp';
      url.password = 'p:w/d';
      const { toolset } = await connect([http(url.href)], over(stack));
      await toolset.call('srv__echo', {});

      const basic = `Basic ${Buffer.from('user@corp:p:w/d').toString('base64')}`;
      expect(server.seen().map((one) => one.header('authorization'))).toEqual(server.seen().map(() => basic));
    });

    it('in a URL stand below a configured header', async () => {
      const server = await sessionServer();
      const url = server.url.replace('http://', 'http://user:pw@');
      await connect([http(url, { headers: { AUTHORIZATION: 'Basic configured' } })], over(stack));

      expect(server.seen().map((one) => one.header('authorization'))).toEqual(
        server.seen().map(() => 'Basic configured'),
      );
    });

    it('of `auth` stand above both', async () => {
      const server = await sessionServer();
      const url = server.url.replace('http://', 'http://user:pw@');
      await connect([http(url, { headers: { Authorization: 'Basic configured' } })], {
        ...over(stack),
        session: 's',
        auth: async () => ({ token: 'token-of-auth' }),
      });

      expect(server.seen().map((one) => one.header('authorization'))).toEqual(
        server.seen().map(() => 'Bearer token-of-auth'),
      );
    });
  });

  describe('the headers of the protocol', () => {
    it('are those of a POST, to the letter', async () => {
      const server = await statelessServer();
      const { toolset } = await connect([http(server.url)], over(stack));
      await toolset.call('srv__echo', {});

      for (const request of server.seen('POST')) {
        expect(request.header('content-type')).toBe('application/json');
        expect(
          request
            .header('accept')
            ?.split(/\s*,\s*/)
            .toSorted(),
        ).toEqual(['application/json', 'text/event-stream']);
      }
    });

    it('are sent once each', async () => {
      const server = await sessionServer({ get: 'stream' });
      const { toolset } = await connect([http(server.url, { headers: { 'x-one': '1' } })], {
        ...over(stack),
        session: 's',
        auth: async () => ({ token: 'token-of-auth' }),
      });
      await server.stream();
      await toolset.call('srv__echo', {});
      await toolset.close();

      for (const { headers } of server.seen()) {
        const names = headers.map(([name]) => name.toLowerCase());
        expect(names).toEqual([...new Set(names)]);
      }
    });
  });

  it('a URL that is none, or of another scheme, is refused before anything is started', async () => {
    for (const url of [
      '',
      'nowhere',
      '/mcp',
      'ftp://127.0.0.1/mcp',
      'file:///etc/passwd',
      'http://',
      'ws://127.0.0.1/',
    ]) {
      const said = await connect([http(url)], over(stack)).then(
        ({ of }) => of('connection-failure').length,
        (error: unknown) => (error as { code: string }).code,
      );
      expect([1, 'invalid-option']).toContain(said);
    }
    await rejection(connect([{ type: 'websocket', name: 'srv', url: 'ws://127.0.0.1/' } as never], over(stack)));
  });
});
