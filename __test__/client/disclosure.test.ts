import {
  DEFAULT_DISCLOSURE_BUDGET_TOKENS,
  MCP_DESCRIBE_TOOL,
  composeMcpSystemPrompt,
  estimateTokens,
} from 'espalier/node';
import { describe, expect, it } from 'vitest';

import { connect, tool } from '../helpers/connect.js';
import { mcpError } from '../helpers/errors.js';
import { scripted, toolEntry } from '../helpers/scripted.js';
import { vectors } from '../helpers/vectors.js';

const SUFFIX = ' Full input schema available via mcp__describe_tool.';

/** A tool whose schema takes some 2,000 tokens, nearly all of them prose. */
function wordy(name: string): Record<string, unknown> {
  const inputSchema = {
    type: 'object',
    title: 'prose',
    properties: {
      path: { type: 'string', description: 'word '.repeat(800), pattern: '^/' },
      mode: { type: ['string', 'null'], enum: ['word '.repeat(800)] },
    },
    required: ['path'],
  };
  return toolEntry(name, { inputSchema });
}

function schemaOf(found: ReturnType<typeof tool>): unknown {
  return found.input['~standard'].jsonSchema.input();
}

describe('the disclosure budget', () => {
  it.each(vectors.tiers)('chooses as the vector says: $id', async (vector) => {
    const { toolset, diagnostics } = await connect([scripted('s', { tools: vector.tools }).config], {
      disclosure: { budget: vector.budget },
    });

    const tools = Object.values(toolset.tools);
    expect(tools).toHaveLength(vector.toolCount);
    expect(MCP_DESCRIBE_TOOL in toolset.tools).toBe(vector.describeToolPresent);
    expect(tools[0]?.description.endsWith(SUFFIX)).toBe(vector.firstToolDescriptionHasDeferredSuffix);
    expect(JSON.stringify(tools[0] && schemaOf(tools[0]))).toBe(vector.firstToolSchemaText);
    expect(diagnostics.map(({ rule, origin }) => [rule, origin])).toEqual(vector.diagnostics);
    expect(toolset.servers()[0]?.disclosure.tier).toBe(vector.mode);
    if (vector.promptTokens !== undefined) {
      expect(estimateTokens(composeMcpSystemPrompt(toolset.tools))).toBe(vector.promptTokens);
    }
  });

  it('counts in `servers()` what the tools of the server take as they are shown', async () => {
    const servers = [
      scripted('big', { tools: [wordy('a'), wordy('b')] }).config,
      scripted('small', { tools: [toolEntry('c')] }).config,
    ];
    for (const [budget, tier] of [
      [Number.POSITIVE_INFINITY, 'inline'],
      [100, 'names'],
      [20, 'bare'],
    ] as const) {
      const { toolset } = await connect(servers, { disclosure: { budget } });
      const big = Object.fromEntries(Object.entries(toolset.tools).filter(([name]) => name.startsWith('big__')));

      expect(toolset.servers().map(({ disclosure }) => disclosure)).toEqual([
        { tier, tokens: estimateTokens(composeMcpSystemPrompt(big)) },
        expect.objectContaining({ tier: 'inline' }),
      ]);
    }
  });

  it('is 20,000 tokens by default and as `auto`, for each server by itself', async () => {
    expect(DEFAULT_DISCLOSURE_BUDGET_TOKENS).toBe(20_000);
    const tools = (count: number): unknown[] => Array.from({ length: count }, (_, index) => wordy(`t${index}`));
    const servers = [scripted('nine', { tools: tools(9) }).config, scripted('eleven', { tools: tools(11) }).config];
    for (const options of [{}, { disclosure: {} }, { disclosure: { budget: 'auto' } as const }]) {
      const { toolset } = await connect(servers, options);
      expect(toolset.servers().map(({ disclosure }) => disclosure.tier)).toEqual(['inline', 'names']);
    }
  });

  it('does not touch a server of `alwaysLoad`, by its configured name or by its projected one', async () => {
    const clashing = [
      scripted('big', { tools: [wordy('a')] }).config,
      scripted('big', { tools: [wordy('b')] }).config,
      scripted('other', { tools: [wordy('c')] }).config,
    ];
    const tiers = async (alwaysLoad: string[]): Promise<string[]> => {
      const { toolset } = await connect(clashing, { disclosure: { budget: 100, alwaysLoad } });
      return toolset.servers().map(({ disclosure }) => disclosure.tier);
    };
    expect(await tiers([])).toEqual(['names', 'names', 'names']);
    expect(await tiers(['big'])).toEqual(['inline', 'inline', 'names']);
    const { toolset } = await connect(clashing);
    const second = toolset.servers()[1]?.projectedName ?? '';
    expect(await tiers([second])).toEqual(['names', 'inline', 'names']);
  });

  it('leaves out of account what a filter hides', async () => {
    const server = scripted('s', { tools: [wordy('a'), toolEntry('b')] }).config;
    const { toolset } = await connect([server], { disclosure: { budget: 100 }, tools: { block: ['a'] } });

    expect(Object.keys(toolset.tools)).toEqual(['s__b']);
  });

  it('keeps names, types and `required` of a deferred schema, and nothing else of it', async () => {
    const { toolset } = await connect([scripted('s', { tools: [wordy('a')] }).config], { disclosure: { budget: 100 } });

    const deferred = tool(toolset, 's__a');
    expect(deferred.description).toBe(`The tool a.${SUFFIX}`);
    expect(JSON.stringify(schemaOf(deferred))).toBe(
      '{"type":"object","properties":{"path":{"type":"string"},"mode":{"type":"string"}},"required":["path"]}',
    );
  });

  it('names the server, the count, the floor, the budget and the way down when the names alone are too much', async () => {
    const tools = Array.from({ length: 5 }, (_, index) => toolEntry(`t${index}`, { description: 'word '.repeat(50) }));
    const { toolset, of } = await connect([scripted('s', { tools }).config], { disclosure: { budget: 10 } });

    const [told, ...more] = of('disclosure-budget-exceeded');
    expect(more).toEqual([]);
    expect(told).toMatchObject({ section: '7.2.2', origin: 's' });
    const { tokens } = toolset.servers()[0]?.disclosure ?? { tokens: 0 };
    for (const part of ['5 tools', String(tokens), '10', '`tools` filter']) expect(told?.message).toContain(part);
  });
});

describe('`mcp__describe_tool`', () => {
  async function deferring() {
    return connect(
      [
        scripted('big', { tools: [wordy('a'), wordy('hidden'), { name: 'bare' }] }).config,
        scripted('small', { tools: [toolEntry('c', { inputSchema: { type: 'object', title: 'inline' } })] }).config,
      ],
      { disclosure: { budget: 100 }, tools: { block: ['hidden'] } },
    );
  }

  it('comes last, takes the name of a tool, and has nothing to play back', async () => {
    const { toolset } = await deferring();

    expect(Object.keys(toolset.tools).at(-1)).toBe(MCP_DESCRIBE_TOOL);
    const describing = tool(toolset, MCP_DESCRIBE_TOOL);
    expect(describing.replay).toBe(false);
    expect(schemaOf(describing)).toMatchObject({
      type: 'object',
      properties: { tool: { type: 'string' } },
      required: ['tool'],
    });
  });

  it('answers with the full schema of any tool of the map', async () => {
    const { toolset } = await deferring();
    const { execute } = tool(toolset, MCP_DESCRIBE_TOOL);

    expect(await execute({ tool: 'big__a' })).toEqual(wordy('a')['inputSchema']);
    expect(await execute({ tool: 'small__c' })).toEqual({ type: 'object', title: 'inline' });
    expect(await execute({ tool: 'big__bare' })).toEqual({ type: 'object' });
    expect(await toolset.call(MCP_DESCRIBE_TOOL, { tool: 'big__a' })).toEqual(wordy('a')['inputSchema']);
  });

  it.each([
    { tool: 'big__nothing' },
    { tool: 'big__hidden' },
    { tool: 'a' },
    { tool: '__proto__' },
    { tool: 7 },
    { name: 'big__a' },
    undefined,
    'big__a',
  ])('refuses %j', async (args) => {
    const { toolset } = await deferring();

    await mcpError(tool(toolset, MCP_DESCRIBE_TOOL).execute(args), 'invalid-arguments');
  });

  it('is not there when nothing is deferred', async () => {
    const { toolset } = await connect([scripted('s', { tools: [toolEntry('t')] }).config]);

    expect(Object.keys(toolset.tools)).toEqual(['s__t']);
    await mcpError(toolset.call(MCP_DESCRIBE_TOOL, { tool: 's__t' }), 'invalid-arguments');
  });

  it('needs no credentials, and no server that answers', async () => {
    const server = scripted('s', { tools: [wordy('a')] });
    const { toolset } = await connect([server.config], { disclosure: { budget: 100 } });
    const before = server.lines().length;

    await tool(toolset, MCP_DESCRIBE_TOOL).execute({ tool: 's__a' });
    expect(server.lines()).toHaveLength(before);
  });
});

describe('wrong options', () => {
  it.each([
    [{ budget: -1 }, 'disclosure.budget'],
    [{ budget: Number.NaN }, 'disclosure.budget'],
    [{ budget: 'lots' }, 'disclosure.budget'],
    [{ alwaysLoad: 'files' }, 'disclosure.alwaysLoad'],
    [{ alwaysload: [] }, 'disclosure.alwaysload'],
    ['auto', 'disclosure'],
  ])('%j are refused by name', async (disclosure, culprit) => {
    const error = await mcpError(connect([], { disclosure: disclosure as never }), 'invalid-option');
    expect(error.message).toContain(culprit);
  });
});
