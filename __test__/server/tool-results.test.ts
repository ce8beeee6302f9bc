// What the functions of tools give, and what becomes of it on the wire.

import { MCPServer } from 'espalier/server';
import { describe, expect, it } from 'vitest';

import { quiet, served } from '../helpers/wire.js';

const text = (value: string): object => ({ type: 'text', text: value });

/** A result with text, and the same as structured content. */
const both = (value: object): object => ({ content: [text(JSON.stringify(value))], structuredContent: value });

const cycle: Record<string, unknown> = {};
cycle['self'] = cycle;

class Point {
  x = 1;
  get y(): number {
    return 2;
  }
}

const CASES: [name: string, given: unknown, result: object][] = [
  ['a text', 'hello', { content: [text('hello')] }],
  ['an empty text', '', { content: [text('')] }],
  ['nothing', undefined, { content: [] }],
  ['null', null, { content: [text('null')] }],
  ['a number', 1.5, { content: [text('1.5')] }],
  ['a truth value', false, { content: [text('false')] }],
  ['a list', [1, 'a'], { content: [text('[1,"a"]')] }],
  ['an object', { a: 1 }, both({ a: 1 })],
  ['an object of a class', new Point(), both({ x: 1 })],
  ['a date', new Date(0), { content: [text('"1970-01-01T00:00:00.000Z"')] }],
  ['a success with a text', { success: true, output: 'hello' }, { content: [text('hello')] }],
  ['a success with an object', { success: true, output: { a: 1 } }, both({ a: 1 })],
  ['a success with nothing', { success: true, output: undefined }, { content: [] }],
  ['a success without an output, which is output', { success: true, rows: 2 }, both({ success: true, rows: 2 })],
  ['a success that is a text, which is output', { success: 'true', output: 1 }, both({ success: 'true', output: 1 })],
  ['an inherited failure, which is output', Object.create({ success: false, error: 'x' }), both({})],
  ['a failure', { success: false, error: 'no luck' }, { content: [text('no luck')], isError: true }],
  [
    'a failure with an error object',
    { success: false, error: new Error('no luck') },
    { content: [text('no luck')], isError: true },
  ],
  ['a failure without a text', { success: false }, { content: [text('tool failed')], isError: true }],
  ['a failure with an output', { success: false, output: 1 }, { content: [text('tool failed')], isError: true }],
  [
    'content blocks',
    { content: [{ type: 'image', data: 'AA==', mimeType: 'image/png' }] },
    { content: [{ type: 'image', data: 'AA==', mimeType: 'image/png' }] },
  ],
  ['content that is no blocks, which is output', { content: [1] }, both({ content: [1] })],
  ['content that is a text, which is output', { content: 'a' }, both({ content: 'a' })],
  ['a lone half of a character', '\ud800', { content: [text('\ufffd')] }],
];

describe('a result up to 2025-11-25', () => {
  it.each(CASES)('is made of %s', async (_, given, expected) => {
    const { client } = await served({}, (server) => server.register(tool(() => given)));
    expect(await client.call('tool')).toEqual(expected);
  });
});

describe('a result of 2026-07-28', () => {
  it.each([
    ['a list', [1, 'a']],
    ['a number', 1.5],
    ['null', null],
  ])('has structured content also for %s', async (_, given) => {
    const { client } = await served({}, (server) => server.register(tool(() => given)), { revision: '2026-07-28' });
    expect(await client.call('tool')).toMatchObject({ resultType: 'complete', structuredContent: given });
  });
});

const UNWRITABLE: [name: string, given: unknown, text: string][] = [
  ['a BigInt', 1n, 'BigInt'],
  ['a BigInt inside', { a: [1n] }, 'BigInt'],
  ['a function', () => 1, 'function'],
  ['a function inside', { a: { b: () => 1 } }, 'function'],
  ['a symbol', Symbol('s'), 'symbol'],
  ['a symbol inside', [Symbol('s')], 'symbol'],
  ['a cycle', cycle, 'cycle'],
  ['what is nested without end', nested(100_000), 'nested'],
];

describe('an output that JSON cannot hold', () => {
  it.each(UNWRITABLE)('is a failure that says so: %s', async (_, given, expected) => {
    const { client } = await served({}, (server) => server.register(tool(() => given)));
    const result = await client.call('tool');
    expect(result).toMatchObject({ isError: true });
    expect(JSON.stringify(result)).toContain(expected);
    expect(await client.ask('ping')).toEqual({});
  });
});

const THROWN: [name: string, handler: () => unknown][] = [
  ['that throws nothing', () => thrower(undefined)],
  ['that throws a symbol', () => thrower(Symbol('s'))],
  ['that throws a Proxy that throws', () => thrower(hostile())],
  ['that rejects', () => Promise.reject(new Error('x'))],
  [
    'whose result has a getter that throws',
    () => ({
      get a() {
        return thrower(new Error('x'));
      },
    }),
  ],
  [
    'whose success has a getter that throws',
    () => ({
      get success() {
        return thrower(new Error('x'));
      },
    }),
  ],
  ['that gives a Proxy that throws', () => hostile()],
  [
    'that gives a thenable that throws',
    () => ({
      // oxlint-disable-next-line unicorn/no-thenable -- what it is about
      then() {
        return thrower(new Error('x'));
      },
    }),
  ],
  ['whose result throws when it is written', () => ({ toJSON: () => thrower(new Error('x')) })],
];

describe('a handler', () => {
  it.each(THROWN)('%s fails its call alone', async (_, handler) => {
    const logger = quiet();
    const { client } = await served({ logger }, (server) => server.register(tool(handler)));
    expect(await client.call('tool')).toMatchObject({ isError: true });
    expect(logger.lines).toEqual([expect.stringMatching(/^error: call "tool" failed \(ref [A-Z2-7]{12}\): /)]);
    expect(await client.ask('ping')).toEqual({});
  });

  it('that settles twice gives what came first', async () => {
    const twice = {
      // oxlint-disable-next-line unicorn/no-thenable -- what it is about
      then(resolve: (value: string) => void, reject: (error: Error) => void) {
        resolve('first');
        resolve('second');
        reject(new Error('third'));
      },
    };
    const { client } = await served({}, (server) => server.register(tool(() => twice)));
    expect(await client.call('tool')).toEqual({ content: [text('first')] });
  });

  it('keeps its error text over stdio, where the client is the operator', async () => {
    const { client } = await served({}, (server) =>
      server.register(tool(() => thrower(new Error('the disk is full')))),
    );
    expect(await client.call('tool')).toEqual({ content: [text('the disk is full')], isError: true });
  });
});

describe('an output schema', () => {
  const outputSchema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] };

  it('lets what fits it through, and is listed', async () => {
    const { client } = await served({}, (server) => server.register({ ...tool(() => ({ n: 1 })), outputSchema }));
    expect(await client.call('tool')).toEqual(both({ n: 1 }));
    expect(await client.ask('tools/list')).toMatchObject({ tools: [{ outputSchema }] });
  });

  it.each([{ n: 'x' }, 'a text', undefined])('makes a failure of %j, which is logged', async (given) => {
    const logger = quiet();
    const { client } = await served({ logger }, (server) => server.register({ ...tool(() => given), outputSchema }));
    expect(await client.call('tool')).toMatchObject({ isError: true });
    expect(logger.lines.join('\n')).toContain('output schema');
  });

  it('holds in process as well', async () => {
    const server = new MCPServer();
    server.register({ ...tool(({ n }) => ({ n })), outputSchema });
    expect(await server.callTool('tool', { n: 1 })).toEqual({ success: true, output: { n: 1 } });
    expect(await server.callTool('tool', { n: 'x' })).toMatchObject({
      success: false,
      error: expect.stringContaining('output schema') as string,
    });
  });
});

function tool(handler: (args: Record<string, unknown>) => unknown) {
  return { name: 'tool', inputSchema: { type: 'object' }, handler };
}

function thrower(thrown: unknown): never {
  throw thrown;
}

function hostile(): object {
  const trap = (): never => thrower(new Error('trapped'));
  return new Proxy({}, { get: trap, has: trap, ownKeys: trap, getOwnPropertyDescriptor: trap, getPrototypeOf: trap });
}

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < depth; level += 1) value = [value];
  return value;
}
