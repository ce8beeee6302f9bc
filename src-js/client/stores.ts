// Connection stores, over the core's. Rows cross as JSON text.

import { describe } from '../describe.js';
import { McpError } from '../errors.js';
import { native, toError, unwrap } from '../native.js';
import type {
  McpConnectionStore,
  McpSqlStorage,
  PersistedListing,
  PersistedServer,
  PersistedTool,
} from '../types/client.js';

/** What a store need not have, and these do. */
type Optional = Pick<Required<McpConnectionStore>, 'trustedTools' | 'listings' | 'saveListing'>;

/**
 * A store that lives as long as the process. A row is `id, name, type, url, tools, toolFingerprints`; other members are
 * dropped, and what it hands out are copies. `save` throws an `McpError` with code `store` for a row that is none, and
 * never replaces a recorded baseline.
 *
 * @example
 * const store = createMemoryMcpConnectionStore();
 */
export function createMemoryMcpConnectionStore(): McpConnectionStore & Optional {
  const rows = new native.NativeMemoryStore();
  return {
    list: alsoAsText(
      () => parse(rows.list()) as PersistedServer[],
      () => rows.list(),
    ),
    save: (row) => void unwrap(rows.save(encodeRow(row))),
    remove: (id) => rows.remove(String(id)),
    trustedTools: (id) => parseTools(rows.trusted(String(id))),
    listings: () => parse(rows.listings()) as PersistedListing[],
    saveListing: (listing) => void unwrap(rows.saveListing(encodeRow(listing))),
  };
}

/**
 * A store in SQLite: on a file, which SQLite in this package opens, or in the database that an `exec` speaks to, such as
 * the `ctx.storage.sql` of a Durable Object. Missing tables and columns are added.
 *
 * A file (or `':memory:'`) is opened off the JavaScript thread when it is needed first, and may be shared by several
 * processes; `close()` lets it go. One that is damaged, locked or cannot be written rejects with an `McpError` of code
 * `store` that names it, and is left as it is. Over an `exec` everything is done at once, and what that throws is the
 * `cause`.
 *
 * Throws `invalid-option` for what is neither a path nor a storage.
 *
 * @example
 * const store = createSqliteMcpConnectionStore('connections.sqlite');
 * const toolset = await mcpTools(servers, { storage: store });
 */
export function createSqliteMcpConnectionStore(path: string): Required<McpConnectionStore>;
export function createSqliteMcpConnectionStore(storage: McpSqlStorage): McpConnectionStore & Optional;
export function createSqliteMcpConnectionStore(target: string | McpSqlStorage): McpConnectionStore {
  if (typeof target === 'string') return onFile(target);
  if (typeof target === 'object' && target !== null && typeof target.exec === 'function') return overExec(target);
  throw new McpError(
    'invalid-option',
    'a connection store needs the path of a file, or a storage with an exec function',
  );
}

function onFile(path: string): Required<McpConnectionStore> {
  const rows = new native.NativeSqliteStore(path);
  const refusal = rows.refusal();
  if (refusal != null) throw toError(refusal);
  return {
    list: alsoAsText(
      async () => parse(unwrap(await rows.list())) as PersistedServer[],
      async () => unwrap(await rows.list()) ?? 'null',
    ),
    save: async (row) => void unwrap(await rows.save(encodeRow(row))),
    remove: async (id) => void unwrap(await rows.remove(String(id))),
    trustedTools: async (id) => parseTools(unwrap(await rows.trusted(String(id)))),
    listings: async () => parse(unwrap(await rows.listings())) as PersistedListing[],
    saveListing: async (listing) => void unwrap(await rows.saveListing(encodeRow(listing))),
    close: async () => void unwrap(await rows.close()),
  };
}

function overExec(storage: McpSqlStorage): ReturnType<typeof createMemoryMcpConnectionStore> {
  const sql = native.nativeSql();
  const run = (statement: string, ...values: unknown[]): Record<string, unknown>[] => {
    try {
      // To the end: some statements are only carried out while their rows are read.
      return [...storage.exec(statement, ...values)];
    } catch (cause) {
      throw new McpError('store', `the storage of the connection store failed: ${describe(cause)}`, { cause });
    }
  };
  const missing = (): string[] => {
    const [servers = [], trusted = []] = sql.columns.map((columns) => run(columns).map(({ name }) => String(name)));
    return native.nativeSqlMissing(servers, trusted);
  };
  const hasListings = (): boolean => run(sql.listings.columns).length > 0;
  const migrate = (): void => {
    for (const statement of missing()) run(statement);
  };
  try {
    migrate();
  } catch {
    // Somebody else may have added what was missing just then.
    migrate();
  }
  return {
    list: () =>
      run(sql.list).map((cells) => {
        const row = native.nativeSqlRow(COLUMNS.map((column) => cell(cells[column])));
        return parse(unwrap(row)) as PersistedServer;
      }),
    save(row) {
      const text = encodeRow(row);
      const id = typeof row?.id === 'string' ? row.id : '';
      const [stored] = run(sql.stored, id);
      const { writes, failure } = native.nativeSqlSave(
        text,
        stored !== undefined,
        cell(stored?.['tools']),
        cell(stored?.['tool_fingerprints']),
      );
      if (failure != null) throw toError(failure);
      for (const write of writes) run(write.sql, ...write.values);
    },
    remove(id) {
      for (const statement of sql.remove) run(statement, String(id));
      if (hasListings()) run(sql.listings.remove, String(id));
    },
    trustedTools(id) {
      const [stored] = run(sql.trusted, String(id));
      if (stored === undefined) return undefined;
      return parseTools(native.nativeSqlTrusted(cell(stored['tools']), cell(stored['tool_fingerprints'])));
    },
    listings() {
      if (!hasListings()) return [];
      return run(sql.listings.list).flatMap((cells) => {
        const listing = native.nativeSqlListing(['id', 'launch', 'tools'].map((column) => cell(cells[column])));
        return listing == null ? [] : [parse(listing) as PersistedListing];
      });
    },
    saveListing(listing) {
      const { writes, failure } = native.nativeSqlSaveListing(encodeRow(listing));
      if (failure != null) throw toError(failure);
      for (const write of writes) run(write.sql, ...write.values);
    },
  };
}

/** By the `list` that gives the same rows. */
const texts = new WeakMap<object, () => string | Promise<string>>();

/** A `list` whose rows the core can have as it wrote them, without a detour over objects. */
function alsoAsText<L extends McpConnectionStore['list']>(list: L, text: () => string | Promise<string>): L {
  texts.set(list, text);
  return list;
}

/** The rows of such a `list` as JSON text; nothing for any other, and for one that somebody put in its place. */
export function listAsText(store: McpConnectionStore): string | Promise<string> | undefined {
  return texts.get(Reflect.get(store, 'list'))?.();
}

const COLUMNS = ['id', 'name', 'type', 'url', 'tools', 'tool_fingerprints'];

/** A cell as the statements give them: text, or nothing. */
function cell(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function parse(text: string | undefined): unknown {
  return JSON.parse(text ?? 'null');
}

function parseTools(text: string | null | undefined): PersistedTool[] | undefined {
  return text == null ? undefined : (parse(text) as PersistedTool[]);
}

function encodeRow(row: PersistedServer | PersistedListing): string {
  try {
    return JSON.stringify(row) ?? 'null';
  } catch (cause) {
    throw new McpError('store', 'the row cannot be written as JSON', { cause });
  }
}
