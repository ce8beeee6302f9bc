// A server that was trusted in one process and is another one in the next: what the model sees of that, when the next one
// connects and when it wakes.

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

/** A server that another process has trusted, and the store in which it did. */
async function trusted(): Promise<Victim> {
  const file = path.join(workspace(), 'rows.sqlite');
  const options: SessionOptions = {
    listing: [REFUND, STATUS],
    get: 'stream',
    capabilities: { tools: { listChanged: true } },
  };
  const server = await sessionServer(options);
  const first = program(
    `import { createSqliteMcpConnectionStore, mcpTools } from 'espalier';
     const storage = createSqliteMcpConnectionStore(input.file);
     const toolset = await mcpTools([{ type: 'streamable-http', name: 'srv', url: input.url }], { storage });
     say('trusted', Object.keys(toolset.tools));
     await toolset.close();
     await storage.close();`,
    { input: { file, url: server.url } },
  );
  expect(await first.says('trusted')).toEqual(['srv__issue_refund', 'srv__status']);
  expect((await first.ended()).code).toBe(0);
  const storage = createSqliteMcpConnectionStore(file);
  onTestFinished(async () => await storage.close());
  return { server, options, storage };
}

type Arrive = (victim: Victim) => Promise<McpToolset>;

/** The ways to meet the server again. */
const ARRIVALS: Record<string, Arrive> = {
  'a new process connects': async ({ server, storage }) => mcpTools([http(server.url)], { storage }),
  'a new process wakes': async ({ server, storage }) => {
    const toolset = await rebuildMcpToolsFromStorage([http(server.url)], { storage }, { stdio: false });
    await toolset.reconciled;
    return toolset;
  },
  'a new process wakes after one that connected': async (victim) => {
    const earlier = await mcpTools([http(victim.server.url)], { storage: victim.storage });
    await earlier.close();
    // The row lists what the server says now: only the baseline is left to hold it against.
    return rebuildMcpToolsFromStorage([http(victim.server.url)], { storage: victim.storage }, { stdio: false });
  },
  'a session is under way': async ({ server, storage, options }) => {
    const now = options.listing;
    options.listing = [REFUND, STATUS];
    const toolset = await mcpTools([http(server.url)], { storage });
    options.listing = now ?? [];
    const listings = server.seen('tools/list').length;
    (await server.stream()).message({ method: 'notifications/tools/list_changed' });
    await server.waitFor('tools/list', listings + 1);
    // What follows it on the connection comes back after it was taken in.
    await until('the row', async () => JSON.stringify(await storage.list()).includes('INJECTED'));
    return toolset;
  },
};

const ATTACKS: [what: string, listing: unknown[]][] = [
  ['the description', [{ ...REFUND, description: 'INJECTED' }, STATUS]],
  [
    'an enum deep inside',
    [
      {
        ...REFUND,
        inputSchema: { type: 'object', properties: { order: { type: 'string', enum: ['a', 'INJECTED'] } } },
      },
      STATUS,
    ],
  ],
  ['the name of a parameter', [{ ...REFUND, inputSchema: { type: 'object', properties: { INJECTED: {} } } }, STATUS]],
  ['a tool that is added', [REFUND, STATUS, toolEntry('help', { description: 'INJECTED' })]],
  ['a tool that is added under the name of one that is gone', [STATUS, { ...REFUND, description: 'INJECTED' }]],
  ['a tool whose name is the message', [REFUND, STATUS, toolEntry('INJECTED')]],
];

/** Everything that a model is shown. */
function shown({ tools }: McpToolset): string {
  const all = Object.values(tools).map((one) => {
    const { jsonSchema } = one.input['~standard'];
    return [one.name, one.description, jsonSchema.input(), jsonSchema.output()];
  });
  return JSON.stringify(all) + composeMcpSystemPrompt(tools);
}

describe.each(Object.entries(ARRIVALS))('when %s', (_arrival, arrive) => {
  it.each(ATTACKS)('not one byte of %s is seen', async (_what, listing) => {
    const victim = await trusted();
    const [before] = (await victim.storage.list()) as [PersistedServer];
    victim.options.listing = listing;
    const toolset = await arrive(victim);
    onTestFinished(() => toolset.close());

    expect(shown(toolset)).not.toContain('INJECTED');
    expect(toolset.tools['srv__status']?.description).toBe('The tool status.');
    const [after] = (await victim.storage.list()) as [PersistedServer];
    expect(after.toolFingerprints).toEqual(before.toolFingerprints);
  });
});

describe('the next process', () => {
  it('minds no other order of keys', async () => {
    const victim = await trusted();
    const { name, description } = REFUND;
    const inputSchema = {
      properties: { note: { type: 'string' }, order: { enum: ['a', 'b'], type: 'string' } },
      type: 'object',
    };
    victim.options.listing = [{ inputSchema, description, name }, STATUS];
    const toolset = await mcpTools([http(victim.server.url)], { storage: victim.storage });
    onTestFinished(() => toolset.close());

    expect(toolset.tools['srv__issue_refund']?.description).toBe('Refunds an order.');
  });

  it('is not told otherwise by a tool that goes in one process and comes back changed in another', async () => {
    const victim = await trusted();
    for (const listing of [[STATUS], [STATUS, { ...REFUND, description: 'INJECTED' }]]) {
      victim.options.listing = listing;
      const toolset = await mcpTools([http(victim.server.url)], { storage: victim.storage });
      onTestFinished(() => toolset.close());
      expect(shown(toolset)).not.toContain('INJECTED');
    }
  });

  it('is not told otherwise through `save()`, whoever calls it with what', async () => {
    const victim = await trusted();
    const [row] = (await victim.storage.list()) as [PersistedServer];
    victim.options.listing = [{ ...REFUND, description: 'INJECTED' }, STATUS];
    const { toolFingerprints: _, ...bare } = row;
    const tools = [{ name: 'issue_refund', description: 'INJECTED' }];
    for (const evil of [
      { ...row, toolFingerprints: {} },
      bare,
      { ...row, tools, toolFingerprints: { issue_refund: 'x' } },
    ]) {
      await victim.storage.save(evil);
      const toolset = await mcpTools([http(victim.server.url)], { storage: victim.storage });
      onTestFinished(() => toolset.close());
      expect(shown(toolset)).not.toContain('INJECTED');
      expect(toolset.tools['srv__issue_refund']?.description).toContain('quarantined');
    }
  });
});
