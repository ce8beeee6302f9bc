// The kit on servers of this package: nothing is found, whatever they are reached over.

import {
  adaptHarnessArtifacts,
  adaptHarnessPrompts,
  createSSETransport,
  createWebSocketTransport,
  MCPServer,
  type MCPTransport,
  type NetworkTransportOptions,
} from 'espalier/server';
import { assertTenantIsolation } from 'espalier/testing';
import { expect, it, onTestFinished } from 'vitest';

import { quiet } from '../helpers/wire.js';
import { setUp, tested } from './tenants.js';

const options: NetworkTransportOptions = { port: 0, tenantIdExtractor: ({ headers }) => headers['x-tenant'] };
const adapt = { artifacts: adaptHarnessArtifacts, prompts: adaptHarnessPrompts };

async function serving(tenants: string[], transport: MCPTransport): Promise<MCPServer> {
  const server = new MCPServer({ nativeExecution: true, logger: quiet() });
  setUp(server, tenants, adapt);
  await server.start(transport);
  onTestFinished(() => server.stop());
  return server;
}

it.each([2, 3, 4])(
  '%i tenants, over HTTP+SSE and both eras of Streamable HTTP',
  { timeout: 180_000 },
  async (count) => {
    const tenants = ['acme', 'globex', 'initech', 'hooli'].slice(0, count);
    const server = await serving(tenants, createSSETransport({ ...options, streamableHttp: true }));
    const before = server.listSessions();
    const report = await assertTenantIsolation(server, tested(tenants), { timeoutMs: 170_000 });
    expect(report).toEqual({
      transports: ['streamable-http', 'streamable-http-stateless', 'sse', 'in-process'],
      requests: expect.any(Number) as number,
      skipped: [],
    });
    expect(report.requests).toBeGreaterThan(100 * count);
    expect(server.listSessions()).toEqual(before);
  },
);

it.each([2, 4])('%i tenants, over WebSocket', { timeout: 180_000 }, async (count) => {
  const tenants = ['acme', 'globex', 'initech', 'hooli'].slice(0, count);
  const server = await serving(tenants, createWebSocketTransport(options));
  const report = await assertTenantIsolation(server, tested(tenants), { timeoutMs: 170_000 });
  expect(report).toMatchObject({ transports: ['websocket', 'in-process'], skipped: [] });
});
