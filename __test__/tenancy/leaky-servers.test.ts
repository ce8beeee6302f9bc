// The kit on servers that are wrong on purpose, each in one way: what it finds, and that it finds it.

import { assertTenantIsolation, type TenantIsolationError, type TenantLeak } from 'espalier/testing';
import { expect, it } from 'vitest';

import { type Fault, leakyServer } from './leaky-server.js';
import { markerOf, tested } from './tenants.js';

const TENANTS = ['acme', 'globex', 'initech'];

// A call that was cancelled is not answered at all.
const options = { requestTimeoutMs: 2000, timeoutMs: 170_000 };

it('nothing is found where nothing is wrong', { timeout: 180_000 }, async () => {
  const url = await leakyServer('nothing', TENANTS);
  const report = await assertTenantIsolation(url, tested(TENANTS), { timeoutMs: 170_000 });
  expect(report.transports).toEqual(['streamable-http']);
  expect(report.skipped).toEqual([expect.stringMatching(/^streamable-http-stateless: HTTP 400/)]);
});

type Found = Partial<Omit<TenantLeak, 'evidence'>> & { evidence: RegExp };

const FAULTS: [fault: Fault, found: Found][] = [
  [
    'a shared cache',
    { kind: 'content', operation: 'resources/read', tenant: 'globex', of: 'acme', evidence: /marker-of-acme\. memo/ },
  ],
  [
    'guessable session ids',
    { kind: 'session', operation: "tools/list in another's session", evidence: /^HTTP 200 .*marker-of-/ },
  ],
  [
    'ids of sessions that count up',
    {
      kind: 'session',
      operation: 'guessing the id of a session',
      evidence: /^the ids of 4 sessions differ in [12] characters alone: "\d/,
    },
  ],
  [
    'a wrong cancel',
    {
      kind: 'cancellation',
      operation: 'cancelling by the id of a request of another',
      tenant: 'globex',
      of: 'acme',
      evidence: /^the call of "acme" ended with: HTTP 202/,
    },
  ],
  [
    'wrong progress',
    {
      kind: 'content',
      operation: 'notifications/progress',
      tenant: 'globex',
      of: 'acme',
      evidence: /"progressToken":"espalier-/,
    },
  ],
  [
    'a log line for everybody',
    {
      kind: 'content',
      operation: 'notifications/message',
      tenant: 'initech',
      of: 'globex',
      evidence: /marker-of-globex\. called who/,
    },
  ],
  [
    'a runtime to fall back to',
    { kind: 'content', operation: 'tools/list', tenant: 'a stranger', of: 'acme', evidence: /marker-of-acme\.tool/ },
  ],
  [
    'a telling refusal',
    {
      kind: 'existence',
      operation: 'tools/call',
      tenant: 'acme',
      of: 'globex',
      evidence: /Forbidden tool: ….*Unknown tool: …/,
    },
  ],
];

it.each(FAULTS)('%s is found, with the evidence', { timeout: 180_000 }, async (fault, { evidence, ...about }) => {
  const url = await leakyServer(fault, TENANTS);
  const error = await failure(assertTenantIsolation(url, tested(TENANTS), options));
  expect(error).toMatchObject({ name: 'TenantIsolationError', code: 'tenant-leak' });
  const found = error.leaks.find(
    (leak) =>
      Object.entries(about).every(([key, value]) => leak[key as keyof TenantLeak] === value) &&
      evidence.test(leak.evidence),
  );
  expect(found, error.message).toBeDefined();
  expect(found?.transport).toBe('streamable-http');
  expect(error.message).toContain('tenants are not isolated');
  expect(error.leaks.length).toBeLessThanOrEqual(50);
  for (const leak of error.leaks) expect(leak.evidence.length).toBeLessThanOrEqual(301);
});

it('no value of a header is in what is found', { timeout: 180_000 }, async () => {
  const url = await leakyServer('a shared cache', TENANTS);
  // Here the markers are what the headers say.
  const tenants = TENANTS.map((tenant) => ({
    id: `number ${tenant.length}`,
    headers: { 'x-tenant': tenant },
    markers: [markerOf(tenant)],
  }));
  const { leaks, message } = await failure(assertTenantIsolation(url, tenants, options));
  expect(leaks.length).toBeGreaterThan(0);
  expect(message).toContain('marker-of-[header]. memo');
  for (const tenant of TENANTS) expect(message).not.toContain(tenant);
});

async function failure(asserted: Promise<unknown>): Promise<TenantIsolationError> {
  const outcome = await asserted.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(outcome).toBeInstanceOf(Error);
  return outcome as TenantIsolationError;
}
