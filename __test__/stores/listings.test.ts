// What lazy stdio servers listed last, over every store there is: apart from the rows, and nothing to be trusted by.

import path from 'node:path';

import {
  createMemoryMcpConnectionStore,
  createSqliteMcpConnectionStore,
  mcpTools,
  type McpConnectionStore,
  type PersistedListing,
  rebuildMcpToolsFromStorage,
} from 'espalier/node';
import { describe, expect, it, onTestFinished } from 'vitest';

import { connect, tool } from '../helpers/connect.js';
import { mcpError, rejection } from '../helpers/errors.js';
import { scripted, toolEntry, type Script, type Scripted } from '../helpers/scripted.js';
import { sqlDatabase } from '../helpers/sql-storage.js';
import { until } from '../helpers/until.js';
import { workspace } from '../helpers/workspace.js';

type Full = McpConnectionStore & Pick<Required<McpConnectionStore>, 'listings' | 'saveListing'>;

const STORES: Record<string, () => Full> = {
  memory: () => createMemoryMcpConnectionStore(),
  'SQLite on a file': () => closed(createSqliteMcpConnectionStore(path.join(workspace(), 'rows.sqlite'))),
  'a database of the caller': () => createSqliteMcpConnectionStore(sqlDatabase()),
};

function closed(store: Required<McpConnectionStore>): Full {
  onTestFinished(async () => await store.close());
  return store;
}

const listing: PersistedListing = {
  id: 'srv',
  launch: 'x',
  tools: [{ name: 't', description: 'T', inputSchema: { b: 1, a: [2] } }],
};

const TOOLS = [
  toolEntry('one', { inputSchema: { type: 'object', properties: { a: { type: 'string' } } } }),
  toolEntry('two'),
];

function server(script: Script = {}, more = {}): Scripted {
  return scripted('srv', { tools: TOOLS, ...script }, { lazy: true, ...more });
}

describe.each(Object.entries(STORES))('%s', (_name, create) => {
  it('keeps listings apart from the rows, each id once, without what it does not know', async () => {
    const store = create();
    expect(await store.listings()).toEqual([]);
    const more = { ...listing, env: { TOKEN: 'x' }, tools: [{ ...listing.tools[0], name: 'u', extra: 1 }] };
    await store.saveListing(listing);
    await store.saveListing({ ...listing, id: 'other', tools: [] });
    await store.saveListing(more);

    expect(await store.listings()).toEqual([
      { ...listing, tools: [{ ...listing.tools[0], name: 'u' }] },
      { ...listing, id: 'other', tools: [] },
    ]);
    expect(await store.list()).toEqual([]);
  });

  it('removes a listing with the row of its id', async () => {
    const store = create();
    await store.remove('srv');
    await store.saveListing(listing);
    await store.saveListing({ ...listing, id: 'other' });
    await store.remove('srv');

    expect((await store.listings()).map(({ id }) => id)).toEqual(['other']);
  });

  it('refuses what is none', async () => {
    const store = create();
    for (const wrong of [null, {}, { ...listing, id: 1 }, { ...listing, tools: 'none' }, { ...listing, tools: [{}] }]) {
      const error = await mcpError((async () => await store.saveListing(wrong as PersistedListing))(), 'store');
      expect(error.message).toContain('listing');
    }
    expect(await store.listings()).toEqual([]);
  });

  it('has a lazy server started once in its life to be listed, and then only to be called', async () => {
    const store = create();
    const peer = server();
    const first = await mcpTools([peer.config], { storage: store });
    expect(first.servers()).toMatchObject([{ state: 'ready' }]);
    const schema = tool(first, 'srv__one').input['~standard'].jsonSchema.input();
    await first.close();
    expect(peer.starts()).toHaveLength(1);
    expect(await store.list()).toEqual([]);

    const { toolset, diagnostics } = await connect([peer.config], { storage: store });
    expect(toolset.servers()).toMatchObject([{ state: 'stopped', tools: 2 }]);
    expect(Object.keys(toolset.tools)).toEqual(['srv__one', 'srv__two']);
    expect(tool(toolset, 'srv__one').input['~standard'].jsonSchema.input()).toEqual(schema);
    expect(peer.starts()).toHaveLength(1);
    await expect(toolset.call('srv__one', { a: 'x' })).resolves.toContain('"a":"x"');
    expect(peer.starts()).toHaveLength(2);
    expect(diagnostics).toEqual([]);
  });
});

/** A store that counts what it is asked. */
function counting(): { store: Full; saved: PersistedListing[]; asked: () => number } {
  const inner = createMemoryMcpConnectionStore();
  const saved: PersistedListing[] = [];
  let asked = 0;
  return {
    saved,
    asked: () => asked,
    store: {
      ...inner,
      listings: () => {
        asked += 1;
        return inner.listings();
      },
      saveListing: (one) => {
        saved.push(one);
        return inner.saveListing(one);
      },
    },
  };
}

async function once(config: Scripted['config'], storage: McpConnectionStore): Promise<void> {
  await (await mcpTools([config], { storage, onDiagnostic() {} })).close();
}

describe('the stored listing', () => {
  it('is of that very command: with another one the server is started', async () => {
    const { store } = counting();
    const peer = server();
    await once(peer.config, store);
    const args = [...(peer.config.args ?? []), '--more'];
    const { toolset } = await connect([{ ...peer.config, args }], { storage: store });

    expect(toolset.servers()).toMatchObject([{ state: 'ready' }]);
    expect(peer.starts()).toHaveLength(2);
  });

  it('does not depend on the values of variables, and has none in it', async () => {
    const { store, saved } = counting();
    const peer = server({}, { env: { TOKEN: 'secret-value-1' } });
    await once(peer.config, store);
    const { toolset } = await connect([{ ...peer.config, env: { TOKEN: 'secret-value-2' } }], { storage: store });

    expect(toolset.servers()).toMatchObject([{ state: 'stopped' }]);
    expect(JSON.stringify(saved)).not.toContain('secret-value');
  });

  it('is none where the server repeats the value of a variable', async () => {
    const { store, saved } = counting();
    const peer = server(
      { tools: [toolEntry('t', { description: 'Uses secret-value-1.' })] },
      { env: { TOKEN: 'secret-value-1' } },
    );
    await once(peer.config, store);

    expect(saved).toEqual([]);
  });

  it('is written when it is another one, and only then; what changed is held back in the toolset that showed the old one', async () => {
    const { store, saved } = counting();
    const peer = server({
      on: { 'tools/list': [[{ default: true }], [{ reply: { tools: [TOOLS[0], toolEntry('new')] } }]] },
    });
    await once(peer.config, store);
    const { toolset, of } = await connect([peer.config], { storage: store });
    expect(saved).toHaveLength(1);
    // The script counts per process: the second listing of one process is another one.
    await toolset.call('srv__one', {});
    await peer.waitFor('tools/list', 2);
    await expect(toolset.call('srv__two', {})).resolves.toContain('two');

    expect(saved).toHaveLength(1);
    expect(of('tool-drift')).toEqual([]);
  });

  it('of a server that changed meanwhile is replaced by what it lists now', async () => {
    const { store, saved } = counting();
    const peer = server();
    await once(peer.config, store);
    const stored = saved[0];
    if (stored === undefined) throw new Error('nothing was saved');
    await store.saveListing({ ...stored, tools: [{ name: 'one', description: 'As it was.' }] });
    saved.length = 0;
    const { toolset, of } = await connect([peer.config], { storage: store });
    await expect(toolset.call('srv__one', {})).resolves.toContain('"one"');

    await until('the new listing', () => saved.length > 0);
    expect(saved[0]?.tools.map(({ name }) => name)).toEqual(['one', 'two']);
    await until('the drift', () => of('tool-drift').length > 0);
    expect(tool(toolset, 'srv__one').description).toContain('quarantined');
  });

  it('is not asked for where no server is lazy', async () => {
    const { store, saved, asked } = counting();
    await once(server({}, { lazy: false }).config, store);

    expect(asked()).toBe(0);
    expect(saved).toEqual([]);
  });

  it('that is broken costs a start, and one that cannot be read the whole toolset', async () => {
    const peer = server();
    const broken = { ...counting().store, listings: () => [{ id: 'srv' }, 7] as never };
    await once(peer.config, broken);
    expect(peer.starts()).toHaveLength(1);
    const failing = { ...counting().store, listings: () => Promise.reject(new Error('no disk')) };
    const error = await rejection(mcpTools([peer.config], { storage: failing }));

    expect(error).toMatchObject({ message: 'no disk' });
    expect(peer.starts()).toHaveLength(1);
  });

  it('that cannot be saved is a diagnostic, and nothing more', async () => {
    const { store } = counting();
    const failing = { ...store, saveListing: () => Promise.reject(new Error('no disk')) };
    const { toolset, of } = await connect([server().config], { storage: failing });

    expect(Object.keys(toolset.tools)).toHaveLength(2);
    expect(of('connection-failure')).toMatchObject([{ origin: 'srv', message: expect.stringContaining('no disk') }]);
  });

  it('is no row to be woken', async () => {
    const { store } = counting();
    await once(server().config, store);
    const woken = await rebuildMcpToolsFromStorage([server().config], { storage: store }, { stdio: true });
    onTestFinished(() => woken.close());

    expect(woken.servers()).toEqual([]);
  });

  it('is not kept by a store that has no place for it', async () => {
    const { list, save, remove } = createMemoryMcpConnectionStore();
    const peer = server();
    for (let n = 0; n < 2; n += 1) await once(peer.config, { list, save, remove });

    expect(peer.starts()).toHaveLength(2);
  });
});
