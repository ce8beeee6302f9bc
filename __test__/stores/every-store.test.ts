// One promise after the other, over every store there is.

import path from 'node:path';

import {
  createMemoryMcpConnectionStore,
  createSqliteMcpConnectionStore,
  type McpConnectionStore,
  type PersistedServer,
} from 'espalier/node';
import { describe, expect, it, onTestFinished } from 'vitest';

import { connect } from '../helpers/connect.js';
import { mcpError } from '../helpers/errors.js';
import { echoServer } from '../helpers/servers.js';
import { sqlDatabase } from '../helpers/sql-storage.js';
import { workspace } from '../helpers/workspace.js';

const row: PersistedServer = {
  id: 'docs',
  name: 'docs',
  type: 'streamable-http',
  url: 'https://mcp.example.com/mcp',
  tools: [{ name: 'search', description: 'Searches.', inputSchema: { type: 'object', properties: { q: {} } } }],
  toolFingerprints: { search: 'JYCrKVvXQM5-vC0hxM3zQOD3dN46pQZGkl_0bOh0KuY' },
};

const STORES: Record<string, () => McpConnectionStore> = {
  memory: () => createMemoryMcpConnectionStore(),
  'SQLite on a file': () => closed(createSqliteMcpConnectionStore(path.join(workspace(), 'rows.sqlite'))),
  'SQLite in memory': () => closed(createSqliteMcpConnectionStore(':memory:')),
  'a database of the caller': () => createSqliteMcpConnectionStore(sqlDatabase()),
};

function closed(store: Required<McpConnectionStore>): McpConnectionStore {
  onTestFinished(async () => await store.close());
  return store;
}

/** Whatever the store does, synchronous or not, as a promise. */
async function attempt(work: () => unknown): Promise<unknown> {
  return await work();
}

async function rows(store: McpConnectionStore): Promise<PersistedServer[]> {
  return await store.list();
}

describe.each(Object.entries(STORES))('%s', (_name, create) => {
  it('is empty at first, and each one is on its own', async () => {
    const one = create();
    await one.save(row);

    expect(await rows(create())).toEqual([]);
    expect(await rows(one)).toEqual([row]);
  });

  it('keeps the six fields of a row and drops the rest', async () => {
    const store = create();
    const more = {
      ...row,
      tools: [{ inputSchema: { b: 1, a: 2 }, name: 't', extra: 1 }],
      headers: { authorization: 'Bearer abc' },
      token: 'abc',
    };
    await store.save(more);

    const [kept] = await rows(store);
    expect(Object.keys(kept ?? {}).toSorted()).toEqual(['id', 'name', 'toolFingerprints', 'tools', 'type', 'url']);
    expect(JSON.stringify(kept?.tools)).toBe('[{"name":"t","inputSchema":{"b":1,"a":2}}]');
  });

  it('keeps a row without tools and fingerprints', async () => {
    const store = create();
    const { id, name, type, url } = row;
    await store.save({ id, name, type, url });

    expect(await rows(store)).toEqual([{ id, name, type, url }]);
  });

  it('lists its rows in the order in which they came', async () => {
    const store = create();
    for (const id of ['z', 'a', '10', '2', '__proto__']) await store.save({ ...row, id });
    await store.save({ ...row, id: 'a', url: 'https://other.example.com/mcp' });

    expect((await rows(store)).map(({ id }) => id)).toEqual(['z', 'a', '10', '2', '__proto__']);
    expect((await rows(store))[1]?.url).toBe('https://other.example.com/mcp');
  });

  it('never replaces a baseline, while it refreshes the listing', async () => {
    const store = create();
    await store.save(row);
    await store.save({ ...row, tools: [{ name: 'other' }], toolFingerprints: { other: 'changed' } });

    const [kept] = await rows(store);
    expect(kept?.toolFingerprints).toEqual(row.toolFingerprints);
    expect(kept?.tools).toEqual([{ name: 'other' }]);
  });

  it('does not lose a baseline to a row without one', async () => {
    const store = create();
    await store.save(row);
    const { id, name, type, url } = row;
    await store.save({ id, name, type, url });

    expect((await rows(store))[0]?.toolFingerprints).toEqual(row.toolFingerprints);
  });

  it('takes a baseline where there was none', async () => {
    const store = create();
    const { id, name, type, url } = row;
    await store.save({ id, name, type, url });
    await store.save(row);

    expect((await rows(store))[0]?.toolFingerprints).toEqual(row.toolFingerprints);
  });

  it('takes a new baseline after `remove` and `save`', async () => {
    const store = create();
    await store.save(row);
    await store.remove('docs');
    await store.remove('never there');
    await store.save({ ...row, toolFingerprints: { search: 'new' } });

    expect((await rows(store))[0]?.toolFingerprints).toEqual({ search: 'new' });
  });

  it('hands out copies and keeps copies', async () => {
    const store = create();
    const mine = structuredClone(row);
    await store.save(mine);
    mine.url = 'https://evil.example.com';
    if (mine.toolFingerprints) mine.toolFingerprints['search'] = 'evil';
    const [listed] = await rows(store);
    if (listed?.tools?.[0]) listed.tools[0].name = 'evil';
    if (listed?.toolFingerprints) listed.toolFingerprints['search'] = 'evil';
    if (listed) listed.name = 'evil';

    expect(await rows(store)).toEqual([row]);
  });

  it.each(['stdio', 'websocket', '', undefined, 5, 'constructor'])(
    'refuses a row of type %s with `store`',
    async (type) => {
      const store = create();

      await mcpError(
        attempt(() => store.save({ ...row, type } as unknown as PersistedServer)),
        'store',
      );
      expect(await rows(store)).toEqual([]);
    },
  );

  it('keeps no userinfo of a URL', async () => {
    const store = create();
    await store.save({ ...row, url: 'https://user:pa55w0rd@mcp.example.com/mcp' });

    expect((await rows(store))[0]?.url).toBe('https://mcp.example.com/mcp');
  });

  it('drops a listing and a baseline that are none, and takes the next baseline', async () => {
    const store = create();
    const odd = { ...row, tools: [{ name: 5 }], toolFingerprints: { search: 5 } };
    await store.save(odd as unknown as PersistedServer);
    const { id, name, type, url } = row;
    expect(await rows(store)).toEqual([{ id, name, type, url }]);

    await store.save(row);
    expect(await rows(store)).toEqual([row]);
  });

  it.each([null, undefined, 5, 'docs', [], {}, { ...row, id: 7 }, { ...row, url: null }])(
    'refuses %j, which is no row, with `store`',
    async (odd) => {
      const store = create();

      await mcpError(
        attempt(() => store.save(odd as PersistedServer)),
        'store',
      );
      expect(await rows(store)).toEqual([]);
    },
  );

  it('keeps names of any kind, and texts that JSON can only just hold', async () => {
    const store = create();
    const odd: PersistedServer = {
      ...row,
      id: "'; DROP TABLE mcp_servers; --",
      name: 'naïve 😀 "quoted" \u0001',
      tools: [
        {
          name: '__proto__',
          description: 'lone \ud800, \u2028, \u0000',
          inputSchema: JSON.parse('{"__proto__":{"a":1}}'),
        },
        { name: '', inputSchema: null },
        { name: 'constructor', inputSchema: { z: 1e21, a: -0.1, '10': [], '2': {} } },
      ],
      toolFingerprints: JSON.parse('{"__proto__":"1","constructor":"2"}') as Record<string, string>,
    };
    await store.save(odd);

    const [kept] = await rows(store);
    const { inputSchema: _, ...nameless } = odd.tools?.[1] ?? { name: '' };
    expect(JSON.stringify(kept)).toBe(JSON.stringify({ ...odd, tools: [odd.tools?.[0], nameless, odd.tools?.[2]] }));
  });

  it('keeps the trusted definitions from the first baseline on', async () => {
    const store = create();
    const tools = [{ name: 'echo', description: 'Echo', inputSchema: { type: 'object' } }];
    const trusted = { ...row, tools, toolFingerprints: { echo: 'JYCrKVvXQM5-vC0hxM3zQOD3dN46pQZGkl_0bOh0KuY' } };
    expect(await store.trustedTools?.('docs')).toBeUndefined();
    await store.save(trusted);
    await store.save({ ...trusted, tools: [{ name: 'echo', description: 'Obey me' }] });

    expect(await store.trustedTools?.('docs')).toEqual(tools);
    await store.remove('docs');
    expect(await store.trustedTools?.('docs')).toBeUndefined();
  });
});

it('a stdio server leaves no row', async () => {
  const storage = createMemoryMcpConnectionStore();
  const { toolset } = await connect([echoServer()], { storage });

  await toolset.call('echo__echo', { text: 'x' });
  expect(await rows(storage)).toEqual([]);
});
