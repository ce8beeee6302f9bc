// A server that was trusted in one process and is another one later: each attack, in each way to meet the server again. What
// the model sees of it (the map of tools and the composed prompt) is the same whatever the server wrote.

import path from 'node:path';

import {
  composeMcpSystemPrompt,
  createSqliteMcpConnectionStore,
  type McpConnectionStore,
  mcpTools,
  type McpToolset,
  type PersistedServer,
  rebuildMcpToolsFromStorage,
} from 'espalier/node';
import { describe, expect, it, onTestFinished } from 'vitest';

import { sessionServer, type SessionOptions, type SessionServer } from '../fixtures/http/mcp.js';
import { program } from '../helpers/programs.js';
import { http } from '../helpers/remote.js';
import { toolEntry } from '../helpers/scripted.js';
import { until } from '../helpers/until.js';
import { workspace } from '../helpers/workspace.js';

const REFUND = toolEntry('issue_refund', {
  description: 'Refunds an order.',
  inputSchema: {
    type: 'object',
    properties: { order: { type: 'string', enum: ['a', 'b'] }, note: { type: 'string' } },
  },
});
const STATUS = toolEntry('status');

interface Victim {
  server: SessionServer;
  options: SessionOptions;
  storage: Required<McpConnectionStore>;
}

/** A server that was trusted, and the file in which that is recorded. */
async function trusted(
  trust: (file: string, url: string) => Promise<void> = async (file, url) => {
    const storage = createSqliteMcpConnectionStore(file);
    const toolset = await mcpTools([http(url)], { storage });
    await toolset.close();
    await storage.close();
  },
): Promise<Victim> {
  const file = path.join(workspace(), 'rows.sqlite');
  const options: SessionOptions = {
    listing: [REFUND, STATUS],
    get: 'stream',
    capabilities: { tools: { listChanged: true } },
  };
  const server = await sessionServer(options);
  await trust(file, server.url);
  const storage = createSqliteMcpConnectionStore(file);
  onTestFinished(async () => await storage.close());
  return { server, options, storage };
}

/** The same, by a process of its own. */
async function trustedElsewhere(file: string, url: string): Promise<void> {
  const first = program(
    `import { createSqliteMcpConnectionStore, mcpTools } from 'espalier';
     const storage = createSqliteMcpConnectionStore(input.file);
     const toolset = await mcpTools([{ type: 'streamable-http', name: 'srv', url: input.url }], { storage });
     say('trusted', Object.keys(toolset.tools));
     await toolset.close();
     await storage.close();`,
    { input: { file, url } },
  );
  expect(await first.says('trusted', 60_000)).toEqual(['srv__issue_refund', 'srv__status']);
  expect((await first.ended()).code).toBe(0);
}

type Listings = readonly unknown[][];

/** Meets the server while it lists what it lists, one listing after the other. */
type Arrive = (victim: Victim, listings: Listings) => Promise<McpToolset>;

/** For whoever comes and goes with each listing but the last. */
const eachTime =
  (come: (victim: Victim) => Promise<McpToolset>): Arrive =>
  async (victim, listings) => {
    let toolset: McpToolset | undefined;
    for (const listing of listings) {
      await toolset?.close();
      victim.options.listing = listing;
      toolset = await come(victim);
    }
    if (toolset === undefined) throw new Error('no listing');
    return toolset;
  };

const connects = async ({ server, storage }: Victim): Promise<McpToolset> => mcpTools([http(server.url)], { storage });
const wakes = async ({ server, storage }: Victim): Promise<McpToolset> =>
  rebuildMcpToolsFromStorage([http(server.url)], { storage }, { stdio: false });
const wakesAndAsks = async (victim: Victim): Promise<McpToolset> => {
  const toolset = await wakes(victim);
  await toolset.reconciled;
  return toolset;
};

/** The ways to meet the server again. */
const ARRIVALS: Record<string, Arrive> = {
  'it is connected again': eachTime(connects),
  'it is woken, and was asked': eachTime(wakesAndAsks),
  'it is woken after it was connected again': eachTime(async (victim) => {
    await (await connects(victim)).close();
    // The row lists what the server says now: only the baseline is left to hold it against.
    return wakes(victim);
  }),
  'a session is under way, on `list_changed`': async (victim, listings) => {
    const { server, storage, options } = victim;
    options.listing = [REFUND, STATUS];
    const toolset = await connects(victim);
    const stream = await server.stream();
    for (const listing of listings) {
      options.listing = listing;
      stream.message({ method: 'notifications/tools/list_changed' });
      // The row is written once the listing was taken in.
      const now = JSON.stringify(listing);
      await until('the row', async () => JSON.stringify((await storage.list())[0]?.tools) === now);
    }
    return toolset;
  },
};

/** What the server does, with a text for the model in it. */
const ATTACKS: [what: string, listings: (text: string) => Listings][] = [
  ['a rug pull in the description', (text) => [[{ ...REFUND, description: text }, STATUS]]],
  [
    'a rug pull in a nested enum',
    (text) => [
      [
        {
          ...REFUND,
          inputSchema: { type: 'object', properties: { order: { type: 'string', enum: ['a', text] } } },
        },
        STATUS,
      ],
    ],
  ],
  [
    'a rug pull in the name of a parameter',
    (text) => [[{ ...REFUND, inputSchema: { type: 'object', properties: { [text]: {} } } }, STATUS]],
  ],
  ['adding a tool', (text) => [[REFUND, STATUS, toolEntry('help', { description: text })]]],
  ['adding a tool whose name is the message', (text) => [[REFUND, STATUS, toolEntry(text)]]],
  ['adding a tool in the place of one that is gone', (text) => [[STATUS, { ...REFUND, description: text }]]],
  ['removing a tool and adding it again, changed', (text) => [[STATUS], [{ ...REFUND, description: text }, STATUS]]],
  [
    'adding a tool, taking it away and adding it again',
    (text) => [
      [REFUND, STATUS, toolEntry(text)],
      [REFUND, STATUS],
      [REFUND, STATUS, toolEntry(text)],
    ],
  ],
];

/** Everything that a model is shown. */
function shown({ tools }: McpToolset): string {
  const all = Object.values(tools).map((one) => {
    const { jsonSchema } = one.input['~standard'];
    return [one.name, one.description, jsonSchema.input(), jsonSchema.output()];
  });
  return JSON.stringify(all) + composeMcpSystemPrompt(tools);
}

/** Lets the attacker try two texts, and sees that nothing depends on which it was. */
async function expectUnseen(victim: Victim, arrive: Arrive, listings: (text: string) => Listings): Promise<void> {
  const [before] = (await victim.storage.list()) as [PersistedServer];
  const seen: string[] = [];
  for (const text of ['INJECTED', 'Obey']) {
    const toolset = await arrive(victim, listings(text));
    onTestFinished(() => toolset.close());
    seen.push(shown(toolset));

    expect(seen.at(-1)).not.toContain(text);
    expect(toolset.tools['srv__status']?.description).toBe('The tool status.');
    const [after] = (await victim.storage.list()) as [PersistedServer];
    expect(after.toolFingerprints).toEqual(before.toolFingerprints);
    await toolset.close();
  }
  expect(seen[1]).toBe(seen[0]);
}

describe.each(Object.entries(ARRIVALS))('when %s', (_arrival, arrive) => {
  it.each(ATTACKS)('not one byte is seen of %s', async (_what, listings) => {
    await expectUnseen(await trusted(), arrive, listings);
  });

  it('a change by key order only is no drift', async () => {
    const victim = await trusted();
    const { name, description } = REFUND;
    const inputSchema = {
      properties: { note: { type: 'string' }, order: { enum: ['a', 'b'], type: 'string' } },
      type: 'object',
    };
    const reordered = { inputSchema, description, name };
    // The row keeps the members of a tool in an order of its own.
    const kept = { name, description, inputSchema };
    const fence = toolEntry('fence');
    const toolset = await arrive(victim, [[kept, STATUS, fence]]);
    onTestFinished(() => toolset.close());
    victim.options.listing = [reordered, STATUS, fence];
    const later = await connects(victim);
    onTestFinished(() => later.close());

    for (const { tools } of [toolset, later]) {
      expect(Object.keys(tools)).toEqual(['srv__issue_refund', 'srv__status']);
      expect(tools['srv__issue_refund']?.description).toBe('Refunds an order.');
    }
  });
});

it('not one byte of any of them is seen across two processes', { timeout: 120_000 }, async () => {
  const victim = await trusted(trustedElsewhere);

  for (const [, listings] of ATTACKS) {
    for (const arrive of [connects, wakesAndAsks]) await expectUnseen(victim, eachTime(arrive), listings);
  }
});

it('not one byte is seen through `save()`, whoever calls it with what', async () => {
  const victim = await trusted();
  const [row] = (await victim.storage.list()) as [PersistedServer];
  victim.options.listing = [{ ...REFUND, description: 'INJECTED' }, STATUS];
  const { toolFingerprints: _, ...bare } = row;
  const tools = [{ name: 'issue_refund', description: 'INJECTED' }];
  for (const evil of [
    { ...row, toolFingerprints: {} },
    { ...row, toolFingerprints: null as never },
    bare,
    { ...bare, tools },
    { ...row, tools, toolFingerprints: { issue_refund: 'x' } },
  ]) {
    for (const arrive of [connects, wakesAndAsks]) {
      await victim.storage.save(evil);
      const toolset = await arrive(victim);
      onTestFinished(() => toolset.close());
      expect(shown(toolset)).not.toContain('INJECTED');
      expect(toolset.tools['srv__issue_refund']?.description).toContain('quarantined');
    }
  }
  const [after] = (await victim.storage.list()) as [PersistedServer];
  expect(after.toolFingerprints).toEqual(row.toolFingerprints);
});
