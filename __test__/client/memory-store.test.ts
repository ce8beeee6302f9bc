import { createMemoryMcpConnectionStore, type McpConnectionStore, type PersistedServer } from 'espalier/node';
import { describe, expect, it } from 'vitest';

import { connect } from '../helpers/connect.js';
import { mcpError } from '../helpers/errors.js';
import { echoServer } from '../helpers/servers.js';

const row: PersistedServer = {
  id: 'docs',
  name: 'docs',
  type: 'streamable-http',
  url: 'https://mcp.example.com/mcp',
  tools: [{ name: 'search', description: 'Searches.', inputSchema: { type: 'object', properties: { q: {} } } }],
  toolFingerprints: { search: 'JYCrKVvXQM5-vC0hxM3zQOD3dN46pQZGkl_0bOh0KuY' },
};

/** Whatever the store does, synchronous or not, as a promise. */
async function attempt(work: () => unknown): Promise<unknown> {
  return await work();
}

async function rows(store: McpConnectionStore): Promise<PersistedServer[]> {
  return await store.list();
}

describe('the memory store', () => {
  it('is empty at first, and each one is on its own', async () => {
    const one = createMemoryMcpConnectionStore();
    await one.save(row);

    expect(await rows(createMemoryMcpConnectionStore())).toEqual([]);
    expect(await rows(one)).toEqual([row]);
  });

  it('keeps the six fields of a row and drops the rest', async () => {
    const store = createMemoryMcpConnectionStore();
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
    const store = createMemoryMcpConnectionStore();
    const { id, name, type, url } = row;
    await store.save({ id, name, type, url });

    expect(await rows(store)).toEqual([{ id, name, type, url }]);
  });

  it('lists its rows in the order in which they came', async () => {
    const store = createMemoryMcpConnectionStore();
    for (const id of ['z', 'a', '10', '2', '__proto__']) await store.save({ ...row, id });
    await store.save({ ...row, id: 'a', url: 'https://other.example.com/mcp' });

    expect((await rows(store)).map(({ id }) => id)).toEqual(['z', 'a', '10', '2', '__proto__']);
    expect((await rows(store))[1]?.url).toBe('https://other.example.com/mcp');
  });

  it('never replaces a baseline, while it refreshes the listing', async () => {
    const store = createMemoryMcpConnectionStore();
    await store.save(row);
    await store.save({ ...row, tools: [{ name: 'other' }], toolFingerprints: { other: 'changed' } });

    const [kept] = await rows(store);
    expect(kept?.toolFingerprints).toEqual(row.toolFingerprints);
    expect(kept?.tools).toEqual([{ name: 'other' }]);
  });

  it('does not lose a baseline to a row without one', async () => {
    const store = createMemoryMcpConnectionStore();
    await store.save(row);
    const { id, name, type, url } = row;
    await store.save({ id, name, type, url });

    expect((await rows(store))[0]?.toolFingerprints).toEqual(row.toolFingerprints);
  });

  it('takes a baseline where there was none', async () => {
    const store = createMemoryMcpConnectionStore();
    const { id, name, type, url } = row;
    await store.save({ id, name, type, url });
    await store.save(row);

    expect((await rows(store))[0]?.toolFingerprints).toEqual(row.toolFingerprints);
  });

  it('takes a new baseline after `remove` and `save`', async () => {
    const store = createMemoryMcpConnectionStore();
    await store.save(row);
    await store.remove('docs');
    await store.remove('never there');
    await store.save({ ...row, toolFingerprints: { search: 'new' } });

    expect((await rows(store))[0]?.toolFingerprints).toEqual({ search: 'new' });
  });

  it('hands out copies and keeps copies', async () => {
    const store = createMemoryMcpConnectionStore();
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
      const store = createMemoryMcpConnectionStore();

      await mcpError(
        attempt(() => store.save({ ...row, type } as unknown as PersistedServer)),
        'store',
      );
      expect(await rows(store)).toEqual([]);
    },
  );
});

it('a stdio server leaves no row', async () => {
  const storage = createMemoryMcpConnectionStore();
  const { toolset } = await connect([echoServer()], { storage });

  await toolset.call('echo__echo', { text: 'x' });
  expect(await rows(storage)).toEqual([]);
});
