// Which runtime a request reaches: the whole table, as the rules for many tenants read, over every transport. What is
// expected is worked out from those rules alone.

import {
  createPluggableStdioTransport,
  createSSETransport,
  createWebSocketTransport,
  MCPServer,
  type MCPServerConfig,
  type RuntimeLike,
} from 'espalier/server';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { quiet } from '../helpers/wire.js';
import { asWhoever, clientOf, type Kind, StdioClient } from './clients.js';

const HOOKS = ['none', 'returns', 'returns nothing', 'throws'] as const;
const TENANTS = ['none', 'acme', 'globex', 'hooli'] as const;
const SESSIONS = ['none', 'of acme', 'of globex', 'of nobody', 'unknown'] as const;
const NETWORK: readonly Kind[] = ['streamable-http', 'streamable-http-stateless', 'sse', 'websocket'];

/** How a server is set up. Acme has one session, globex has two, hooli none; one session has no tenant. */
interface Setting {
  readonly hasRuntime: boolean;
  readonly isMultiTenant: boolean;
  /** Whether the transport has a `tenantIdExtractor`. */
  readonly names: boolean;
  readonly hook: (typeof HOOKS)[number];
  readonly allowsUntenanted: boolean;
  /** Whether sessions with a tenant are registered. */
  readonly hasTenants: boolean;
}

/** What a row has to come to. */
type Expected =
  | { runtime: string }
  | 'no runtime is bound'
  | 'Unauthorized'
  | 'HTTP 401'
  | 'an internal error'
  | 'does not start';

/** The rules. */
function expected(setting: Setting, tenant: (typeof TENANTS)[number], session: (typeof SESSIONS)[number]): Expected {
  const isMultiTenant = setting.isMultiTenant || setting.names;
  // There is no fallback runtime then: start() throws if a constructor runtime is set.
  if (isMultiTenant && setting.hasRuntime) return 'does not start';
  // A request the tenantIdExtractor yields nothing for gets HTTP 401.
  if (setting.names && tenant === 'none') return 'HTTP 401';
  const isNobody = tenant === 'none' && session === 'none';
  // In multi-tenant mode a message without a connection identity is refused.
  if (isMultiTenant && isNobody) return 'Unauthorized';
  // 1. A hook, when configured, decides. Returning undefined refuses.
  if (setting.hook === 'returns') return { runtime: 'hook' };
  if (setting.hook === 'returns nothing') return 'Unauthorized';
  if (setting.hook === 'throws') return 'an internal error';
  // 2. Otherwise a sessionId must name a registered session whose tenantId matches the connection's.
  if (session === 'of acme') return setting.hasTenants && tenant === 'acme' ? { runtime: 'acme' } : 'Unauthorized';
  if (session === 'of globex')
    return setting.hasTenants && tenant === 'globex' ? { runtime: 'globex' } : 'Unauthorized';
  // One without a tenantId is refused on a session-only lookup unless that is allowed.
  if (session === 'of nobody')
    return tenant === 'none' && setting.allowsUntenanted ? { runtime: 'nobody' } : 'Unauthorized';
  if (session === 'unknown') return 'Unauthorized';
  // A tenantId alone must match exactly one registered session.
  if (tenant !== 'none') return setting.hasTenants && tenant === 'acme' ? { runtime: 'acme' } : 'Unauthorized';
  // 3. Nobody, on a server whose registry has no tenants, uses the constructor runtime.
  if (setting.hasTenants) return 'Unauthorized';
  return setting.hasRuntime ? { runtime: 'constructor' } : 'no runtime is bound';
}

function runtime(name: string): RuntimeLike {
  return { tools: { list: () => [{ name: `${name}-tool`, execute: () => `of ${name}` }] } };
}

function serverOf({ hasRuntime, hook, allowsUntenanted, hasTenants }: Setting): MCPServer {
  const hooks: Record<typeof hook, MCPServerConfig['resolveRuntime']> = {
    none: undefined,
    returns: () => HOOKED,
    'returns nothing': () => undefined,
    throws: () => {
      throw new Error('the hook threw');
    },
  };
  const resolveRuntime = hooks[hook];
  const server = new MCPServer({
    nativeExecution: true,
    logger: quiet(),
    allowUntenantedSessions: allowsUntenanted,
    ...(hasRuntime ? { runtime: runtime('constructor') } : {}),
    ...(resolveRuntime === undefined ? {} : { resolveRuntime }),
  });
  if (hasTenants) {
    server.registerSession('of acme', runtime('acme'), { tenantId: 'acme' });
    server.registerSession('of globex', runtime('globex'), { tenantId: 'globex' });
    server.registerSession('of globex, too', runtime('globex'), { tenantId: 'globex' });
  }
  server.registerSession('of nobody', runtime('nobody'));
  return server;
}

const HOOKED = runtime('hook');
const BOTH = [false, true];

/** With a hook it makes no difference what is registered and allowed; there the settings most likely to let somebody in are taken. */
const SETTINGS: Setting[] = HOOKS.flatMap((hook) =>
  BOTH.flatMap((hasRuntime) =>
    BOTH.flatMap((isMultiTenant) =>
      BOTH.flatMap((names) => {
        const setting = { hook, hasRuntime, isMultiTenant, names };
        if (hook !== 'none') return [{ ...setting, allowsUntenanted: true, hasTenants: true }];
        return BOTH.flatMap((allowsUntenanted) =>
          BOTH.map((hasTenants) => Object.assign({ allowsUntenanted, hasTenants }, setting)),
        );
      }),
    ),
  ),
);

function nameOf({ hasRuntime, isMultiTenant, names, hook, allowsUntenanted, hasTenants }: Setting): string {
  const facts = [
    hasRuntime ? 'a constructor runtime' : 'no constructor runtime',
    ...(isMultiTenant ? ['multiTenant'] : []),
    ...(names ? ['a tenantIdExtractor'] : []),
    hook === 'none' ? 'no hook' : `a hook that ${hook}`,
    ...(allowsUntenanted ? ['untenanted sessions allowed'] : []),
    ...(hasTenants ? ['tenants registered'] : []),
  ];
  return facts.join(', ');
}

function optionsOf({ isMultiTenant, names }: Setting) {
  return {
    port: 0,
    multiTenant: isMultiTenant,
    sessionIdExtractor: asWhoever.sessionIdExtractor,
    ...(names ? { tenantIdExtractor: asWhoever.tenantIdExtractor } : {}),
  };
}

const UNAUTHORIZED = '{"jsonrpc":"2.0","id":"list","error":{"code":-32001,"message":"Unauthorized"}}';

/** What a client comes to, and that it comes to the same by listing and by calling. */
async function found(client: Awaited<ReturnType<typeof clientOf>>): Promise<Expected> {
  if (client.opened.status === 401) {
    // Nothing but that.
    expect(client.heard.join('\n')).toMatch(/^content-length\n0$/m);
    return 'HTTP 401';
  }
  if (client.opened.error !== undefined && !client.goesOn) {
    // There is no session to ask anything in.
    expect((await client.request('tools/list')).status).toBe(400);
    return refusal(client.opened.error);
  }
  const list = await client.request('tools/list', {}, 'list');
  const { error, result } = list.answer ?? {};
  if (error !== undefined) {
    expect(client.opened.error).toEqual(error.code === -32001 ? error : expect.objectContaining({ code: error.code }));
    // Somebody is there; that is all that is said.
    if (client.answersPing) expect((await client.request('ping')).answer).toHaveProperty('result');
    const call = await client.request('tools/call', { name: 'acme-tool', arguments: {} }, 'list');
    if (error.code === -32001) expect([list.text, call.text]).toEqual([UNAUTHORIZED, UNAUTHORIZED]);
    return refusal(error);
  }
  expect(client.opened.error).toBeUndefined();
  const tools = (result?.['tools'] ?? []) as { name: string }[];
  if (tools.length === 0) {
    const call = await client.request('tools/call', { name: 'any', arguments: {} });
    expect(call.answer?.result).toMatchObject({ isError: true, content: [{ text: 'No runtime bound' }] });
    return 'no runtime is bound';
  }
  expect(tools).toHaveLength(1);
  const reached = (tools[0]?.name ?? '').replace(/-tool$/, '');
  const call = await client.request('tools/call', { name: `${reached}-tool`, arguments: {} });
  expect(call.answer?.result).toMatchObject({ content: [{ text: `of ${reached}` }] });
  return { runtime: reached };
}

function refusal(error: { code: number; message: string }): Expected {
  if (error.code === -32001) {
    expect(error).toEqual({ code: -32001, message: 'Unauthorized' });
    return 'Unauthorized';
  }
  expect(error).toEqual({
    code: -32603,
    message: expect.stringMatching(/^Internal error \(ref [A-Z2-7]{12}\)$/) as string,
  });
  return 'an internal error';
}

describe.each(SETTINGS.map((setting) => ({ setting, name: nameOf(setting) })))('$name', ({ setting }) => {
  if (expected(setting, 'acme', 'none') === 'does not start') {
    it.each(['sse', 'websocket'] as const)('does not start over %s', async (kind) => {
      const transport =
        kind === 'sse' ? createSSETransport(optionsOf(setting)) : createWebSocketTransport(optionsOf(setting));
      await expect(serverOf(setting).start(transport)).rejects.toThrow(/multi-tenant mode has no runtime of its own/);
    });
    return;
  }
  const [http, websocket] = [serverOf(setting), serverOf(setting)];
  beforeAll(async () => {
    await http.start(createSSETransport({ ...optionsOf(setting), streamableHttp: true }));
    await websocket.start(createWebSocketTransport(optionsOf(setting)));
  });
  afterAll(() => Promise.all([http.stop(), websocket.stop()]));

  const rows = TENANTS.filter((tenant) => setting.names || tenant === 'none').flatMap((tenant) =>
    SESSIONS.flatMap((session) =>
      NETWORK.map((kind) => ({ kind, tenant, session, comes: expected(setting, tenant, session) })),
    ),
  );
  it.each(
    rows.map((row) =>
      Object.assign({ to: typeof row.comes === 'string' ? row.comes : `the runtime of ${row.comes.runtime}` }, row),
    ),
  )('over $kind, tenant $tenant, session $session: $to', async ({ kind, tenant, session, comes }) => {
    const port = (kind === 'websocket' ? websocket : http).getTransport()?.port;
    const client = await clientOf(kind, port, {
      ...(tenant === 'none' ? {} : { 'x-tenant': tenant }),
      ...(session === 'none' ? {} : { 'x-session': session }),
    });
    try {
      expect(await found(client)).toEqual(comes);
    } finally {
      await client.close();
    }
  });

  // Nothing of a port is there: its client is nobody. What a server was on a port before does not count.
  if (setting.names || setting.isMultiTenant) return;
  it('over stdio', async () => {
    const server = serverOf(setting);
    const client = new StdioClient();
    await server.start(createPluggableStdioTransport({ input: client.input, output: client.output }));
    try {
      expect(await found(await client.open())).toEqual(expected(setting, 'none', 'none'));
    } finally {
      await server.stop();
    }
  });
});

it('has as many rows as there are combinations', () => {
  expect(SETTINGS).toHaveLength(2 ** 5 + 3 * 2 ** 3);
});

describe('a server that was one for many tenants, and goes on over stdio', () => {
  it('serves nobody of its tenants there', async () => {
    const setting: Setting = {
      hasRuntime: false,
      isMultiTenant: true,
      names: false,
      hook: 'none',
      allowsUntenanted: true,
      hasTenants: true,
    };
    const server = serverOf(setting);
    await server.start(createWebSocketTransport(optionsOf(setting)));
    await server.stop();
    const input = new PassThrough();
    const client = new StdioClient(input);
    await server.start(createPluggableStdioTransport({ input, output: client.output }));
    try {
      expect(await found(await client.open())).toBe('Unauthorized');
    } finally {
      await server.stop();
    }
  });
});

describe.each(['streamable-http', 'sse'] as const)('a session over %s', (kind) => {
  it('is not there for another tenant, in the same bytes as one that is not there at all', async () => {
    const server = new MCPServer({ logger: quiet() });
    for (const tenantId of ['acme', 'globex']) server.registerSession(tenantId, runtime(tenantId), { tenantId });
    await server.start(
      createSSETransport({ port: 0, streamableHttp: true, tenantIdExtractor: asWhoever.tenantIdExtractor }),
    );
    const port = server.getTransport()?.port;
    const acme = await clientOf(kind, port, { 'x-tenant': 'acme' });
    try {
      const id = acme.sessionId ?? '';
      expect(id).toMatch(/.{20}/);
      const sent = async (tenant: string | undefined, session: string): Promise<string> => {
        const url = kind === 'sse' ? `/messages?sessionId=${session}` : '/mcp';
        const response = await fetch(`http://127.0.0.1:${port}${url}`, {
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            accept: 'application/json, text/event-stream',
            ...(kind === 'sse' ? {} : { 'mcp-session-id': session }),
            ...(tenant === undefined ? {} : { 'x-tenant': tenant }),
          },
          body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
        });
        const headers = [...response.headers].filter(([name]) => name !== 'date');
        return JSON.stringify([response.status, headers, await response.text()]);
      };
      const unknown = `${id.slice(0, -3)}zzz`;
      const others = await sent('globex', id);
      expect(others).toBe(await sent('globex', unknown));
      expect(others).toBe(await sent('acme', unknown));
      expect(JSON.parse(others)[0]).toBe(404);
      expect(JSON.parse(await sent(undefined, id))[0]).toBe(401);
      expect(await sent(undefined, id)).toBe(await sent(undefined, unknown));
      expect(JSON.parse(await sent('acme', id))[0]).toBeLessThan(300);
    } finally {
      await acme.close();
      await server.stop();
    }
  });
});
