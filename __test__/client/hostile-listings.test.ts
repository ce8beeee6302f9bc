// Listings that are large, odd or made to confuse: each costs itself, and the tools beside it stay.

import type { Diagnostic, McpOptions, McpToolset } from 'espalier/node';
import { isProviderLegalToolName } from 'espalier/node';
import { describe, expect, it } from 'vitest';

import { sessionServer } from '../fixtures/http/mcp.js';
import { connect, tool } from '../helpers/connect.js';
import { http } from '../helpers/remote.js';
import { scripted, toolEntry } from '../helpers/scripted.js';

interface Listed {
  toolset: McpToolset;
  diagnostics: Diagnostic[];
  of(rule: string): Diagnostic[];
}

/** Connects a server whose entries are these JSON texts, with a plain one behind them. */
async function listing(entries: string[], options: McpOptions = {}): Promise<Listed> {
  const text = `{"tools":[${[...entries, JSON.stringify(toolEntry('plain'))].join(',')}]}`;
  return connect([scripted('srv', { on: { 'tools/list': [[{ replyText: text }]] } }).config], options);
}

function schemaText(toolset: McpToolset, name: string): string {
  return JSON.stringify(tool(toolset, name).input['~standard'].jsonSchema.input());
}

/** A plain tool that can be called, whatever is listed beside it. */
async function expectPlain({ toolset }: Listed): Promise<void> {
  expect(await toolset.call('srv__plain', { a: 1 })).toContain('"a":1');
}

describe('a schema', () => {
  it.each(['true', 'false', '[]', '[{"type":"object"}]', '"object"', '7'])(
    'that is %s and no object is passed on as it is, and takes any object where it is deferred',
    async (schema) => {
      const entry = `{"name":"odd","inputSchema":${schema}}`;
      const whole = await listing([entry]);
      expect(schemaText(whole.toolset, 'srv__odd')).toBe(schema);
      await expectPlain(whole);

      const { toolset } = await listing([entry], { disclosure: { budget: 0 } });
      expect(schemaText(toolset, 'srv__odd')).toBe('{"type":"object"}');
    },
  );

  it.each([
    ['refers to itself', '{"type":"object","properties":{"next":{"$ref":"#"}}}'],
    [
      'goes in circles',
      '{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"type":"object"}',
    ],
    ['refers to the outside', '{"type":"object","properties":{"a":{"$ref":"http://127.0.0.1:9/schema.json"}}}'],
    [
      'has parameters named like keywords',
      '{"type":"object","properties":{"properties":{"type":"string"},"required":{"type":"array"},"$ref":{"type":"string"},"type":{"type":"number"}},"required":["properties","$ref"]}',
    ],
    [
      'has parameters named like prototypes',
      '{"type":"object","properties":{"__proto__":{"type":"string"},"constructor":{"type":"number"},"hasOwnProperty":{}},"required":["__proto__"]}',
    ],
  ])('that %s is passed on as it is, whole and deferred', async (_what, schema) => {
    const entry = `{"name":"odd","inputSchema":${schema}}`;
    const whole = await listing([entry]);
    expect(schemaText(whole.toolset, 'srv__odd')).toBe(schema);
    expect(whole.diagnostics).toEqual([]);

    const deferred = await listing([entry], { disclosure: { budget: 0 } });
    expect(Object.keys(deferred.toolset.tools)).toEqual(['srv__odd', 'srv__plain', 'mcp__describe_tool']);
    expect(JSON.stringify(await deferred.toolset.call('mcp__describe_tool', { tool: 'srv__odd' }))).toBe(schema);
    await expectPlain(deferred);
  });

  it('of 5,000 levels costs its tool and nothing else', async () => {
    const deep = '{"type":"object","properties":{"a":'.repeat(5000) + '{}' + '}}'.repeat(5000);
    const listed = await listing([`{"name":"deep","inputSchema":${deep}}`]);

    expect(Object.keys(listed.toolset.tools)).toEqual(['srv__plain']);
    expect(listed.of('server-entry-invalid')).toEqual([
      expect.objectContaining({ origin: 'srv', message: expect.stringContaining('"deep"') }),
    ]);
    await expectPlain(listed);
  });

  it('of 3 MiB is passed on, deferred where it is too much, and described in full', async () => {
    const properties = Array.from(
      { length: 30_000 },
      (_, n) => `"p${n}":{"type":"string","description":"${'x'.repeat(70)}"}`,
    );
    const schema = `{"type":"object","properties":{${properties.join(',')}}}`;
    expect(schema.length).toBeGreaterThan(3 * 1024 * 1024);
    const entry = `{"name":"flat","inputSchema":${schema}}`;
    const whole = await listing([entry], { disclosure: { budget: Infinity } });
    expect(schemaText(whole.toolset, 'srv__flat')).toBe(schema);

    const { toolset } = await listing([entry]);
    expect(schemaText(toolset, 'srv__flat').length).toBeLessThan(1000);
    expect(JSON.stringify(await toolset.call('mcp__describe_tool', { tool: 'srv__flat' }))).toBe(schema);
  });
});

describe('a description', () => {
  // What hides, reorders or ends text: a bidirectional override, a zero-width space, a NUL, an escape, a line separator.
  const TRICKS = '\u{202e}\u{200b}\u{0}\u{1b}[31m\u{2028}\u{feff}';

  it('of 1 MiB with characters that hide stays as it is', async () => {
    const description = `${TRICKS}${'word '.repeat(200_000)}${TRICKS}`;
    expect(description.length).toBeGreaterThan(1_000_000);
    const listed = await listing([JSON.stringify(toolEntry('long', { description }))], {
      disclosure: { budget: Infinity },
    });

    expect(tool(listed.toolset, 'srv__long').description).toBe(description);
    expect(listed.diagnostics).toEqual([]);
    await expectPlain(listed);
  });

  it('is in no diagnostic, and a name with such characters is spelt out there', async () => {
    const entries = [`odd${TRICKS}`, `odd${TRICKS}`].map((name) =>
      JSON.stringify(toolEntry(name, { description: `${TRICKS}secret instructions` })),
    );
    const { diagnostics } = await listing(entries);

    expect(diagnostics.length).toBeGreaterThan(0);
    for (const { message } of diagnostics) {
      expect(message).not.toContain('secret instructions');
      // oxlint-disable-next-line no-control-regex -- those are what must not be there
      expect(message).not.toMatch(/[\u0000-\u001f\u200b\u2028\u202e\ufeff]/);
      expect(message).toContain(String.raw`\u{202e}`);
    }
  });
});

describe('names', () => {
  it('that are empty, astral, or half of a pair become legal ones or are told of', async () => {
    const names = ['""', '"😀"', '"𝒶𝒷"', String.raw`"\ud800"`, String.raw`"a\udc00"`, '" "', '"\\u0000"'];
    const listed = await listing(names.map((name) => `{"name":${name}}`));
    const shown = Object.keys(listed.toolset.tools);

    for (const name of shown) expect(isProviderLegalToolName(name)).toBe(true);
    expect(shown).toContain('srv__plain');
    expect(listed.of('server-entry-invalid').length).toBeGreaterThanOrEqual(2);
    // Each is there or told of.
    expect(shown.length - 1 + listed.of('server-entry-invalid').length).toBe(names.length);
    await expectPlain(listed);
  });
});

it('a listing of 10,000 tools is taken whole, in its order, and each can be called', async () => {
  const names = Array.from({ length: 10_000 }, (_, n) => `tool.${n}`);
  const server = await sessionServer({ listing: names.map((name) => toolEntry(name)) });
  const { toolset, of } = await connect([http(server.url)], { disclosure: { budget: Infinity } });
  const shown = Object.keys(toolset.tools);

  expect(shown).toHaveLength(10_000);
  expect(new Set(shown).size).toBe(10_000);
  expect(shown.map((name) => name.split('_')[3])).toEqual(names.map((name) => name.slice('tool.'.length)));
  expect(of('server-entry-invalid')).toEqual([]);
  await toolset.call(shown.at(-1) ?? '');
  expect(server.seen('tools/call').map(({ message }) => message.params.name)).toEqual(['tool.9999']);
});
