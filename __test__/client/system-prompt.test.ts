import { catalogTokens, composeMcpSystemPrompt, estimateTokens } from 'espalier/node';
import { describe, expect, it } from 'vitest';

import { connect } from '../helpers/connect.js';
import { scripted, toolEntry } from '../helpers/scripted.js';
import { vectors } from '../helpers/vectors.js';

describe('`composeMcpSystemPrompt`', () => {
  it('gives the description of each tool and, on the next line, its schema as compact JSON', async () => {
    const tools = [
      toolEntry('z', { inputSchema: { type: 'object', required: ['b'], properties: { b: {}, a: { type: 'null' } } } }),
      { name: 'a' },
    ];
    const { toolset } = await connect([scripted('s', { tools }).config]);

    expect(composeMcpSystemPrompt(toolset.tools)).toBe(
      [
        'The tool z.',
        '{"type":"object","required":["b"],"properties":{"b":{},"a":{"type":"null"}}}',
        'a',
        '{"type":"object"}',
      ].join('\n'),
    );
  });

  it('takes tools of others the same way, and a spread of maps', async () => {
    const { toolset } = await connect([scripted('s', { tools: [toolEntry('t')] }).config]);
    const standard = (input: (options: unknown) => unknown): unknown => ({
      '~standard': { version: 1, vendor: 'other', validate: () => ({ value: 1 }), jsonSchema: { input } },
    });
    const mine = {
      plain: { description: 'Plain.', input: { type: 'object', title: 'x' } },
      standard: { description: 'Standard.', input: standard(() => ({ type: 'object' })) },
      stubborn: {
        description: 'Stubborn.',
        input: standard(() => {
          throw new Error('cannot be said in JSON Schema');
        }),
      },
      older: { description: 'Older.', input: { '~standard': { version: 1, vendor: 'old', validate: () => ({}) } } },
      bare: {},
    };

    expect(composeMcpSystemPrompt({ ...mine, ...toolset.tools })).toBe(
      [
        'Plain.\n{"type":"object","title":"x"}',
        'Standard.\n{"type":"object"}',
        'Stubborn.\n{"type":"object"}',
        'Older.\n{"type":"object"}',
        'bare\n{"type":"object"}',
        'The tool t.\n{"type":"object"}',
      ].join('\n'),
    );
    expect(composeMcpSystemPrompt({})).toBe('');
  });

  it('changes nothing for its options: what is deferred is deferred in the map', async () => {
    const vector = vectors.tiers.find(({ mode }) => mode === 'names');
    const { toolset } = await connect([scripted('s', { tools: vector?.tools ?? [] }).config], {
      disclosure: { budget: vector?.budget ?? 0 },
    });

    const prompt = composeMcpSystemPrompt(toolset.tools);
    expect(composeMcpSystemPrompt(toolset.tools, { disclosure: { budget: 1, alwaysLoad: ['s'] } })).toBe(prompt);
    expect(prompt).not.toContain('short');
    expect(prompt).toContain('Full input schema available via mcp__describe_tool.\n{"type":"object","properties"');
  });

  it("never holds a server's instructions", async () => {
    const server = scripted('s', {
      tools: [toolEntry('t')],
      on: {
        initialize: [
          [
            {
              reply: {
                protocolVersion: '2025-11-25',
                capabilities: { tools: {} },
                serverInfo: { name: 'x', version: '1' },
                instructions: 'INJECTED',
              },
            },
          ],
        ],
      },
    });
    const { toolset } = await connect([server.config]);

    expect(composeMcpSystemPrompt(toolset.tools)).toBe('The tool t.\n{"type":"object"}');
    expect(JSON.stringify(toolset.servers())).not.toContain('INJECTED');
  });
});

describe('`catalogTokens`', () => {
  it.each(vectors.tiers)('is what the vector says: $id', ({ tools, catalogTokens: floor }) => {
    expect(catalogTokens(tools)).toBe(floor);
  });

  it('takes the name for a description that is missing, and counts UTF-16 code units', () => {
    const least = (text: string): number =>
      estimateTokens(`${text} Full input schema available via mcp__describe_tool.\n{"type":"object"}`);
    expect(catalogTokens([{ name: 'ab' }])).toBe(least('ab'));
    expect(catalogTokens([{ name: 'ab', description: '' }])).toBe(least(''));
    expect(catalogTokens([{ name: 'x', description: '😀😀\ud800' }])).toBe(least('😀😀\ud800'));
    expect(catalogTokens([])).toBe(0);
  });
});
