// `assertTenantIsolation`: every transport that a server has, one after the other, within a bounded time.

import { McpError } from '../errors.js';
import type { MCPServer } from '../server/mcp-server.js';
import type {
  IsolationEndpoints,
  IsolationOptions,
  IsolationReport,
  TestedTenant,
  TestedTransport,
} from '../types/testing.js';
import { drive, type MakeLane } from './drive.js';
import { TenantIsolationError } from './error.js';
import { Findings, secretsOf, STRANGER } from './findings.js';
import type { Place } from './http.js';
import { Markers } from './markers.js';
import { readServer, readSettings, readTenants } from './request.js';
import { SseLane, WebSocketLane } from './stream-lanes.js';
import { SessionLane, StatelessLane } from './streamable-lane.js';

/**
 * Drives a server as all of its tenants at once, over every transport that it has: lists, calls, reads, prompts,
 * completions, notifications, caches, cancellations, sessions of others, and callers that are no tenant. Resolves to what
 * was driven when nobody was sent, could tell, or could disturb what is another's.
 *
 * The server is one of this process that runs on a port, or URLs of one that runs elsewhere. Nothing is registered or
 * taken away. Tools are called: give it a server of a test.
 *
 * Rejects with a {@link TenantIsolationError} that holds the evidence; with a `TypeError` for wrong arguments, and where
 * tenants were sent none of their own markers, which would prove nothing; with an `McpError` `unavailable` where a tenant
 * cannot connect, and `timeout` when the time is over.
 *
 * @example
 * await assertTenantIsolation(server, [
 *   { id: 'acme', headers: { 'x-tenant-id': 'acme' }, markers: ['acme-report'] },
 *   { id: 'globex', headers: { 'x-tenant-id': 'globex' }, markers: ['globex-report'] },
 * ]);
 */
export async function assertTenantIsolation(
  server: MCPServer | IsolationEndpoints | string | URL,
  tenants: readonly TestedTenant[],
  options: IsolationOptions = {},
): Promise<IsolationReport> {
  const tested = readTenants(tenants);
  const settings = readSettings(options, tested);
  const reached = readServer(server, options.ca);
  const ending = new AbortController();
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    ending.abort();
  }, settings.timeoutMs);
  const { signal } = ending;
  const findings = findingsOf(tested, settings.strangers, signal);
  const transports: TestedTransport[] = [];
  const blind: string[] = [];
  const refusals: string[] = [];
  let requests = 0;
  try {
    for (const [transport, place, make] of coursesOf(reached)) {
      if (place === undefined || signal.aborted) continue;
      findings.markers.forgetSeen();
      const course = { transport, place, make, tenants: tested, settings, findings, server: reached.server, signal };
      const driven = await drive(course);
      if ('refusal' in driven) {
        refusals.push(`${transport}: ${driven.refusal}`);
        continue;
      }
      requests += driven.requests;
      transports.push(transport);
      const unseen = tested.find(({ id }) => !findings.markers.isSeen(id));
      if (unseen !== undefined) blind.push(`${JSON.stringify(unseen.id)} over ${transport}`);
    }
    if (reached.server !== undefined && !signal.aborted) {
      requests += await inProcess(reached.server, findings);
      transports.push('in-process');
    }
  } finally {
    clearTimeout(timer);
    ending.abort();
  }
  const { leaks, more, skipped } = findings;
  if (leaks.length > 0) throw new TenantIsolationError(leaks, more);
  if (isLate) throw new McpError('timeout', `the tenants were not driven to the end within ${settings.timeoutMs} ms`);
  if (transports.every((transport) => transport === 'in-process')) {
    throw new McpError('unavailable', `no tenant can connect: ${refusals.join('; ')}`);
  }
  const [first] = blind;
  if (first !== undefined) {
    throw new TypeError(`the tenant ${first} was sent none of its own markers, so that nothing is proved`);
  }
  return { transports, requests, skipped: [...refusals, ...skipped] };
}

type Course = readonly [TestedTransport, Place | undefined, MakeLane];

function coursesOf({ streamable, sse, websocket }: ReturnType<typeof readServer>): Course[] {
  return [
    ['streamable-http', streamable, SessionLane],
    ['streamable-http-stateless', streamable, StatelessLane],
    ['sse', sse, SseLane],
    ['websocket', websocket, WebSocketLane],
  ];
}

function findingsOf(
  tenants: readonly TestedTenant[],
  strangers: readonly Readonly<Record<string, string>>[],
  signal: AbortSignal,
): Findings {
  const markers = new Markers();
  for (const { id, markers: texts } of tenants) for (const text of texts) markers.give(id, text);
  const secrets = [
    ...tenants.flatMap(({ id, headers }) => secretsOf(id, headers)),
    ...strangers.flatMap((headers) => secretsOf(STRANGER, headers)),
  ];
  return new Findings(markers, secrets, signal);
}

/** What is served without a transport is served to nobody's tenant. Nothing is called there. */
async function inProcess(server: MCPServer, findings: Findings): Promise<number> {
  const ear = findings.earOf(STRANGER, 'in-process');
  ear.hear(JSON.stringify(await server.listTools()), 'listTools', []);
  return 1;
}
