// A protected server: who is let in, what others are told, and what the program learns of whoever calls.

import { type KeyObject, generateKeyPairSync, sign } from 'node:crypto';
import { once } from 'node:events';
import { type Server, createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';

import { McpError, mcpTools } from 'espalier';
import {
  type AuthInfo,
  MCPServer,
  type NetworkRequest,
  type TransportAuth,
  createJwtVerifier,
  createStreamableHttpTransport,
} from 'espalier/server';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { quiet } from '../helpers/wire.js';

const RESOURCE = 'https://mcp.example/api/mcp';
const METADATA = 'https://mcp.example/.well-known/oauth-protected-resource/api/mcp';
const HINT = `resource_metadata="${METADATA}", scope="tides:read"`;

interface Signer {
  kid: string;
  key: KeyObject;
  jwk: object;
}

function signer(kid: string): Signer {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return { kid, key: privateKey, jwk: { ...publicKey.export({ format: 'jwk' }), kid, use: 'sig' } };
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

const ours = signer('ours');
let issuer: Server;
let issuerUrl: string;

beforeAll(async () => {
  issuer = createServer((_request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ keys: [ours.jwk] }));
  });
  issuer.listen(0, '127.0.0.1');
  await once(issuer, 'listening');
  issuerUrl = `http://127.0.0.1:${(issuer.address() as AddressInfo).port}`;
});

afterAll(() => {
  issuer.close();
});

function token(claims: object = {}, by = ours, header: object = {}): string {
  const all = {
    iss: issuerUrl,
    aud: RESOURCE,
    sub: 'ada',
    client_id: 'app',
    scope: 'tides:read',
    exp: Math.floor(Date.now() / 1000) + 600,
    ...claims,
  };
  const message = `${encode({ alg: 'ES256', kid: by.kid, ...header })}.${encode(all)}`;
  const signature = sign('sha256', Buffer.from(message), { key: by.key, dsaEncoding: 'ieee-p1363' });
  return `${message}.${signature.toString('base64url')}`;
}

function jwtVerifier(jwks: string | { keys: object[] } = `${issuerUrl}/jwks`) {
  return createJwtVerifier({ issuer: issuerUrl, audience: RESOURCE, jwks });
}

interface Served extends AsyncDisposable {
  url: string;
  port: number;
  logged: string[];
}

/** A server with the tool `whoami`, which gives what it knows of its caller. */
async function serve(auth: Partial<TransportAuth> = {}, more: object = {}): Promise<Served> {
  const logger = quiet();
  const server = new MCPServer({ name: 'tides', logger });
  server.register({
    name: 'whoami',
    description: 'who calls',
    inputSchema: { type: 'object' },
    handler: (_args, context) => {
      const { token: _secret, ...known } = context.auth as AuthInfo;
      return { ...known, tenantId: context.tenantId };
    },
  });
  if ('tenantIdExtractor' in more) server.registerSession('acme', {}, { tenantId: 'acme' });
  const transport = createStreamableHttpTransport({
    port: 0,
    auth: {
      verify: jwtVerifier(),
      resource: RESOURCE,
      authorizationServers: ['https://id.example'],
      scopes: ['tides:read'],
      metadata: { resource_name: 'Tides' },
      ...auth,
    },
    ...more,
  });
  await server.start(transport);
  const port = transport.port ?? 0;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    port,
    logged: logger.lines,
    [Symbol.asyncDispose]: () => server.stop(),
  };
}

async function initialize(url: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '0' } },
    }),
  });
}

async function refusalOf(url: string, authorization?: string): Promise<[number, string | null, string]> {
  const response = await initialize(url, authorization === undefined ? {} : { authorization });
  return [response.status, response.headers.get('www-authenticate'), await response.text()];
}

describe('a protected server', () => {
  it('publishes where its tokens come from, to anybody, at the root and under its path', async () => {
    await using server = await serve();
    for (const path of ['', '/mcp', '/api/mcp']) {
      const at = new URL(`/.well-known/oauth-protected-resource${path}`, server.url);
      const response = await fetch(at);
      expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json']);
      expect(await response.json()).toEqual({
        resource: RESOURCE,
        authorization_servers: ['https://id.example'],
        scopes_supported: ['tides:read'],
        bearer_methods_supported: ['header'],
        resource_name: 'Tides',
      });
      expect((await fetch(at, { method: 'POST' })).status).toBe(405);
    }
    expect((await fetch(new URL('/.well-known/oauth-protected-resource/other', server.url))).status).toBe(404);
  });

  it('tells who has no token where to get one, and takes none from the query', async () => {
    await using server = await serve();
    const challenge = [401, `Bearer ${HINT}`, ''];
    expect(await refusalOf(server.url)).toEqual(challenge);
    expect(await refusalOf(server.url, 'Basic YTpi')).toEqual(challenge);
    expect(await refusalOf(`${server.url}?access_token=${token()}`)).toEqual(challenge);
    const get = await fetch(server.url, { headers: { accept: 'text/event-stream' } });
    expect([get.status, get.headers.get('www-authenticate')]).toEqual([401, `Bearer ${HINT}`]);
  });

  it('refuses two credentials, and one that can be no token', async () => {
    await using server = await serve();
    const malformed = `Bearer error="invalid_request", ${HINT}`;
    expect(await refusalOf(server.url, `Bearer ${token()} x`)).toEqual([400, malformed, '']);
    const socket = connect(server.port, '127.0.0.1');
    const bearer = `Authorization: Bearer ${token()}\r\n`;
    socket.write(
      `POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n${bearer}${bearer}Connection: close\r\nContent-Length: 0\r\n\r\n`,
    );
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 /);
  });

  it('refuses tokens that are not good, and repeats nothing of them', async () => {
    await using server = await serve();
    const now = Math.floor(Date.now() / 1000);
    const good = token();
    const bad = {
      expired: token({ exp: now - 60 }),
      'without an end': token({ exp: undefined }),
      'of tomorrow': token({ nbf: now + 86_400 }),
      'of another issuer': token({ iss: 'https://evil.example' }),
      'for another server': token({ aud: 'https://other.example' }),
      'signed by somebody else': token({}, { ...signer('x'), kid: 'ours' }),
      'of an unknown key': token({}, signer('unknown')),
      'without a signature': `${encode({ alg: 'none' })}.${good.split('.')[1]}.`,
      'with a shared secret': token({}, ours, { alg: 'HS256' }),
      forged: good.replace(/\.[^.]+\./, `.${encode({ iss: issuerUrl, aud: RESOURCE, sub: 'eve', exp: now + 600 })}.`),
      opaque: 'opaque',
      endless: `${'a'.repeat(20_000)}.b.c`,
    };
    for (const [name, value] of Object.entries(bad)) {
      const refusal = await refusalOf(server.url, `Bearer ${value}`);
      expect(refusal, name).toEqual([401, `Bearer error="invalid_token", ${HINT}`, '']);
    }
    expect(server.logged).toEqual([]);
  });

  it('says which scopes are missing', async () => {
    await using server = await serve();
    const refusal = await refusalOf(server.url, `Bearer ${token({ scope: 'tides:write' })}`);
    expect(refusal).toEqual([403, `Bearer error="insufficient_scope", ${HINT}`, '']);
  });

  it('lets a good token in: handlers and extractors know whose it is', async () => {
    const tenantOf = ({ auth }: NetworkRequest): string => auth?.extra?.['tenant'] as string;
    await using server = await serve({}, { tenantIdExtractor: tenantOf });
    const response = await initialize(server.url, { authorization: `bEARER ${token({ tenant: 'acme' })}` });
    expect(response.status).toBe(200);
    await using toolset = await mcpTools([{ type: 'streamable-http', name: 'tides', url: server.url }], {
      session: 'one',
      auth: () => ({ token: token({ tenant: 'acme' }) }),
    });
    expect(await toolset.call('tides__whoami', {})).toMatchObject({
      clientId: 'app',
      subject: 'ada',
      scopes: ['tides:read'],
      extra: { iss: issuerUrl, tenant: 'acme' },
      tenantId: 'acme',
    });
    // A good token that names no tenant.
    expect(await refusalOf(server.url, `Bearer ${token()}`)).toEqual([401, `Bearer ${HINT}`, '']);
  });

  it('keeps a session for whoever opened it, also with a renewed token', async () => {
    await using server = await serve();
    const opened = await initialize(server.url, { authorization: `Bearer ${token()}` });
    const id = opened.headers.get('mcp-session-id') ?? '';
    expect(id).not.toBe('');
    const call = async (bearer: string): Promise<[number, string]> => {
      const response = await fetch(server.url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          authorization: `Bearer ${bearer}`,
          'mcp-session-id': id,
        },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 2,
          method: 'tools/call',
          params: { name: 'whoami', arguments: {} },
        }),
      });
      return [response.status, await response.text()];
    };
    // What a handler learns is what its own request says.
    const [status, answer] = await call(token({ scope: 'tides:read tides:write' }));
    expect(status).toBe(200);
    expect(answer).toContain('tides:write');
    expect((await call(token()))[1]).not.toContain('tides:write');
    expect((await call(token({ sub: 'eve' })))[0]).toBe(404);
    expect((await call(token({ exp: 1 })))[0]).toBe(401);
  });

  it('lets nobody in when its verifier throws, hangs or gives nonsense, and logs no token', async () => {
    const failing: Record<string, TransportAuth['verify']> = {
      throws: () => {
        throw new Error('the database is away');
      },
      rejects: () => Promise.reject(new Error('the database is away')),
      'gives a text': () => 'ada' as unknown as AuthInfo,
      'gives an old one': () => ({ token: '', scopes: ['tides:read'], expiresAt: 1 }),
    };
    for (const [name, verify] of Object.entries(failing)) {
      await using server = await serve({ verify });
      const refusal = await refusalOf(server.url, 'Bearer s3cret-t0ken');
      expect(refusal, name).toEqual([401, `Bearer error="invalid_token", ${HINT}`, '']);
      expect(server.logged.length, name).toBe(name === 'gives an old one' ? 0 : 1);
      expect(server.logged.join('')).not.toContain('s3cret');
    }
    await using server = await serve({ verify: () => new Promise(() => {}) }, { headerTimeoutMs: 100 });
    expect((await refusalOf(server.url, 'Bearer s3cret-t0ken'))[0]).toBe(401);
  });

  it('refuses options that are wrong, by name', () => {
    const auth = { verify: () => undefined, resource: RESOURCE, authorizationServers: ['https://id.example'] };
    const wrong: [object | string, RegExp][] = [
      ['yes', /^auth must be an object/],
      [{ ...auth, verify: undefined }, /^auth\.verify must be a function/],
      [{ ...auth, verify: 'jwt' }, /^auth\.verify must be a function/],
      [{ ...auth, resource: '/mcp' }, /^auth\.resource must be/],
      [{ ...auth, authorizationServers: [] }, /^auth\.authorizationServers must be/],
      [{ ...auth, scopes: ['a b'] }, /^auth\.scopes must be/],
      [{ ...auth, metadata: { resource: 'x' } }, /^auth\.metadata must not have resource/],
      [{ ...auth, scope: 'a' }, /^auth: there is no option "scope"/],
    ];
    for (const [option, message] of wrong) {
      const create = (): unknown => createStreamableHttpTransport({ port: 0, auth: option as TransportAuth });
      expect(create).toThrow(TypeError);
      expect(create).toThrow(message);
    }
  });
});

describe('createJwtVerifier', () => {
  it('judges with keys that are given, and gives nothing for others', async () => {
    const given = jwtVerifier({ keys: [ours.jwk] });
    const good = token();
    expect(await given(good)).toMatchObject({ token: good, subject: 'ada' });
    expect(await given(token({}, signer('other')))).toBeUndefined();
    expect(await given('')).toBeUndefined();
  });

  it('rejects when there are no keys to judge with', async () => {
    const closed = createServer().listen(0, '127.0.0.1');
    await once(closed, 'listening');
    const { port } = closed.address() as AddressInfo;
    closed.close();
    await once(closed, 'close');
    const verify = jwtVerifier(`http://127.0.0.1:${port}/jwks`);
    const failure = await verify(token()).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(McpError);
    expect(failure).toMatchObject({ code: 'connection-lost' });
  });

  it('refuses options that are wrong, by name', () => {
    const options = { issuer: 'https://id.example', audience: RESOURCE, jwks: 'https://id.example/jwks' };
    for (const [name, value] of [
      ['issuer', ''],
      ['audience', []],
      ['jwks', 'http://id.example/jwks'],
      ['jwks', { keys: [{ kty: 'oct', k: 'AAAA' }] }],
      ['algorithms', ['none']],
    ] as const) {
      const create = (): unknown => createJwtVerifier({ ...options, [name]: value });
      expect(create).toThrow(TypeError);
      expect(create).toThrow(name);
    }
  });
});
