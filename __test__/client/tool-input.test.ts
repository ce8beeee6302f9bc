import { describe, expect, it } from 'vitest';

import { connect, tool } from '../helpers/connect.js';
import { scripted } from '../helpers/scripted.js';
import { vectors } from '../helpers/vectors.js';

async function inputOf(inputSchemaText?: string): Promise<{ standard: ReturnType<typeof tool>['input']['~standard'] }> {
  const schema = inputSchemaText === undefined ? '' : `,"inputSchema":${inputSchemaText}`;
  const server = scripted('srv', { on: { 'tools/list': [[{ replyText: `{"tools":[{"name":"t"${schema}}]}` }]] } });
  const { toolset } = await connect([server.config]);
  return { standard: tool(toolset, 'srv__t').input['~standard'] };
}

describe('`input` of a projected tool', () => {
  it('is a Standard Schema of version 1', async () => {
    const { standard } = await inputOf('{"type":"object"}');

    expect(standard).toMatchObject({ version: 1, vendor: 'espalier' });
    expect(standard.validate).toBeTypeOf('function');
    expect(standard.jsonSchema.input).toBeTypeOf('function');
    expect(standard.jsonSchema.output).toBeTypeOf('function');
  });

  it('never refuses: the server is the authority on its schema', async () => {
    const { standard } = await inputOf('{"type":"object","required":["x"],"additionalProperties":false}');

    for (const { raw, value } of vectors.toolArguments.inputValidate) {
      const given = raw === 'undefined' ? undefined : raw;
      expect(await standard.validate(given)).toEqual({ value });
    }
  });

  it('passes an object on as the very same object', async () => {
    const { standard } = await inputOf('{"type":"object"}');

    const given = { a: 1 };
    expect(await standard.validate(given)).toHaveProperty('value', given);
    expect(((await standard.validate(given)) as { value: unknown }).value).toBe(given);
  });

  it.each([
    '{}',
    '{"type":"object"}',
    '{"properties":{}}',
    '{"type":"object","properties":[]}',
    '{"type":["object","null"]}',
    '{"type":"object","properties":{"f":{"$ref":"#/$defs/F"}},"$defs":{"F":{"enum":["a"]}},"additionalProperties":false}',
    '{"type":"object","properties":{"f":{"$ref":"#/definitions/F"}},"definitions":{"F":{"enum":["a",null,1.5]}}}',
    '{"type":"object","properties":{"z":{"type":"string"},"10":{"type":"string"},"a":{"type":"string"}}}',
    '{"type":"object","description":"caf\\u00e9 \\ud83d\\ude00 \\ud800","maximum":9007199254740993,"x":1e400,"y":-0}',
    '{"type":"object","properties":{"__proto__":{"type":"string"},"constructor":{"type":"string"}}}',
  ])('has the JSON Schema that the server sent: %s', async (text) => {
    const { standard } = await inputOf(text);

    const given = standard.jsonSchema.input();
    expect(given).toEqual(JSON.parse(text));
    // Order of members included.
    expect(JSON.stringify(given)).toBe(JSON.stringify(JSON.parse(text)));
  });

  it.each([['absent'], ['null']])('has an object schema when the schema is %s', async (kind) => {
    const { standard } = await inputOf(kind === 'null' ? 'null' : undefined);

    expect(standard.jsonSchema.input()).toEqual({ type: 'object' });
  });

  it('gives a schema of its own each time, so that changing one changes nothing', async () => {
    const { standard } = await inputOf('{"type":"object","properties":{"a":{"type":"string"}}}');

    const mine = standard.jsonSchema.input() as { properties?: Record<string, unknown>; extra?: boolean };
    delete mine.properties?.['a'];
    mine.extra = true;
    expect(standard.jsonSchema.input()).toEqual({ type: 'object', properties: { a: { type: 'string' } } });
  });

  it('keeps a schema that is 300 levels deep', async () => {
    const deep = `${'{"type":"object","properties":{"a":'.repeat(150)}{}${'}}'.repeat(150)}`;
    const { standard } = await inputOf(deep);

    expect(JSON.stringify(standard.jsonSchema.input())).toBe(deep);
  });
});

describe('the definition of a tool', () => {
  function nested(levels: number): string {
    return `{"type":"object","default":${'['.repeat(levels)}${']'.repeat(levels)}}`;
  }

  it('may be nested 300 levels deep', async () => {
    const { standard } = await inputOf(nested(300));

    expect(JSON.stringify(standard.jsonSchema.input())).toBe(nested(300));
    expect(JSON.stringify(standard.jsonSchema.output())).toBe(nested(300));
  });

  it('that is nested 100,000 levels deep is skipped, and the others stay', async () => {
    const server = scripted('srv', {
      on: {
        'tools/list': [[{ replyText: `{"tools":[{"name":"deep","inputSchema":${nested(100_000)}},{"name":"t"}]}` }]],
      },
    });
    const { toolset, of } = await connect([server.config]);

    expect(Object.keys(toolset.tools)).toEqual(['srv__t']);
    expect(of('server-entry-invalid')).toEqual([
      expect.objectContaining({ origin: 'srv', message: expect.stringContaining('"deep"') }),
    ]);
  });
});
