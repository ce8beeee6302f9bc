// What each tenant may take of a server: refusals with a time to come back, places of its own, figures of its own, and a
// greedy tenant that costs others nothing.

import { setTimeout as sleep } from 'node:timers/promises';

import {
  createPluggableStdioTransport,
  createSSETransport,
  createWebSocketTransport,
  MCPServer,
  type MCPTransport,
  type TenantLimits,
  type TenantStats,
} from 'espalier/server';
import { describe, expect, it, onTestFinished } from 'vitest';

import { openWebSocket } from '../../dist/testing/websocket.js';
import { until } from '../helpers/until.js';
import { quiet } from '../helpers/wire.js';
import { asWhoever, type Client, clientOf, type Kind, StdioClient } from './clients.js';

const _meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};

const KINDS = ['streamable-http', 'streamable-http-stateless', 'sse', 'websocket'] as const;

interface Stage {
  readonly server: MCPServer;
  readonly transport: MCPTransport;
  /** Lets the calls of `hold` go on that wait, those of one tenant. */
  release(tenant: string): void;
  /** How many calls of `hold` a tenant has running. */
  holding(tenant: string): number;
  /** How many calls of `soon` of a tenant have begun. */
  begun(tenant: string): number;
  as(tenant: string): Promise<Client>;
  /** What a tenant takes now; nothing when it takes nothing. */
  figures(tenant: string): TenantStats | undefined;
}

async function started(kind: Kind, tenantLimits: TenantLimits, limits = {}): Promise<Stage> {
  const server = new MCPServer({ tenantLimits, logger: quiet() });
  const begun = new Map<string, number>();
  const held: { tenant: string | undefined; go: () => void }[] = [];
  server.register({ name: 'echo', inputSchema: { type: 'object' }, handler: ({ text }) => String(text) });
  server.register({
    name: 'soon',
    inputSchema: { type: 'object' },
    handler: async (_args, { tenantId = '' }) => {
      begun.set(tenantId, (begun.get(tenantId) ?? 0) + 1);
      await sleep(1);
      return 'done';
    },
  });
  server.register({
    name: 'hold',
    inputSchema: { type: 'object' },
    handler: (_args, { tenantId, signal }) =>
      new Promise<string>((resolve) => {
        const entry = { tenant: tenantId, go: () => resolve('held') };
        held.push(entry);
        signal?.addEventListener('abort', entry.go);
      }),
  });
  for (const tenant of ['acme', 'globex']) server.registerSession(`session-of-${tenant}`, {}, { tenantId: tenant });
  const { tenantIdExtractor } = asWhoever;
  const options = { port: 0, tenantIdExtractor, ...limits };
  const transport =
    kind === 'websocket' ? createWebSocketTransport(options) : createSSETransport({ ...options, streamableHttp: true });
  await server.start(transport);
  onTestFinished(() => server.stop());
  return {
    server,
    transport,
    release: (tenant) => {
      for (const entry of held) if (entry.tenant === tenant) entry.go();
    },
    holding: (tenant) => held.filter((entry) => entry.tenant === tenant).length,
    begun: (tenant) => begun.get(tenant) ?? 0,
    as: async (tenant) => {
      const client = await clientOf(kind, transport.port, { 'x-tenant': tenant });
      onTestFinished(() => client.close());
      return client;
    },
    figures: (tenant) => server.stats().tenants.find(({ tenantId }) => tenantId === tenant),
  };
}

const call = (client: Client, name: string, text = ''): ReturnType<Client['request']> =>
  client.request('tools/call', { name, arguments: { text } });

describe.each(KINDS)('the limits of a tenant, over %s,', (kind) => {
  it('refuse what comes too fast, with a time to come back, and say nothing of others', async () => {
    const stage = await started(kind, { maxRequestsPerSecond: 4 });
    const [acme, globex] = [await stage.as('acme'), await stage.as('globex')];
    const answers = await Promise.all(Array.from({ length: 40 }, () => call(acme, 'echo')));
    const refused = answers.filter(({ answer }) => answer?.error !== undefined);
    expect(refused.length).toBeGreaterThan(0);
    const code = kind === 'streamable-http-stateless' ? -32_603 : -32_000;
    for (const { answer } of refused) {
      expect(answer?.error).toEqual({
        code,
        message: 'Server busy',
        data: { reason: 'busy', limit: 'maxRequestsPerSecond', retryAfterMs: expect.any(Number) },
      });
    }
    expect((await call(globex, 'echo', 'well')).answer?.result).toMatchObject({ content: [{ text: 'well' }] });
    expect(stage.server.stats().refused.tenantLimits).toBe(refused.length);
    await until('another chance', async () => (await call(acme, 'echo')).answer?.result);
  });

  it('have it wait for its own calls alone', async () => {
    const stage = await started(kind, { maxConcurrentRequests: 2 });
    const [acme, globex] = [await stage.as('acme'), await stage.as('globex')];
    const calls = Array.from({ length: 5 }, () => call(acme, 'hold'));
    await until('calls that run and wait', () => stage.holding('acme') === 2 && stage.figures('acme')?.queued === 3);
    expect(stage.figures('acme')).toMatchObject({ running: 2, queued: 3 });
    expect((await call(globex, 'echo', 'well')).answer?.result).toMatchObject({ content: [{ text: 'well' }] });
    expect(stage.holding('acme')).toBe(2);
    await until('all of them', async () => {
      stage.release('acme');
      return stage.holding('acme') === 5;
    });
    stage.release('acme');
    for (const { answer } of await Promise.all(calls)) {
      expect(answer?.result).toMatchObject({ content: [{ text: 'held' }] });
    }
  });

  it('count bytes until the answer is written', async () => {
    const stage = await started(kind, { maxBytesInFlight: 10_000 });
    const [acme, globex] = [await stage.as('acme'), await stage.as('globex')];
    const large = call(acme, 'hold', 'x'.repeat(9000));
    await until('a call', () => stage.holding('acme') === 1);
    expect(stage.figures('acme')?.bytesInFlight).toBeGreaterThan(9000);
    const { answer } = await call(acme, 'echo', 'x'.repeat(2000));
    expect(answer?.error).toMatchObject({ data: { limit: 'maxBytesInFlight', retryAfterMs: 1000 } });
    expect((await call(globex, 'echo', 'x'.repeat(2000))).answer?.error).toBeUndefined();
    stage.release('acme');
    expect((await large).answer?.error).toBeUndefined();
    await until('nothing in flight', () => (stage.figures('acme')?.bytesInFlight ?? 0) === 0);
    expect((await call(acme, 'echo', 'x'.repeat(2000))).answer?.error).toBeUndefined();
  });
});

describe.each(['streamable-http', 'sse', 'websocket'] as const)('the connections of a tenant, over %s,', (kind) => {
  it('are refused past the limit before they open, until one is closed', async () => {
    const stage = await started(kind, { maxConnections: 2 });
    const first = await stage.as('acme');
    await stage.as('acme');
    const { opened } = await stage.as('acme');
    if (kind === 'streamable-http') expect(opened.error).toMatchObject({ data: { limit: 'maxConnections' } });
    else expect(opened.status).toBe(429);
    expect(stage.figures('acme')).toMatchObject({ connections: 2, refused: 1 });
    const other = await stage.as('globex');
    expect((await call(other, 'echo')).answer?.error).toBeUndefined();
    await first.close();
    await until('room', () => stage.figures('acme')?.connections === 1);
    expect((await call(await stage.as('acme'), 'echo')).answer?.error).toBeUndefined();
  });
});

describe('a refusal over HTTP', () => {
  it('has a status and a header that say when to come back', async () => {
    const { transport } = await started('streamable-http', { maxRequestsPerSecond: 1 });
    const ask = (): Promise<Response> =>
      fetch(`http://127.0.0.1:${transport.port}/mcp`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'x-tenant': 'acme',
          'mcp-protocol-version': '2026-07-28',
          'mcp-method': 'tools/list',
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta } }),
      });
    const refused = (await Promise.all(Array.from({ length: 20 }, ask))).find(({ ok }) => !ok);
    expect([refused?.status, refused?.headers.get('retry-after')]).toEqual([429, '1']);
    expect(await refused?.text()).not.toContain('globex');
  });
});

describe('callers without a tenant', () => {
  it('count as one, over stdio too', async () => {
    const server = new MCPServer({ tenantLimits: { maxRequestsPerSecond: 2 }, logger: quiet() });
    const stdio = new StdioClient();
    await server.start(createPluggableStdioTransport({ input: stdio.input, output: stdio.output }));
    onTestFinished(() => server.stop());
    const client = await stdio.open();
    const answers = await Promise.all(Array.from({ length: 30 }, () => client.request('tools/list')));
    const refused = answers.find(({ answer }) => answer?.error !== undefined);
    expect(refused?.answer?.error).toMatchObject({ code: -32_000, data: { limit: 'maxRequestsPerSecond' } });
    const [nobody, ...others] = server.stats().tenants;
    expect(nobody).toMatchObject({ connections: 1, running: 0, queued: 0 });
    expect(nobody).not.toHaveProperty('tenantId');
    expect(others).toEqual([]);
  });
});

describe('the figures of tenants', () => {
  it('are of those who are there, and of nobody afterwards', async () => {
    const stage = await started('sse', {});
    const clients = await Promise.all(['acme', 'globex'].map((tenant) => stage.as(tenant)));
    expect(stage.server.stats().tenants.map(({ tenantId }) => tenantId)).toEqual(['acme', 'globex']);
    await Promise.all(clients.map((client) => client.close()));
    await until('nobody', () => stage.server.stats().tenants.length === 0);
  });

  it('are none where tenants have no limits', () => {
    expect(new MCPServer().stats()).toMatchObject({ tenants: [], refused: { tenantLimits: 0 } });
  });
});

describe('a greedy tenant', () => {
  const CALLS = 10_000;
  const SAMPLES = 200;
  /** How many calls of the greedy one may begin while another's goes there and back. First come, first served, it would be
   * all that wait. */
  const MOST_BETWEEN = 500;
  /** How much slower others may get, and what is not looked at below: on a machine that does nothing else. */
  const FACTOR = 3;
  const FLOOR_MS = 50;
  const isSoak = process.env['ESPALIER_SOAK'] !== undefined;

  it('with 10,000 calls waiting does not slow others down', { timeout: 120_000 }, async () => {
    const stage = await started('websocket', { maxConcurrentRequests: 4 }, { maxQueuedRequests: CALLS });
    const calm = await stage.as('globex');
    /** Of 99 in 100: how long they take, and how many of the greedy one's begin meanwhile. */
    const most = async (): Promise<{ ms: number; between: number }> => {
      const times: number[] = [];
      const between: number[] = [];
      for (let sample = 0; sample < SAMPLES; sample += 1) {
        const [begin, before] = [performance.now(), stage.begun('acme')];
        const { answer } = await call(calm, 'soon');
        times.push(performance.now() - begin);
        between.push(stage.begun('acme') - before);
        expect(answer?.error).toBeUndefined();
      }
      const p99 = (all: number[]): number =>
        all.toSorted((a, b) => a - b)[Math.floor(SAMPLES * 0.99) - 1] ?? Number.POSITIVE_INFINITY;
      return { ms: p99(times), between: p99(between) };
    };
    const alone = await most();

    let answered = 0;
    const ending = new AbortController();
    const place = { url: new URL(`ws://127.0.0.1:${stage.transport.port}/ws`), ca: undefined, isOwn: false };
    const greedy = await openWebSocket(place, { 'x-tenant': 'acme' }, ending.signal, () => (answered += 1));
    for (let id = 0; id < CALLS; id += 1) {
      const params = { name: 'soon', arguments: {}, _meta };
      greedy.socket?.send(JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params }));
    }
    await until('the queue', () => stage.server.stats().queued > CALLS / 2, 60_000);
    const beside = await most();
    // Nothing is shown by a queue that was empty at the end.
    expect(stage.server.stats().queued).toBeGreaterThan(0);
    expect(answered).toBeGreaterThan(0);
    expect(answered).toBeLessThan(CALLS);
    expect(beside.between).toBeLessThan(MOST_BETWEEN);
    if (isSoak) {
      console.log(`p99 alone ${alone.ms.toFixed(1)} ms, beside ${CALLS} calls ${beside.ms.toFixed(1)} ms`);
      expect(beside.ms).toBeLessThan(Math.max(FACTOR * alone.ms, FLOOR_MS));
    }
    ending.abort();
    greedy.socket?.close();
    await until('the end of the greedy one', () => stage.figures('acme') === undefined, 30_000);
  });
});
