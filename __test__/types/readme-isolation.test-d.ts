// The example of README.md about proving isolation, word for word, so that it is compiled.

import type { MCPServer } from 'espalier/server';
import { assertTenantIsolation } from 'espalier/testing';

export async function tenantsAreIsolated(server: MCPServer): Promise<void> {
  await assertTenantIsolation(server, [
    { id: 'acme', headers: { 'x-tenant-id': 'acme' }, markers: ['acme-report'], slowCall: { name: 'export' } },
    { id: 'globex', headers: { 'x-tenant-id': 'globex' }, markers: ['globex-report'], slowCall: { name: 'export' } },
  ]);
}
