// Tenants that come and go by the hundred thousand, and runtimes that nobody holds: nothing of them stays.

import {
  adaptHarnessArtifacts,
  createStreamableHttpTransport,
  MCPServer,
  type MCPServerConfig,
  type MCPTransport,
  type RuntimeLike,
} from 'espalier/server';
import { expect, it, onTestFinished } from 'vitest';

import { post, type Reply } from '../helpers/posted.js';
import { until } from '../helpers/until.js';
import { quiet } from '../helpers/wire.js';

const MEBIBYTE = 1024 * 1024;

function runtimeOf(name: string): RuntimeLike {
  return {
    tools: { list: () => [{ name: `tool-of-${name}`, execute: () => name }] },
    artifacts: { list: async () => [{ chatId: name, artifactId: 'plan' }], read: async () => ({ text: name }) },
  };
}

async function started(config: MCPServerConfig = {}): Promise<{ server: MCPServer; transport: MCPTransport }> {
  const server = new MCPServer({ nativeExecution: true, logger: quiet(), ...config });
  server.registerResources((context) => adaptHarnessArtifacts(context!.runtime), { perRequest: true });
  const transport = createStreamableHttpTransport({ port: 0, tenantIdExtractor: ({ headers }) => headers['x-tenant'] });
  await server.start(transport);
  onTestFinished(() => server.stop());
  return { server, transport };
}

const as = (transport: MCPTransport, tenant: string, method: string): Promise<Reply> =>
  post(transport, method, {}, { 'x-tenant': tenant, connection: 'close' });

/** Collects garbage until finalizers have run and nothing more goes. */
async function settled(): Promise<{ heap: number; resident: number }> {
  for (let round = 0; round < 6; round += 1) {
    globalThis.gc?.();
    await new Promise((resolve) => {
      setTimeout(resolve, 10);
    });
  }
  const { heapUsed, rss } = process.memoryUsage();
  return { heap: heapUsed, resident: rss };
}

it(
  'the memory of 100,000 tenants comes back, those among them that were served included',
  { timeout: 240_000 },
  async () => {
    const { server, transport } = await started();
    server.registerSession('stays', runtimeOf('stays'), { tenantId: 'stays' });

    async function comeAndGo(count: number): Promise<void> {
      for (let number = 0; number < count; number += 1) {
        const tenantId = `tenant-${number}`;
        server.registerSession(`session-${number}`, runtimeOf(tenantId), { tenantId });
      }
      expect(server.stats().registeredSessions).toBe(count + 1);
      for (let number = 0; number < count; number += count / 50) {
        const tenant = `tenant-${number}`;
        expect((await as(transport, tenant, 'tools/list')).result).toHaveProperty('tools.0.name', `tool-of-${tenant}`);
        expect((await as(transport, tenant, 'resources/list')).result).toHaveProperty('resources.length', 1);
      }
      for (let number = 0; number < count; number += 1) server.unregisterSession(`session-${number}`);
      expect(server.listSessions()).toHaveLength(1);
      expect((await as(transport, 'tenant-0', 'tools/list')).error).toMatchObject({ code: -32001 });
    }

    // What is made once, and the room that tables keep, is there after the first of them.
    await comeAndGo(100_000);
    const before = await settled();
    await comeAndGo(100_000);
    await until('the lists of those who went', async () => {
      await settled();
      return server.stats().cachedLists === 0;
    });
    const after = await settled();
    const grown = {
      heap: (after.heap - before.heap) / MEBIBYTE,
      resident: (after.resident - before.resident) / MEBIBYTE,
    };
    if (process.env['ESPALIER_SOAK'] !== undefined) console.log('grown by', grown, 'MiB');
    // A tenant that stayed would cost half a kilobyte at the least, and all of them 50 MiB.
    expect(grown.heap).toBeLessThan(5);
    expect(grown.resident).toBeLessThan(40);
    expect((await as(transport, 'stays', 'tools/list')).result).toHaveProperty('tools.0.name', 'tool-of-stays');
  },
);

it(
  'a runtime that nobody holds is collected with its lists and listings, whoever gave it',
  { timeout: 60_000 },
  async () => {
    const held = new Map<string, RuntimeLike>();
    const refs: WeakRef<object>[] = [];
    let collected = 0;
    const finalized = new FinalizationRegistry(() => (collected += 1));
    const make = (name: string): RuntimeLike => {
      const runtime = runtimeOf(name);
      const listing = { chatId: name, artifactId: 'plan' };
      const kept: RuntimeLike = {
        ...runtime,
        artifacts: { list: async () => [listing], read: async () => ({ text: name }) },
      };
      for (const object of [kept, listing]) {
        refs.push(new WeakRef(object));
        finalized.register(object, name);
      }
      return kept;
    };
    const { server, transport } = await started({ resolveRuntime: ({ tenantId }) => held.get(String(tenantId)) });
    const plain = await started();
    const names = Array.from({ length: 20 }, (_, index) => `tenant-${index}`);
    for (const name of names) {
      held.set(name, make(name));
      plain.server.registerSession(name, make(name), { tenantId: name });
      for (const where of [transport, plain.transport]) {
        expect((await as(where, name, 'tools/list')).result).toHaveProperty('tools.length', 1);
        expect((await as(where, name, 'resources/list')).result).toHaveProperty('resources.length', 1);
      }
    }
    expect(server.stats().cachedLists).toBeGreaterThanOrEqual(names.length);
    // Those that are held stay, and with them what is known of them.
    await settled();
    expect(refs.every((ref) => ref.deref() !== undefined)).toBe(true);
    held.clear();
    for (const name of names) plain.server.unregisterSession(name);
    await until('the runtimes, and their listings', async () => {
      await settled();
      return collected === 4 * names.length && refs.every((ref) => ref.deref() === undefined);
    });
    for (const { stats } of [server, plain.server].map((one) => ({ stats: one.stats() }))) {
      expect(stats).toMatchObject({ cachedLists: 0, jobs: 0 });
    }
  },
);

it('callers that nobody can be named for in time leave nothing', { timeout: 60_000 }, async () => {
  const server = new MCPServer({ logger: quiet() });
  const refs: WeakRef<object>[] = [];
  const transport = createStreamableHttpTransport({
    port: 0,
    headerTimeoutMs: 50,
    tenantIdExtractor: (request) => {
      refs.push(new WeakRef(request));
      return new Promise(() => {});
    },
  });
  await server.start(transport);
  onTestFinished(() => server.stop());
  const replies = await Promise.all(Array.from({ length: 50 }, () => as(transport, 'acme', 'tools/list')));
  expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 401));
  expect(refs).toHaveLength(50);
  await until('what they were asked with', async () => {
    await settled();
    return refs.every((ref) => ref.deref() === undefined);
  });
  expect(server.stats().jobs).toBe(0);
});
