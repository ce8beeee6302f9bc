// What the kit says of arguments that are wrong, of servers that nobody can connect to, and of tenants that prove nothing.

import {
  createPluggableStdioTransport,
  createStreamableHttpTransport,
  MCPServer,
  type StreamableHttpTransportOptions,
} from 'espalier/server';
import { assertTenantIsolation, type IsolationOptions, McpError, type TestedTenant } from 'espalier/testing';
import { PassThrough } from 'node:stream';
import { expect, it, onTestFinished } from 'vitest';

import { quiet } from '../helpers/wire.js';

const ACME: TestedTenant = { id: 'acme', headers: { 'x-tenant': 'acme' }, markers: ['report of acme'] };
const GLOBEX: TestedTenant = { id: 'globex', headers: { 'x-tenant': 'globex' }, markers: ['report of globex'] };

async function started(options: Partial<StreamableHttpTransportOptions> = {}): Promise<MCPServer> {
  const server = new MCPServer({ logger: quiet() });
  for (const tenantId of ['acme', 'globex']) server.registerSession(`s-${tenantId}`, {}, { tenantId });
  server.register({ name: 'quiet', inputSchema: { type: 'object' }, handler: () => 'nothing of anybody' });
  const tenantIdExtractor: StreamableHttpTransportOptions['tenantIdExtractor'] = ({ headers }) => headers['x-tenant'];
  await server.start(createStreamableHttpTransport({ port: 0, tenantIdExtractor, ...options }));
  onTestFinished(() => server.stop());
  return server;
}

const WRONG: [what: string, tenants: unknown, says: RegExp][] = [
  ['nothing', undefined, /two tenants at least/],
  ['one tenant', [ACME], /two tenants at least/],
  ['what is no tenant', [ACME, 'globex'], /a tenant must be an object/],
  ['no id', [ACME, { ...GLOBEX, id: '' }], /the id of a tenant/],
  ['the name of nobody', [ACME, { ...GLOBEX, id: 'a stranger' }], /cannot be "a stranger"/],
  ['a misspelt member', [ACME, { ...GLOBEX, marker: [] }], /there is no option "marker"/],
  ['the same id', [ACME, { ...GLOBEX, id: 'acme' }], /"acme" and "acme" have the same id/],
  ['the same headers', [ACME, { ...GLOBEX, headers: { 'X-Tenant': 'acme' } }], /have the same headers/],
  ['headers that are none', [ACME, { ...GLOBEX, headers: { a: 1 } }], /the headers of the tenant "globex"/],
  ['no markers', [ACME, { ...GLOBEX, markers: [] }], /the markers of the tenant "globex"/],
  ['a short marker', [ACME, { ...GLOBEX, markers: ['abc'] }], /shorter than 4 characters/],
  ['a marker that holds another', [ACME, { ...GLOBEX, markers: ['a report of acme'] }], /one holds the other/],
  ['calls that are none', [ACME, { ...GLOBEX, calls: [{}] }], /a name in the calls of the tenant "globex"/],
  ['reads that are none', [ACME, { ...GLOBEX, reads: 'memo://a' }], /the reads of the tenant "globex"/],
  ['a slow call that is none', [ACME, { ...GLOBEX, slowCall: 'slow' }], /slowCall of the tenant "globex"/],
];

it.each(WRONG)('of tenants: %s', async (_, tenants, says) => {
  const asserted = assertTenantIsolation('http://127.0.0.1:1/mcp', tenants as TestedTenant[]);
  await expect(asserted).rejects.toThrow(TypeError);
  await expect(asserted).rejects.toThrow(says);
});

it.each([
  ['a misspelt one', { timeout: 1 }, /there is no option "timeout"/],
  ['a time of nothing', { timeoutMs: 0 }, /timeoutMs must be more than 0/],
  ['a time that is none', { settleMs: Number.NaN }, /settleMs must be a number/],
  ['a stir that is none', { stir: 1 }, /stir must be a function/],
  ['strangers that are none', { strangers: {} }, /strangers must be an array/],
])('of options: %s', async (_, options, says) => {
  const asserted = assertTenantIsolation('http://127.0.0.1:1/mcp', [ACME, GLOBEX], options as IsolationOptions);
  await expect(asserted).rejects.toThrow(says);
});

it('of servers: what is no place, and what has no port', async () => {
  const tenants = [ACME, GLOBEX];
  await expect(assertTenantIsolation({}, tenants)).rejects.toThrow(/an MCPServer that runs on a port, a URL/);
  await expect(assertTenantIsolation('nowhere', tenants)).rejects.toThrow(/streamableHttp must be a URL of http/);
  await expect(assertTenantIsolation({ webSocket: 'http://a' }, tenants)).rejects.toThrow(
    /webSocket must be a URL of ws/,
  );
  const server = new MCPServer({ logger: quiet() });
  await expect(assertTenantIsolation(server, tenants)).rejects.toThrow(/must have started on a port/);
  await server.start(createPluggableStdioTransport({ input: new PassThrough(), output: new PassThrough() }));
  onTestFinished(() => server.stop());
  await expect(assertTenantIsolation(server, tenants)).rejects.toThrow(/must have started on a port/);
});

it('a server that is not there, and one that refuses everybody, are unavailable', { timeout: 60_000 }, async () => {
  const gone = await started();
  const { port } = gone.getTransport()!;
  await gone.stop();
  for (const [server, says] of [
    [`http://127.0.0.1:${port}/mcp`, /no tenant can connect: streamable-http: .*ECONNREFUSED/],
    [await started({ tenantIdExtractor: () => undefined }), /streamable-http: HTTP 401; .*stateless: HTTP 401$/],
  ] as const) {
    const error: unknown = await assertTenantIsolation(server, [ACME, GLOBEX]).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(McpError);
    expect(error).toMatchObject({ code: 'unavailable', message: expect.stringMatching(says) as string });
  }
});

it('a tenant that alone cannot connect is named', async () => {
  const tenants = [ACME, { ...GLOBEX, headers: { 'x-tenant': 'hooli' } }];
  await expect(assertTenantIsolation(await started(), tenants)).rejects.toMatchObject({
    code: 'unavailable',
    message: 'the tenant "globex" cannot connect over streamable-http: -32001 Unauthorized',
  });
});

it('tenants that are never sent what is their own prove nothing', { timeout: 120_000 }, async () => {
  await expect(assertTenantIsolation(await started(), [ACME, GLOBEX])).rejects.toThrow(
    /^the tenant "acme" over streamable-http was sent none of its own markers/,
  );
});

it('ends in time, and leaves nothing connected', { timeout: 60_000 }, async () => {
  const server = await started();
  server.register({
    name: 'hangs',
    inputSchema: { type: 'object' },
    handler: (_args, { signal }) => new Promise((resolve) => signal.addEventListener('abort', resolve)),
  });
  const asserted = assertTenantIsolation(server, [ACME, GLOBEX], { timeoutMs: 1000 });
  await expect(asserted).rejects.toMatchObject({ name: 'McpError', code: 'timeout' });
  await expect.poll(() => server.stats().sockets, { timeout: 10_000 }).toBe(0);
});
