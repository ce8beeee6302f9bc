// An accepted form is made complete with the defaults of its schema, and held against it, before it leaves.

import type { McpElicitationRequest, McpElicitationResult } from 'espalier/node';
import { describe, expect, it } from 'vitest';

import { connect } from '../helpers/connect.js';
import { scripted, toolEntry, type Received } from '../helpers/scripted.js';

/** Asks with each of these params in turn; gives what the handler got, and what the server was told for its answer. */
async function exchanges(
  all: { params: unknown; answer: unknown }[],
): Promise<{ asked: (McpElicitationRequest | undefined)[]; replies: Received[]; lines: string[] }> {
  const server = scripted('srv', {
    tools: [toolEntry('t')],
    calls: {
      t: all.map(({ params }, n) => [
        // As text, so that a schema may hold what a literal cannot.
        `{"jsonrpc":"2.0","id":"q${n}","method":"elicitation/create","params":${typeof params === 'string' ? params : JSON.stringify(params)}}`,
        { waitFor: { reply: `q${n}` } },
        { default: true },
      ]),
    },
  });
  const asked: (McpElicitationRequest | undefined)[] = all.map(() => undefined);
  const replies: Received[] = [];
  let current = 0;
  const { toolset } = await connect([server.config], {
    elicitation: (request) => {
      asked[current] = request;
      return all[current]?.answer as McpElicitationResult;
    },
  });
  for (; current < all.length; current += 1) {
    await toolset.call('srv__t');
    replies.push(await server.replyTo(`q${current}`));
  }
  return { asked, replies, lines: server.lines() };
}

const form = (properties: unknown, more: object = {}) => ({
  message: 'm',
  requestedSchema: { type: 'object', properties, ...more },
});
const accept = (content?: unknown) => ({ action: 'accept', ...(content === undefined ? {} : { content }) });

/** The contents that the server gets for forms and answers. */
async function contents(all: { params: unknown; answer: unknown }[]): Promise<unknown[]> {
  const { replies } = await exchanges(all);
  return replies.map(({ result, error }) => {
    if (error !== undefined) return error.code;
    expect((result as McpElicitationResult).action).toBe('accept');
    return (result as McpElicitationResult).content;
  });
}

describe('an accepted form', () => {
  it('gets the defaults of every kind of field that it leaves out, and keeps what it says', async () => {
    const properties = {
      text: { type: 'string', default: 'a "quoted" \\ text\n\u2028' },
      empty: { type: 'string', default: '' },
      whole: { type: 'integer', default: 0 },
      number: { type: 'number', default: -1.5e-7 },
      yes: { type: 'boolean', default: true },
      no: { type: 'boolean', default: false },
      one: { type: 'string', enum: ['a', 'b'], default: 'b' },
      titled: { type: 'string', oneOf: [{ const: 'x', title: 'X' }], default: 'x' },
      legacy: { type: 'string', enum: ['p'], enumNames: ['P'], default: 'p' },
      some: { type: 'array', items: { type: 'string', enum: ['a', 'b'] }, default: ['a', 'b'] },
      none: { type: 'array', items: { type: 'string', anyOf: [{ const: 'a', title: 'A' }] }, default: [] },
      without: { type: 'string' },
    };
    const defaults = {
      text: 'a "quoted" \\ text\n\u2028',
      empty: '',
      whole: 0,
      number: -1.5e-7,
      yes: true,
      no: false,
      one: 'b',
      titled: 'x',
      legacy: 'p',
      some: ['a', 'b'],
      none: [],
    };

    expect(
      await contents([
        { params: form(properties), answer: accept() },
        { params: form(properties), answer: accept({}) },
        { params: form(properties), answer: accept({ text: 'mine', no: true, without: 'w', some: ['b'] }) },
      ]),
    ).toEqual([defaults, defaults, { ...defaults, text: 'mine', no: true, without: 'w', some: ['b'] }]);
  });

  it('may have fields of any name', async () => {
    const { replies, lines } = await exchanges([
      {
        params:
          '{"message":"m","requestedSchema":{"type":"object","properties":{"__proto__":{"type":"string","default":"p"},"constructor":{"type":"string","default":"c"},"":{"type":"string","default":"e"},"a\\"b\\\\":{"type":"string","default":"q"},"toString":{"type":"string"}}}}',
        answer: accept(JSON.parse('{"toString":"t"}')),
      },
      {
        params:
          '{"message":"m","requestedSchema":{"type":"object","properties":{"__proto__":{"type":"string","default":"p"}}}}',
        answer: accept(JSON.parse('{"__proto__":"mine"}')),
      },
    ]);

    expect(replies.map(({ error }) => error)).toEqual([undefined, undefined]);
    const sent = lines.filter((line) => line.includes('"accept"'));
    expect(sent[0]).toContain('{"toString":"t","__proto__":"p","constructor":"c","":"e","a\\"b\\\\":"q"}');
    expect(sent[1]).toContain('"content":{"__proto__":"mine"}');
    expect(({} as { p?: unknown }).p).toBeUndefined();
  });

  it.each<[string, unknown]>([
    ['no properties', {}],
    ['properties that are none', { properties: 7 }],
    ['properties that are a list', { properties: [] }],
    ['a property that is true', { properties: { a: true } }],
    ['a property that is a text', { properties: { a: 'string' } }],
    ['a property that is null', { properties: { a: null } }],
    ['a default of null', { properties: { a: { default: null } } }],
    ['a reference that leads nowhere', { properties: { b: { $ref: '#/nowhere' } } }],
    ['a reference to somewhere else', { properties: { b: { $ref: 'http://127.0.0.1:1/schema' } } }],
    ['a pattern that is none', { properties: { b: { type: 'string', pattern: '(' } } }],
  ])('of an odd schema is sent as it is: %s', async (_what, schema) => {
    expect(await contents([{ params: { message: 'm', requestedSchema: schema }, answer: accept({ x: 'y' }) }])).toEqual(
      [{ x: 'y' }],
    );
  });

  it('of a schema that takes for ever to check is sent in time, or not at all', async () => {
    const evil = { a: { type: 'string', pattern: '^(a+)+$' }, b: { type: 'string', pattern: '(x+x+)+y' } };
    const begin = performance.now();
    const [content] = await contents([
      { params: form(evil), answer: accept({ a: `${'a'.repeat(50)}!`, b: 'x'.repeat(5000) }) },
    ]);

    expect(typeof content === 'number' || typeof content === 'object').toBe(true);
    expect(performance.now() - begin).toBeLessThan(15_000);
  });

  it('of a schema nested a thousand levels deep is answered', async () => {
    const deep = `${'{"type":"object","properties":{"a":'.repeat(1000)}{"type":"string"}${'}}'.repeat(1000)}`;
    const { replies } = await exchanges([{ params: `{"message":"m","requestedSchema":${deep}}`, answer: accept({}) }]);

    expect(replies[0]).toMatchObject({ result: { action: 'accept' } });
  });

  it('that does not fit its schema is not sent, and nothing of it is told', async () => {
    const wrong: [unknown, unknown, object?][] = [
      [{ a: { type: 'integer' } }, { a: 'secretive' }],
      [{ a: { type: 'string' } }, { a: 7 }],
      [{ a: { type: 'string', enum: ['x'] } }, { a: 'secretive' }],
      [{ a: { type: 'string', oneOf: [{ const: 'x' }] } }, { a: 'secretive' }],
      [{ a: { type: 'array', items: { type: 'string', enum: ['x'] } } }, { a: ['secretive'] }],
      [{ a: { type: 'string', minLength: 20 } }, { a: 'secretive' }],
      [{ a: { type: 'number', maximum: 3 } }, { a: 3.5 }],
      [{ a: { type: 'string' } }, {}, { required: ['a'] }],
      [{}, { secretive: 1 }, { additionalProperties: false }],
    ];
    const { replies, lines } = await exchanges(
      wrong.map(([properties, content, more]) => ({ params: form(properties, more), answer: accept(content) })),
    );

    expect(replies.map(({ error }) => error?.code)).toEqual(wrong.map(() => -32_603));
    expect(lines.filter((line) => line.includes('secretive'))).toEqual([]);
  });

  it.each([[[]], ['text'], [7], [true]])('whose content is %j is not sent', async (content) => {
    expect(await contents([{ params: form({}), answer: accept(content) }])).toEqual([-32_603]);
  });
});

describe('what the handler is asked', () => {
  it('is what the server sent, with the mode in it', async () => {
    const url = { mode: 'url', message: 'Open', url: 'javascript:alert(1)', elicitationId: 'e', more: [1] };
    const { asked } = await exchanges([
      { params: { ...form({ a: { type: 'string' } }), _meta: { x: 1 } }, answer: { action: 'decline' } },
      { params: { ...form({}), mode: 'form' }, answer: { action: 'decline' } },
      { params: { ...form({}), mode: null }, answer: { action: 'decline' } },
      { params: url, answer: { action: 'accept' } },
    ]);

    expect(asked).toEqual([
      { ...form({ a: { type: 'string' } }), _meta: { x: 1 }, mode: 'form' },
      { ...form({}), mode: 'form' },
      { ...form({}), mode: 'form' },
      url,
    ]);
  });
});

describe('content', () => {
  it('is only sent with an accepted form', async () => {
    const { replies } = await exchanges([
      { params: form({ a: { type: 'string', default: 'd' } }), answer: { action: 'decline', content: { a: 'x' } } },
      { params: form({ a: { type: 'string', default: 'd' } }), answer: { action: 'cancel', content: { a: 'x' } } },
      {
        params: { mode: 'url', message: 'm', url: 'https://a.example/' },
        answer: { action: 'accept', content: { a: 'x' } },
      },
      { params: form({}), answer: { action: 'accept', content: null, more: 'of mine', _meta: { secretive: 1 } } },
    ]);

    expect(replies.map(({ result }) => result)).toEqual([
      { action: 'decline' },
      { action: 'cancel' },
      { action: 'accept' },
      { action: 'accept', content: {} },
    ]);
  });
});
