// What every adapter makes of schemas that model providers refuse.

import { toLangChainTools } from 'espalier/langchain';
import { toOpenAiChatTools, toOpenAiResponsesTools } from 'espalier/openai';
import { toAiSdkTools } from 'espalier/ai-sdk';
import { expect, it } from 'vitest';

import { connect } from '../helpers/connect.js';
import { scripted, toolEntry } from '../helpers/scripted.js';

const REST = { $defs: { F: { enum: ['a'] } }, additionalProperties: false, required: ['f'] };

const CASES: [name: string, published: unknown, given: unknown][] = [
  ['one without a type', { properties: { f: { $ref: '#/$defs/F' } }, ...REST }, undefined],
  ['one without properties', { type: 'object' }, { type: 'object', properties: {} }],
  ['one that says nothing', {}, { type: 'object', properties: {} }],
  ['one whose properties are a list', { type: 'object', properties: [] }, { type: 'object', properties: {} }],
  ['one that may be null', { type: ['object', 'null'], title: 't' }, { type: 'object', title: 't', properties: {} }],
  ['a truth value', true, { type: 'object', properties: {} }],
  ['a list', [], { type: 'object', properties: {} }],
  ['none', undefined, { type: 'object', properties: {} }],
  [
    'one with a parameter called like a prototype',
    JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"},"constructor":{}}}'),
    JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"},"constructor":{}}}'),
  ],
];

it.each(CASES)('%s becomes one of an object with properties, and the rest of it stays', async (_, published, given) => {
  const { toolset } = await connect([scripted('s', { tools: [toolEntry('t', { inputSchema: published })] }).config]);
  const expected = given ?? { type: 'object', properties: { f: { $ref: '#/$defs/F' } }, ...REST };

  const [chat] = toOpenAiChatTools(toolset);
  const [responses] = toOpenAiResponsesTools(toolset);
  const [langChain] = toLangChainTools(
    toolset,
    class {
      readonly schema: unknown;
      constructor(fields: { schema: unknown }) {
        this.schema = fields.schema;
      }
    },
  );
  const aiSdk = toAiSdkTools(toolset)['s__t']?.inputSchema as unknown as { jsonSchema: unknown };
  for (const schema of [chat?.function.parameters, responses?.parameters, langChain?.schema, aiSdk.jsonSchema]) {
    expect(schema).toEqual(expected);
    expect(Object.keys((schema as { properties: object }).properties)).toEqual(
      Object.keys((expected as { properties: object }).properties),
    );
  }
  // The tool itself passes on what was published.
  expect(toolset.tools['s__t']?.input['~standard'].jsonSchema.input()).toEqual(published ?? { type: 'object' });
});
