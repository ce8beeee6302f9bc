// Tenants and sessions with odd names, and with names that look alike: each is itself, and nobody else.

import {
  createSSETransport,
  createStreamableHttpTransport,
  MCPServer,
  type RuntimeLike,
  type StreamableHttpTransportOptions,
} from 'espalier/server';
import { describe, expect, it, onTestFinished } from 'vitest';

import { post, type Reply } from '../helpers/posted.js';
import { type Json, quiet } from '../helpers/wire.js';

const ODD: [what: string, id: string][] = [
  ['composed', 'caf\u00e9'],
  ['decomposed', 'cafe\u0301'],
  ['in another case', 'CAF\u00c9'],
  ['with a Cyrillic letter', '\u0430cme'],
  ['with a Latin one', 'acme'],
  ['with a space behind it', 'acme '],
  ['with a zero-width space', 'ac\u200bme'],
  ['with a byte order mark', '\ufeffacme'],
  ['with a NUL', 'acme\0'],
  ['with a NUL and more', 'acme\0globex'],
  ['with a colon', 'acme:globex'],
  ['with a slash', 'acme/globex'],
  ['with a bar', 'acme|globex'],
  ['with a line', 'acme\nglobex'],
  ['with quotes', '"acme" "globex"'],
  ['as Rust prints one', 'Some("acme")'],
  ['as JSON prints one', '{"tenantId":"acme"}'],
  ['like nothing', 'null'],
  ['like a number', '1'],
  ['like another number', '01'],
  ['like a member of a prototype', '__proto__'],
  ['with the sign for what is unreadable', '\ufffd'],
  ['a character of two halves', '\u{1f98a}'],
  ['very long', 'a'.repeat(100_000)],
  ['very long, and then different', `${'a'.repeat(100_000)}b`],
];

const HALVES: [what: string, id: string][] = [
  ['a first half', '\ud83e'],
  ['a second half', '\udd8a'],
  ['halves in the wrong order', '\udd8a\ud83e'],
  ['a half among others', 'acme\ud83e'],
];

function runtime(index: number): RuntimeLike {
  return { tools: { list: () => [{ name: `tool-${index}`, execute: (_args, told) => told }] } };
}

/** A server whose clients say by number who they are. */
async function started(set: (server: MCPServer) => void, options: Partial<StreamableHttpTransportOptions>) {
  const server = new MCPServer({ nativeExecution: true, allowUntenantedSessions: true, logger: quiet() });
  set(server);
  const transport = createStreamableHttpTransport({ port: 0, ...options });
  await server.start(transport);
  onTestFinished(() => server.stop());
  return (index: number, method: string, params?: Json): Promise<Reply> =>
    post(transport, method, params, { 'x-number': String(index) });
}

const ALL = [...ODD, ...HALVES].map(([, id]) => id);
const byNumber: StreamableHttpTransportOptions['tenantIdExtractor'] = ({ headers }) => ALL[Number(headers['x-number'])];

describe.each([
  ['a tenant', { tenantIdExtractor: byNumber }, (index: number, id: string) => [`s${index}`, id] as const, 'tenantId'],
  ['a session', { sessionIdExtractor: byNumber }, (_: number, id: string) => [id, undefined] as const, 'sessionId'],
] as const)('%s', (what, options, idsOf, told) => {
  const register = (server: MCPServer): void => {
    for (const [index, [, id]] of ODD.entries()) {
      const [sessionId, tenantId] = idsOf(index, id);
      server.registerSession(sessionId, runtime(index), tenantId === undefined ? {} : { tenantId });
    }
  };

  it('of an odd name reaches its own runtime, and its handlers are told the name as it is', async () => {
    const as = await started(register, options);
    for (const [index, [name, id]] of ODD.entries()) {
      const list = await as(index, 'tools/list');
      expect(list.result?.['tools'], name).toEqual([{ name: `tool-${index}`, inputSchema: { type: 'object' } }]);
      const { result } = await as(index, 'tools/call', { name: `tool-${index}` });
      expect((result?.['structuredContent'] as Json | undefined)?.[told], name).toBe(id);
      const other = (index + 1) % ODD.length;
      expect((await as(index, 'tools/call', { name: `tool-${other}` })).error, name).toMatchObject({ code: -32602 });
    }
  });

  it.each(HALVES)('with %s in its name is nobody', async (_, id) => {
    const [sessionId, tenantId] = idsOf(0, id);
    const server = new MCPServer({ logger: quiet() });
    expect(() => server.registerSession(sessionId, {}, tenantId === undefined ? {} : { tenantId })).toThrow(
      /^(the id of a session|tenantId) must have no half of a character/,
    );
    expect(server.listSessions()).toEqual([]);
    const as = await started(register, options);
    const reply = await as(ALL.indexOf(id), 'tools/list');
    if (what === 'a tenant') expect([reply.status, reply.text]).toEqual([401, '']);
    else expect(reply.error).toEqual({ code: -32001, message: 'Unauthorized' });
  });
});

it('an empty name is none', () => {
  const server = new MCPServer({ logger: quiet() });
  expect(() => server.registerSession('', {})).toThrow(/the id of a session/);
  expect(() => server.registerSession('s', {}, { tenantId: '' })).toThrow(/tenantId/);
  expect(server.stats().registeredSessions).toBe(0);
});

describe('a function that says who is there', () => {
  const WRONG: [what: string, give: () => unknown][] = [
    ['nothing', () => undefined],
    ['null', () => null],
    ['a promise of nothing', async () => undefined],
    ['an empty text', () => ''],
    ['a number', () => 7],
    ['an object that is written as a tenant', () => ({ toString: () => 'acme' })],
    ['a list with a tenant', () => ['acme']],
    [
      'an exception',
      () => {
        throw new Error('acme');
      },
    ],
    ['a rejection', () => Promise.reject(new Error('acme'))],
    ['a promise that never settles', () => new Promise(() => {})],
    [
      'a thenable that throws',
      () => ({
        // oxlint-disable-next-line unicorn/no-thenable -- that is the case
        then: () => {
          throw new Error('acme');
        },
      }),
    ],
  ];

  it.each(WRONG)('and gives %s lets nobody in, over any transport', async (_, give) => {
    const server = new MCPServer({ nativeExecution: true, logger: quiet() });
    server.registerSession('s', runtime(0), { tenantId: 'acme' });
    const extractor = give as StreamableHttpTransportOptions['tenantIdExtractor'] & {};
    const transport = createSSETransport({
      port: 0,
      streamableHttp: true,
      headerTimeoutMs: 100,
      tenantIdExtractor: extractor,
    });
    await server.start(transport);
    onTestFinished(() => server.stop());
    const reply = await post(transport, 'tools/list');
    expect([reply.status, reply.text]).toEqual([401, '']);
    const stream = await fetch(`http://127.0.0.1:${transport.port}/sse`, { headers: { accept: 'text/event-stream' } });
    expect([stream.status, await stream.text()]).toEqual([401, '']);
    await expect.poll(() => server.stats().jobs).toBe(0);
  });

  it('may take its time, and then says who it is', async () => {
    const server = new MCPServer({ nativeExecution: true, logger: quiet() });
    server.registerSession('s', runtime(0), { tenantId: 'acme' });
    const transport = createStreamableHttpTransport({
      port: 0,
      tenantIdExtractor: async () => {
        await new Promise((resolve) => {
          setTimeout(resolve, 50);
        });
        return 'acme';
      },
    });
    await server.start(transport);
    onTestFinished(() => server.stop());
    expect((await post(transport, 'tools/list')).result).toHaveProperty('tools.0.name', 'tool-0');
  });
});
