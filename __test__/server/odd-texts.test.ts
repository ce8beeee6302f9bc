// What texts hold on their way into handlers and back: many of them cross as one.

import type { MCPServer } from 'espalier/server';
import { describe, expect, it } from 'vitest';

import { served } from '../helpers/wire.js';

const ODD = [
  '',
  'plain',
  'line\nfeed\r\n, tab\t, nul\0',
  '\u2028\u2029\u0085\ufeff',
  'é, 中文, 👩‍👩‍👧‍👦, 𝔘',
  '\\ud800 is no escape, and neither is "\\"',
  '[1,"value",{}]\n[2,"text","x"]',
  ']',
  '\u007f\u0080\uffff',
];

const MEMBERS = ['__proto__', 'constructor', 'toString', ...ODD];

const LONG = 700 * 1024;

/** A server with a tool that gives back the member `value`, and one that gives back everything. */
function echoes(server: MCPServer): void {
  server.register({
    name: 'value',
    description: '',
    inputSchema: { type: 'object' },
    handler: (args) => args['value'],
  });
  server.register({ name: 'all', description: '', inputSchema: { type: 'object' }, handler: (args) => args });
}

const text = ({ content }: Record<string, unknown>): unknown => (content as { text: string }[])[0]?.text;

describe('texts that cross together', () => {
  it('are what they were', async () => {
    const { client } = await served({}, echoes);
    const answers = await Promise.all(ODD.map((value) => client.call('value', { value })));
    expect(answers.map(text)).toEqual(ODD);
  });

  it('are what they were as members of an object', async () => {
    const { client } = await served({}, echoes);
    const given = MEMBERS.map((name) => Object.fromEntries([[name, { [`a${name}`]: name }]]));
    const answers = await Promise.all(given.map((args) => client.call('all', args)));
    expect(answers.map((answer) => JSON.stringify(answer['structuredContent']))).toEqual(
      given.map((args) => JSON.stringify(args)),
    );
  });

  it('keep their order and their ends where they are long', async () => {
    const { client } = await served({}, echoes);
    const values = ['a', 'é', '中', '👩'].map((character) => character.repeat(LONG) + character.length);
    const answers = await Promise.all([...values, ...ODD].map((value) => client.call('value', { value })));
    expect(answers.map(text).every((answer, i) => answer === [...values, ...ODD][i])).toBe(true);
  });

  it('have a sign for half a character, in a text and in what is said of a failure', async () => {
    const { client } = await served({}, (server) => {
      echoes(server);
      server.register({
        name: 'fails',
        description: '',
        inputSchema: { type: 'object' },
        handler: () => ({ success: false, error: 'no \udfff' }),
      });
    });
    // As an escape on the wire, so that it arrives as half a character.
    expect(text(await client.call('value', { value: 'a\ud83d' }))).toBe('a\ufffd');
    expect(await client.call('fails')).toEqual({ content: [{ type: 'text', text: 'no \ufffd' }], isError: true });
  });

  it('are the numbers that JSON has for those that it lacks', async () => {
    const { client } = await served({}, (server) =>
      server.register({
        name: 'numbers',
        description: '',
        inputSchema: { type: 'object' },
        handler: () => ({ list: [-0, Number.NaN, Number.POSITIVE_INFINITY, 1e300, 5e-324, 2 ** 53] }),
      }),
    );
    const answer = await client.call('numbers');
    expect(answer['structuredContent']).toEqual({ list: [0, null, null, 1e300, 5e-324, 2 ** 53] });
  });
});
