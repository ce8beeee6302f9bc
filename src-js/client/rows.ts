// The rows of the caller's store: on their way to the core and back, and trusted anew.

import { describe } from '../describe.js';
import { McpError } from '../errors.js';
import type { McpConnectionStore, PersistedListing, PersistedServer } from '../types/client.js';
import { listAsText } from './stores.js';

/** All rows as JSON text; the core judges them. Rejects with whatever `list()` rejects with. */
export async function readRows(storage: McpConnectionStore): Promise<string> {
  return (await listAsText(storage)) ?? encode('the rows', await storage.list());
}

/** All listings of servers without rows as JSON text; nothing from a store that keeps none. */
export async function readListings(storage: McpConnectionStore): Promise<string | undefined> {
  if (typeof storage.listings !== 'function' || typeof storage.saveListing !== 'function') return undefined;
  return encode('the listings', await storage.listings());
}

/** The trusted definitions of rows, by id, as JSON text; of those that the store has any of. */
export async function readTrusted(storage: McpConnectionStore, rows: string): Promise<string> {
  const trusted: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  for (const { id } of JSON.parse(rows) as PersistedServer[]) trusted[id] = await storage.trustedTools?.(id);
  return encode('the trusted tools', trusted);
}

/**
 * Forgets what a server is trusted by, so that the next connection trusts what it publishes then: the only way to another
 * baseline. Takes the `id` of a row, which is its server's name, or its projected name where several servers share one.
 * Gives whether there was such a row. A toolset that is open keeps what it goes by.
 *
 * Rejects with whatever the store rejects with.
 *
 * @example
 * const found = await retrustMcpServer(store, 'docs');
 */
export async function retrustMcpServer(store: McpConnectionStore, name: string): Promise<boolean> {
  const row = (await store.list()).find(({ id }) => id === name);
  if (row === undefined) return false;
  const { id, name: server, type, url } = row;
  await store.remove(id);
  await store.save({ id, name: server, type, url });
  return true;
}

/** Saves a row that the core wrote as JSON text. */
export async function saveRow(storage: McpConnectionStore, text: string): Promise<void> {
  await storage.save(JSON.parse(text) as PersistedServer);
}

/** Saves a listing that the core wrote as JSON text. */
export async function saveListing(storage: McpConnectionStore, text: string): Promise<void> {
  await storage.saveListing?.(JSON.parse(text) as PersistedListing);
}

function encode(what: string, value: unknown): string {
  try {
    return JSON.stringify(value) ?? 'null';
  } catch (cause) {
    throw new McpError('store', `${what} of the connection store cannot be read: ${describe(cause)}`, { cause });
  }
}
