// Sessions that change hands, runtimes that are shared, and hooks that change their mind: who has asked keeps its answer,
// and who asks next reaches what is its own now.

import {
  adaptHarnessArtifacts,
  createSSETransport,
  createWebSocketTransport,
  MCPServer,
  type MCPServerConfig,
  type RuntimeLike,
} from 'espalier/server';
import { describe, expect, it, onTestFinished } from 'vitest';

import { until } from '../helpers/until.js';
import { quiet } from '../helpers/wire.js';
import { asWhoever, type Client, clientOf, type Kind } from './clients.js';

const KINDS: Kind[] = ['streamable-http', 'streamable-http-stateless', 'sse', 'websocket'];

const UNAUTHORIZED = { code: -32001, message: 'Unauthorized' };

/** Calls that run until they are released, by tenant. */
interface Running {
  readonly calls: Map<string, () => void>;
}

function runtimeOf(name: string, running: Running): RuntimeLike {
  const list = () => [
    {
      name: `tool-of-${name}`,
      execute: (_args: unknown, { tenantId }: { tenantId?: string | undefined }) => `${name} for ${tenantId}`,
    },
    {
      name: 'wait',
      execute: (_args: unknown, { tenantId, signal }: { tenantId?: string | undefined; signal: AbortSignal }) =>
        new Promise((resolve) => {
          signal.addEventListener('abort', () => resolve('aborted'));
          running.calls.set(String(tenantId), () => resolve(`${name} waited for ${tenantId}`));
        }),
    },
  ];
  return {
    tools: { list },
    artifacts: {
      list: async ({ tenantId }) => [{ chatId: name, artifactId: `plan for ${tenantId}` }],
      read: async ({ tenantId }) => ({ text: `${name} for ${tenantId}` }),
    },
  };
}

async function started(kind: Kind, set: (server: MCPServer) => void, config: MCPServerConfig = {}) {
  const server = new MCPServer({ nativeExecution: true, logger: quiet(), ...config });
  set(server);
  server.registerResources(
    (context) => adaptHarnessArtifacts(context!.runtime, { tenantId: context!.tenantId ?? '' }),
    {
      perRequest: true,
    },
  );
  const options = { port: 0, tenantIdExtractor: asWhoever.tenantIdExtractor };
  await server.start(
    kind === 'websocket' ? createWebSocketTransport(options) : createSSETransport({ ...options, streamableHttp: true }),
  );
  onTestFinished(() => server.stop());
  const as = async (tenant: string): Promise<Client> => {
    const client = await clientOf(kind, server.getTransport()?.port, { 'x-tenant': tenant });
    onTestFinished(() => client.close());
    return client;
  };
  return { server, as };
}

async function tools(client: Client): Promise<unknown> {
  const { answer } = await client.request('tools/list');
  return (answer?.result?.['tools'] as { name: string }[] | undefined)?.map(({ name }) => name) ?? answer?.error;
}

async function textOf(
  answered: Promise<{ answer: { result?: Record<string, unknown> } | undefined }>,
): Promise<unknown> {
  const { answer } = await answered;
  return (answer?.result?.['content'] as { text: string }[] | undefined)?.[0]?.text;
}

const call = (client: Client, name: string) => client.request('tools/call', { name, arguments: {} });

describe.each(KINDS)('over %s', (kind) => {
  it('two tenants with one runtime see the same, and are told apart by it', async () => {
    const shared = runtimeOf('shared', { calls: new Map() });
    const { as } = await started(kind, (server) => {
      for (const tenantId of ['acme', 'globex']) server.registerSession(tenantId, shared, { tenantId });
    });
    const clients = await Promise.all(['acme', 'globex'].map(as));
    for (const [index, tenant] of ['acme', 'globex', 'acme', 'globex'].entries()) {
      const client = clients[index % 2]!;
      expect(await tools(client)).toEqual(['tool-of-shared', 'wait']);
      expect(await textOf(call(client, 'tool-of-shared'))).toBe(`shared for ${tenant}`);
      const { answer } = await client.request('resources/list');
      expect(answer?.result).toHaveProperty('resources.0.uri', `pleach://artifact/shared/plan%20for%20${tenant}`);
    }
  });

  it('a session that becomes another tenant’s answers who called before, and nobody of its old tenant after', async () => {
    const running: Running = { calls: new Map() };
    const { server, as } = await started(kind, (made) => {
      made.registerSession('s', runtimeOf('old', running), { tenantId: 'acme' });
      made.registerSession('other', runtimeOf('globex', running), { tenantId: 'globex' });
    });
    const [acme, globex] = await Promise.all([as('acme'), as('globex')]);
    const waiting = textOf(call(acme, 'wait'));
    await until('the call', () => running.calls.has('acme'));
    server.unregisterSession('other');
    server.registerSession('s', runtimeOf('new', running), { tenantId: 'globex' });
    expect(await tools(acme)).toEqual(UNAUTHORIZED);
    expect(await tools(globex)).toEqual(['tool-of-new', 'wait']);
    expect(await textOf(call(globex, 'tool-of-new'))).toBe('new for globex');
    expect((await call(globex, 'tool-of-old')).answer?.error).toMatchObject({ code: -32602 });
    running.calls.get('acme')?.();
    expect(await waiting).toBe('old waited for acme');
  });

  it('a session that is gone lets its calls come to their end, and no other begin', async () => {
    const running: Running = { calls: new Map() };
    const { server, as } = await started(kind, (made) =>
      made.registerSession('s', runtimeOf('acme', running), { tenantId: 'acme' }),
    );
    const acme = await as('acme');
    expect(await tools(acme)).toEqual(['tool-of-acme', 'wait']);
    const waiting = textOf(call(acme, 'wait'));
    await until('the call', () => running.calls.has('acme'));
    expect(server.unregisterSession('s')).toBe(true);
    expect(await tools(acme)).toEqual(UNAUTHORIZED);
    expect((await call(acme, 'wait')).answer?.error).toEqual(UNAUTHORIZED);
    running.calls.get('acme')?.();
    expect(await waiting).toBe('acme waited for acme');
    expect(server.stats()).toMatchObject({ registeredSessions: 0, running: 0, jobs: 0 });
  });

  it('a hook that gave another tenant’s runtime for a while leaves nothing of it behind', async () => {
    const running: Running = { calls: new Map() };
    const runtimes = new Map(['acme', 'globex'].map((name) => [name, runtimeOf(name, running)]));
    let isWrong = false;
    const asked: unknown[] = [];
    const resolveRuntime: MCPServerConfig['resolveRuntime'] = ({ tenantId }) => {
      asked.push(tenantId);
      return runtimes.get(isWrong ? 'globex' : String(tenantId));
    };
    const { server, as } = await started(kind, () => {}, { resolveRuntime });
    const [acme, globex] = await Promise.all([as('acme'), as('globex')]);
    const own = ['tool-of-acme', 'wait'];
    expect(await tools(acme)).toEqual(own);
    isWrong = true;
    // What the hook says counts, and is asked for anew each time.
    expect(await tools(acme)).toEqual(['tool-of-globex', 'wait']);
    expect(await textOf(call(acme, 'tool-of-globex'))).toBe('globex for acme');
    isWrong = false;
    expect(await tools(acme)).toEqual(own);
    expect((await call(acme, 'tool-of-globex')).answer?.error).toMatchObject({ code: -32602 });
    expect(await textOf(call(acme, 'tool-of-acme'))).toBe('acme for acme');
    // And nothing of who was there by mistake is with the other one.
    expect(await tools(globex)).toEqual(['tool-of-globex', 'wait']);
    expect(await textOf(call(globex, 'tool-of-globex'))).toBe('globex for globex');
    const { answer } = await globex.request('resources/list');
    expect(JSON.stringify(answer)).not.toContain('acme');
    // Whose connection it is never changed.
    expect(new Set(asked)).toEqual(new Set(['acme', 'globex']));
    const before = acme.notifications.length;
    server.invalidateToolCache(runtimes.get('globex'));
    await until('word of it', () => globex.notifications.some(({ method }) => method.endsWith('tools/list_changed')));
    await acme.request('tools/list');
    expect(acme.notifications.length).toBe(before);
  });
});
