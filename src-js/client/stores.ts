// Connection stores, over the core's.

import { McpError } from '../errors.js';
import { native, unwrap } from '../native.js';
import type { McpConnectionStore, PersistedServer } from '../types/client.js';

/**
 * A store that lives as long as the process. A row is `id, name, type, url, tools, toolFingerprints`; other members are
 * dropped, and what it hands out are copies. `save` throws an `McpError` with code `store` for a row that is none, and
 * never replaces a recorded baseline.
 *
 * @example
 * const store = createMemoryMcpConnectionStore();
 */
export function createMemoryMcpConnectionStore(): McpConnectionStore {
  const rows = new native.NativeMemoryStore();
  return {
    list: () => JSON.parse(rows.list()) as PersistedServer[],
    save: (row) => void unwrap(rows.save(encodeRow(row))),
    remove: (id) => rows.remove(String(id)),
  };
}

function encodeRow(row: PersistedServer): string {
  try {
    return JSON.stringify(row) ?? 'null';
  } catch (cause) {
    throw new McpError('store', 'the row cannot be written as JSON', { cause });
  }
}
