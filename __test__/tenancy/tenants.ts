// Tenants with something of everything, each with a text of its own in all of it.

import { setTimeout as sleep } from 'node:timers/promises';

import type { adaptHarnessArtifacts, adaptHarnessPrompts, MCPServer, RuntimeLike } from 'espalier/server';
import type { TestedTenant } from 'espalier/testing';

/** What only this tenant may see. */
export const markerOf = (tenant: string): string => `marker-of-${tenant}.`;

/** A runtime whose names and results have the tenant's marker in them. */
function runtimeOf(tenant: string): RuntimeLike {
  const marker = markerOf(tenant);
  return {
    tools: { list: () => [{ name: `${marker}tool`, execute: () => `${marker} result` }] },
    artifacts: {
      list: async () => [{ chatId: tenant, artifactId: `${marker}plan`, mimeType: 'text/plain' }],
      read: async () => ({ text: `${marker} artifact` }),
    },
    prompts: [{ name: `${marker}prompt`, render: () => `${marker} prompt` }],
  };
}

/** Whose runtime it is, as the handlers of a server see it. */
const owners = new WeakMap<RuntimeLike, string>();

/** The marker of whoever a request was routed to. */
function markerIn(runtime: RuntimeLike | undefined): string {
  return markerOf((runtime && owners.get(runtime)) ?? 'nobody');
}

/** Registers tenants, each with a session, and what all of them share by name. */
export function setUp(server: MCPServer, tenants: readonly string[], adapt: Adapters): void {
  for (const tenant of tenants) {
    const runtime = runtimeOf(tenant);
    owners.set(runtime, tenant);
    server.registerSession(`session-of-${tenant}`, runtime, { tenantId: tenant });
  }
  server.register({
    name: 'who',
    inputSchema: { type: 'object' },
    handler: (_args, context) => {
      const marker = markerIn(context.runtime);
      context.progress(1, 2, `${marker} on its way`);
      context.log('info', `${marker} logged`);
      return `${marker} called`;
    },
  });
  server.register({
    name: 'slow',
    inputSchema: { type: 'object' },
    handler: async (_args, { runtime, signal, progress }) => {
      progress(1, 2, `${markerIn(runtime)} slowly`);
      await sleep(300, undefined, { signal });
      return `${markerIn(runtime)} was slow`;
    },
  });
  server.registerResource({
    uri: 'memo://shared',
    name: 'shared',
    handler: (_uri, { runtime }) => ({ text: `${markerIn(runtime)} memo` }),
  });
  server.registerResourceTemplate({
    uriTemplate: 'day://{day}',
    name: 'day',
    handler: (_uri, _variables, { runtime }) => ({ blob: Buffer.from(`${markerIn(runtime)} day`) }),
  });
  server.registerResources((context) => adapt.artifacts(context!.runtime), { perRequest: true });
  server.registerPrompts((context) => adapt.prompts(context!.runtime), { perRequest: true });
  server.registerPrompt({ name: 'ask', handler: (_args, { runtime }) => `${markerIn(runtime)} asked` });
  server.registerCompletion((_ref, _argument, _context, { runtime }) => [`${markerIn(runtime)} completed`]);
}

/** The adapters of the package. */
export interface Adapters {
  artifacts: typeof adaptHarnessArtifacts;
  prompts: typeof adaptHarnessPrompts;
}

/** Tenants as the kit wants them. */
export function tested(tenants: readonly string[]): TestedTenant[] {
  return tenants.map((id) => ({
    id,
    headers: { 'x-tenant': id },
    markers: [markerOf(id)],
    slowCall: { name: 'slow' },
    completions: [{ ref: { type: 'ref/prompt', name: 'ask' }, argument: { name: 'x', value: '' } }],
  }));
}
