// Several tenants on one server: each has its own runtime, and nothing of another.

import {
  adaptHarnessArtifacts,
  createStreamableHttpTransport,
  MCPServer,
  type MCPServerConfig,
  type MCPTransport,
  type RuntimeLike,
  type StreamableHttpTransportOptions,
} from 'espalier/server';
import { describe, expect, it, onTestFinished } from 'vitest';

import { post, type Reply } from '../helpers/posted.js';
import { type Json, quiet } from '../helpers/wire.js';

/** A runtime with a tool, and an artifact, that name their tenant. */
function runtimeOf(tenant: string, tools: string[] = [`${tenant}-tool`]): RuntimeLike {
  return {
    tools: { list: () => tools.map((name) => ({ name, execute: (_args, { tenantId }) => `${tenant} ${tenantId}` })) },
    artifacts: {
      list: async () => [{ chatId: tenant, artifactId: 'plan' }],
      read: async ({ tenantId }) => ({ text: `${tenant} ${tenantId}` }),
    },
  };
}

const acme = runtimeOf('acme');
const globex = runtimeOf('globex');

async function started(
  set: (server: MCPServer) => void,
  config: MCPServerConfig = {},
  options: Omit<Partial<StreamableHttpTransportOptions>, 'port'> = {
    tenantIdExtractor: ({ headers }) => headers['x-tenant'],
  },
) {
  const logger = quiet();
  const server = new MCPServer({ nativeExecution: true, logger, ...config });
  set(server);
  const transport = createStreamableHttpTransport({ port: 0, ...options });
  await server.start(transport);
  onTestFinished(() => server.stop());
  const as = (tenant: string, method: string, params?: Json): Promise<Reply> =>
    post(transport, method, params, { 'x-tenant': tenant });
  return { server, transport, logger, as };
}

function both(server: MCPServer): void {
  server.registerSession('session-a', acme, { tenantId: 'acme' });
  server.registerSession('session-g', globex, { tenantId: 'globex' });
}

const names = ({ result }: Reply, key: string, member = 'name'): unknown[] =>
  ((result ?? {})[key] as Json[]).map((entry) => entry[member]);

describe('a tenant', () => {
  it('sees the tools of its runtime and those that are registered, and calls them', async () => {
    const told: unknown[] = [];
    const { as } = await started((server) => {
      both(server);
      server.register({
        name: 'shared',
        inputSchema: {},
        handler: (_args, { runtime, tenantId, sessionId }) => {
          told.push({ runtime, tenantId, sessionId });
          return 'ran';
        },
      });
      server.register({ name: 'scoped', inputSchema: {}, handler: () => 'ran' }, { tenantScoped: true });
    });
    for (const [tenant, runtime] of [
      ['acme', acme],
      ['globex', globex],
    ] as const) {
      expect(names(await as(tenant, 'tools/list'), 'tools').toSorted()).toEqual(
        ['scoped', 'shared', `${tenant}-tool`].toSorted(),
      );
      expect((await as(tenant, 'tools/call', { name: `${tenant}-tool` })).result).toMatchObject({
        content: [{ text: `${tenant} ${tenant}` }],
      });
      expect((await as(tenant, 'tools/call', { name: 'scoped' })).result).toMatchObject({ content: [{ text: 'ran' }] });
      await as(tenant, 'tools/call', { name: 'shared' });
      expect(told.pop()).toEqual({ runtime, tenantId: tenant, sessionId: undefined });
    }
  });

  it('cannot call what another one has, which is as unknown as anything else', async () => {
    const { as } = await started(both);
    const other = await as('acme', 'tools/call', { name: 'globex-tool' });
    const unknown = await as('acme', 'tools/call', { name: 'no-such-tool' });
    expect(other.error).toMatchObject({ code: -32602 });
    expect(other.text.replaceAll('globex-tool', 'no-such-tool')).toBe(unknown.text);
  });

  it('that is unknown, ambiguous, or nobody, is refused', async () => {
    const { as, transport } = await started((server) => {
      both(server);
      server.registerSession('second', {}, { tenantId: 'globex' });
    });
    const refusals = await Promise.all([as('initech', 'tools/list'), as('globex', 'tools/list')]);
    for (const { status, error } of refusals) {
      expect({ status, error }).toEqual({ status: 200, error: { code: -32001, message: 'Unauthorized' } });
    }
    expect((await post(transport, 'tools/list')).status).toBe(401);
    expect((await as('acme', 'tools/list')).error).toBeUndefined();
  });

  it('whose runtime has a tool that is registered, too, gets an error, and others do not', async () => {
    const { as } = await started((server) => {
      server.registerSession('a', runtimeOf('acme', ['clash']), { tenantId: 'acme' });
      server.registerSession('g', globex, { tenantId: 'globex' });
      server.register({ name: 'clash', inputSchema: {}, handler: () => 'registered' });
    });
    for (const [method, params] of [
      ['tools/list', {}],
      ['tools/call', { name: 'clash' }],
    ] as const) {
      expect((await as('acme', method, params)).error).toMatchObject({ code: -32603 });
    }
    expect((await as('globex', 'tools/call', { name: 'clash' })).result).toMatchObject({
      content: [{ text: 'registered' }],
    });
  });

  it('has resources of its own, from a provider for each request', async () => {
    const { as } = await started((server) => {
      both(server);
      server.registerResources((context) => adaptHarnessArtifacts(context!.runtime), { perRequest: true });
    });
    expect(names(await as('acme', 'resources/list'), 'resources', 'uri')).toEqual(['pleach://artifact/acme/plan']);
    expect(names(await as('globex', 'resources/list'), 'resources', 'uri')).toEqual(['pleach://artifact/globex/plan']);
    expect((await as('acme', 'resources/read', { uri: 'pleach://artifact/acme/plan' })).result).toMatchObject({
      contents: [{ text: 'acme acme' }],
    });
    expect((await as('acme', 'resources/read', { uri: 'pleach://artifact/globex/plan' })).error).toMatchObject({
      code: -32602,
    });
  });

  it('sees what is visible to it', async () => {
    const { as } = await started((server) => {
      both(server);
      server.registerPrompt({ name: 'secret', visibleTo: ({ tenantId }) => tenantId === 'acme', handler: () => 'x' });
    });
    expect(names(await as('acme', 'prompts/list'), 'prompts')).toEqual(['secret']);
    expect(names(await as('globex', 'prompts/list'), 'prompts')).toEqual([]);
    expect((await as('globex', 'prompts/get', { name: 'secret' })).error).toMatchObject({ code: -32602 });
  });

  it('may be named like a member of a prototype', async () => {
    const tenants = ['__proto__', 'constructor', 'toString'];
    const { as } = await started((server) => {
      for (const tenant of tenants) server.registerSession(tenant, runtimeOf(tenant), { tenantId: tenant });
    });
    for (const tenant of tenants) expect(names(await as(tenant, 'tools/list'), 'tools')).toEqual([`${tenant}-tool`]);
    expect((await as('valueOf', 'tools/list')).error).toMatchObject({ code: -32001 });
  });
});

describe('a hook', () => {
  it('decides for each tenant, and may make a runtime for each request', async () => {
    const asked: unknown[] = [];
    const { as } = await started(() => {}, {
      resolveRuntime: async (request) => {
        asked.push(request);
        return request.tenantId === 'acme' ? runtimeOf('acme') : undefined;
      },
    });
    expect((await as('acme', 'tools/call', { name: 'acme-tool' })).result).toMatchObject({
      content: [{ text: 'acme acme' }],
    });
    expect((await as('globex', 'tools/list')).error).toEqual({ code: -32001, message: 'Unauthorized' });
    expect(asked).toEqual([
      { connectionId: expect.any(String) as string, tenantId: 'acme', sessionId: undefined },
      { connectionId: expect.any(String) as string, tenantId: 'globex', sessionId: undefined },
    ]);
  });
});

describe('a session', () => {
  const options = {
    sessionIdExtractor: ({ headers }: { headers: Readonly<Record<string, string | undefined>> }) =>
      headers['x-session'],
  };
  const inSession = (transport: MCPTransport, session: string): Promise<Reply> =>
    post(transport, 'tools/list', {}, { 'x-session': session });

  it('is reached by its id where that was allowed, or where its tenant is the connection’s', async () => {
    const set = (server: MCPServer): void => server.registerSession('s', acme);
    const refusing = await started(set, {}, options);
    expect((await inSession(refusing.transport, 's')).error).toMatchObject({ code: -32001 });
    const allowing = await started(set, { allowUntenantedSessions: true }, options);
    expect(names(await inSession(allowing.transport, 's'), 'tools')).toEqual(['acme-tool']);
    expect((await inSession(allowing.transport, 'other')).error).toMatchObject({ code: -32001 });
  });
});

describe('what is thrown', () => {
  const secret = Object.assign(new Error('db 10.0.0.5 pw=hunter2'), { code: -32001, data: { pw: 'hunter2' } });
  const fail = (): never => {
    throw secret;
  };

  it('reaches no client on a port, and the log under its reference', async () => {
    const { as, logger } = await started((server) => {
      both(server);
      server.register({ name: 'throws', inputSchema: {}, handler: fail });
      server.registerResource({ uri: 'memo://a', name: 'a', handler: fail });
      server.registerPrompt({ name: 'a', handler: fail });
      server.registerCompletion(fail);
    });
    const tool = await as('acme', 'tools/call', { name: 'throws' });
    expect(tool.result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(/^Tool failed \(ref [A-Z2-7]{12}\)$/) as string }],
    });
    const ref = { type: 'ref/prompt', name: 'a' };
    const others = [
      await as('acme', 'resources/read', { uri: 'memo://a' }),
      await as('acme', 'prompts/get', { name: 'a' }),
      await as('acme', 'completion/complete', { ref, argument: { name: 'x', value: '' } }),
    ];
    for (const { error } of others) {
      expect(error).toEqual({
        code: -32603,
        message: expect.stringMatching(/^Internal error \(ref [A-Z2-7]{12}\)$/) as string,
      });
    }
    const references = [tool, ...others].map(({ text }) => /ref ([A-Z2-7]{12})/.exec(text)?.[1]);
    expect(new Set(references).size).toBe(4);
    for (const reply of [tool, ...others]) expect(reply.text).not.toContain('hunter2');
    for (const [index, reference] of references.entries()) {
      expect(logger.lines[index]).toContain(reference);
      expect(logger.lines[index]).toContain('hunter2');
    }
  });

  it('by a hook is no different', async () => {
    const { as, logger } = await started(() => {}, { resolveRuntime: fail });
    const reply = await as('acme', 'tools/list');
    expect(reply.error).toMatchObject({ code: -32603 });
    expect(reply.text).not.toContain('hunter2');
    expect(logger.lines.join()).toContain('hunter2');
  });

  it('is not what a tool gives on purpose', async () => {
    const { as } = await started((server) => {
      both(server);
      server.register({ name: 'fails', inputSchema: {}, handler: () => ({ success: false, error: 'no luck today' }) });
    });
    expect((await as('acme', 'tools/call', { name: 'fails' })).result).toMatchObject({
      isError: true,
      content: [{ text: 'no luck today' }],
    });
  });
});

describe('a server for many tenants', () => {
  it.each([
    ['a tenantIdExtractor', { tenantIdExtractor: () => 'acme' }],
    ['multiTenant', { multiTenant: true }],
  ])('does not start with a constructor runtime: %s', async (_, options) => {
    const server = new MCPServer({ runtime: {} });
    await expect(server.start(createStreamableHttpTransport({ port: 0, ...options }))).rejects.toThrow(/runtime/);
    expect(server.isStarted()).toBe(false);
  });
});
