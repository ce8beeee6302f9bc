import type { McpToolset } from 'espalier/node';

import { scripted, type Script, type Scripted, toolEntry } from './scripted.js';

/** What a server says when its tools changed. */
export const LIST_CHANGED = { message: { method: 'notifications/tools/list_changed' } };

/** The tool whose call makes a changing server say that its tools changed. */
export const POKE = toolEntry('poke');

/** A server that lists something else each time; the last listing stays. Each holds `poke` besides. */
export function changing(name: string, listings: unknown[][], script: Script = {}): Scripted {
  return scripted(name, {
    ...script,
    on: { 'tools/list': listings.map((tools) => [{ reply: { tools: [POKE, ...tools] } }]), ...script.on },
    calls: { poke: [[LIST_CHANGED, { default: true }]], ...script.calls },
  });
}

/** Makes a changing server say so, and waits until the map has changed. */
export async function poke(toolset: McpToolset, server: string): Promise<void> {
  const changed = new Promise<void>((resolve) => {
    const off = toolset.on('change', () => {
      off();
      resolve();
    });
  });
  await toolset.call(`${server}__poke`);
  await changed;
}
