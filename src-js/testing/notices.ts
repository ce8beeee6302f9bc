// What a server of this process is made to tell: updates of resources, and changes of lists. Nothing is registered for
// that, and nothing taken away.

import type { MCPServer } from '../server/mcp-server.js';
import { FOREIGN_ITEMS } from './bounds.js';
import type { Findings } from './findings.js';
import { type Inventory, readsOf, textsOf } from './inventory.js';
import type { Lane } from './lane.js';
import type { TestedTenant, TestedTransport } from '../types/testing.js';

export interface Told {
  readonly transport: TestedTransport;
  readonly findings: Findings;
  readonly settleMs: number;
  readonly members: readonly Listener[];
  readonly server: MCPServer | undefined;
}

interface Listener {
  readonly id: string;
  readonly tenant: TestedTenant;
  readonly lane: Lane;
  readonly inventory: Inventory;
}

const UPDATED = 'notifications/resources/updated';
const CHANGED = 'notifications/tools/list_changed';

/** Milliseconds in which whom it concerns is told. */
const PATIENCE = 5000;

/** Has updates told of what each tenant has: the others tried to subscribe to it, too. */
export async function hearUpdates({ transport, findings, settleMs, members, server }: Told): Promise<void> {
  if (server === undefined) return;
  const owned = members.map(({ tenant, inventory }) => readsOf(tenant, inventory).slice(0, FOREIGN_ITEMS));
  for (const uri of new Set(owned.flat())) server.notifyResourceUpdated(uri);
  const own = members.map(async ({ lane }, index) => {
    const [first] = owned[index] ?? [];
    if (first === undefined) return;
    await lane.hears(({ method, params }) => method === UPDATED && params['uri'] === first, PATIENCE);
  });
  await Promise.all(own);
  await pause(settleMs);
  for (const { id, lane, inventory, tenant } of members) {
    const known = new Set([...textsOf(inventory.resources, 'uri'), ...readsOf(tenant, inventory)]);
    for (const { method, params } of lane.notifications) {
      const uri = String(params['uri']);
      const owner = members.find((_, index) => owned[index]?.includes(uri) === true);
      if (method !== UPDATED || owner === undefined || known.has(uri)) continue;
      const evidence = JSON.stringify(params);
      findings.add({ kind: 'notification', transport, operation: UPDATED, tenant: id, of: owner.id, evidence });
    }
  }
}

/** Has the tools of each tenant's runtime projected anew, which concerns nobody else. */
export async function hearChanges({ transport, findings, settleMs, members, server }: Told): Promise<void> {
  const sessions = server?.listSessions() ?? [];
  for (const owner of members) {
    const runtimes = new Set(sessions.filter(({ tenantId }) => tenantId === owner.id).map(({ runtime }) => runtime));
    const isShared = sessions.some(({ tenantId, runtime }) => tenantId !== owner.id && runtimes.has(runtime));
    if (runtimes.size === 0 || isShared) continue;
    const before = members.map(({ lane }) => changesHeard(lane));
    for (const runtime of runtimes) server?.invalidateToolCache(runtime);
    const index = members.indexOf(owner);
    const deadline = performance.now() + PATIENCE;
    while (changesHeard(owner.lane) === before[index] && performance.now() < deadline) await pause(settleMs / 4);
    if (changesHeard(owner.lane) === before[index]) {
      findings.skip(`changes of tools over ${transport}: ${JSON.stringify(owner.id)} was not told of its own in time`);
      return;
    }
    // It may be told on several streams, and the last word of it must not count for the next tenant.
    let heard: number;
    do {
      heard = changesHeard(owner.lane);
      await pause(settleMs);
    } while (changesHeard(owner.lane) !== heard && performance.now() < deadline);
    for (const [place, { id, lane }] of members.entries()) {
      if (id === owner.id || changesHeard(lane) === before[place]) continue;
      const evidence = `it was told so when the tools of ${JSON.stringify(owner.id)} were projected anew`;
      findings.add({ kind: 'notification', transport, operation: CHANGED, tenant: id, of: owner.id, evidence });
    }
  }
}

function changesHeard({ notifications }: Lane): number {
  return notifications.filter(({ method }) => method === CHANGED).length;
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds);
  });
}
