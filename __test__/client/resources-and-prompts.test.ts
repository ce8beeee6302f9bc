// What servers offer beside tools: lists, single resources, prompts and completions, over stdio. The same over HTTP is in
// `remote/resources-and-prompts.test.ts`.

import { AbortError, type McpToolset } from 'espalier/node';
import { describe, expect, it } from 'vitest';

import { connect } from '../helpers/connect.js';
import { mcpError, rejection } from '../helpers/errors.js';
import { scripted, type Script, type Scripted, type Step } from '../helpers/scripted.js';
import { timed } from '../helpers/until.js';

const ALL = { resources: {}, prompts: {}, completions: {} };

function offering(on: Script['on'] = {}, name = 'srv', more: Script = {}): Scripted {
  return scripted(name, { capabilities: ALL, on, ...more });
}

/** One page of each list that there is. */
const LISTS = [
  ['resources', 'resources/list', 'uri', (toolset: McpToolset, server?: string) => toolset.resources.list(server)],
  [
    'resourceTemplates',
    'resources/templates/list',
    'uriTemplate',
    (toolset: McpToolset, server?: string) => toolset.resources.templates(server),
  ],
  ['prompts', 'prompts/list', 'name', (toolset: McpToolset, server?: string) => toolset.prompts.list(server)],
] as const;

describe.each(LISTS)('the list of %s', (member, method, key, list) => {
  const page = (names: string[], nextCursor?: unknown): Step => ({
    reply: { [member]: names.map((name) => ({ [key]: name })), ...(nextCursor === undefined ? {} : { nextCursor }) },
  });
  const names = (entries: readonly { [member: string]: unknown }[]) => entries.map((entry) => entry[key]);

  it('holds every page, each entry as it was sent and with its server', async () => {
    const server = offering({
      [method]: [
        [{ reply: { [member]: [{ [key]: 'a', title: 'A', x: { y: [1] } }], nextCursor: '' } }],
        [page(['b', 'c'], ' odd " cursor ')],
        [page(['d'])],
      ],
    });
    const { toolset, diagnostics } = await connect([server.config]);
    const entries = await list(toolset, 'srv');

    expect(entries[0]).toEqual({ [key]: 'a', title: 'A', x: { y: [1] }, server: 'srv' });
    expect(names(entries)).toEqual(['a', 'b', 'c', 'd']);
    expect(server.received(method).map(({ params }) => params?.cursor)).toEqual([undefined, '', ' odd " cursor ']);
    expect(diagnostics).toEqual([]);
  });

  it('says whose an entry is, whatever the server says', async () => {
    const server = offering({
      [method]: [
        [
          {
            replyText: `{"${member}":[{"${key}":"a","server":"liar"},{"server":"liar","server":"liar","${key}":"b"}]}`,
          },
        ],
      ],
    });
    const { toolset } = await connect([server.config]);

    expect(await list(toolset)).toEqual([
      { [key]: 'a', server: 'srv' },
      { [key]: 'b', server: 'srv' },
    ]);
  });

  it('keeps what prototypes are made of as plain members', async () => {
    const server = offering({
      [method]: [[{ replyText: `{"${member}":[{"${key}":"a","__proto__":{"polluted":1},"constructor":2}]}` }]],
    });
    const { toolset } = await connect([server.config]);
    const [entry] = await list(toolset);

    expect(Object.getPrototypeOf(entry)).toBe(Object.prototype);
    expect(Object.keys(entry ?? {}).toSorted()).toEqual([key, '__proto__', 'constructor', 'server'].toSorted());
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  it('that has what is no entry has the others', async () => {
    const server = offering({ [method]: [[{ reply: { [member]: [null, 7, 'x', [], { [key]: 'a' }, {}] } }]] });
    const { toolset } = await connect([server.config]);

    expect(await list(toolset)).toEqual([{ [key]: 'a', server: 'srv' }, { server: 'srv' }]);
  });

  it.each<[string, Step[][], string[]]>([
    ['the same page for ever', [[page(['a', 'b'], 'c')]], ['a', 'b']],
    ['a circle of two', [[page(['a'], 'c1')], [page(['b'], 'c2')], [page(['c'], 'c1')]], ['a', 'b', 'c']],
  ])('that goes in a circle ends there, is kept, and is told of: %s', async (_what, pages, expected) => {
    const server = offering({ [method]: pages });
    const { toolset, diagnostics } = await connect([server.config]);

    expect(names(await list(toolset, 'srv'))).toEqual(expected);
    expect(diagnostics).toEqual([
      expect.objectContaining({
        rule: 'listing-limited',
        origin: 'srv',
        message: expect.stringContaining(`${pages.length === 1 ? 2 : 3} pages`),
      }),
    ]);
  });

  it.each([7, true, {}])('whose cursor is %j ends there, and is told of', async (cursor) => {
    const server = offering({ [method]: [[page(['a'], cursor)]] });
    const { toolset, of } = await connect([server.config]);

    expect(names(await list(toolset, 'srv'))).toEqual(['a']);
    expect(of('protocol-violation')).toHaveLength(1);
  });

  it('without end is given up at the time limit', async () => {
    // Each page is quick, and has a cursor of its own.
    const server = offering({
      [method]: [[{ wait: 20 }, `{"jsonrpc":"2.0","id":$id,"result":{"${member}":[],"nextCursor":"$n"}}`]],
    });
    const { toolset } = await connect([{ ...server.config, timeoutMs: 3000 }]);
    const { value, ms } = await timed(() => mcpError(list(toolset, 'srv'), 'timeout'));

    expect(value.message).toContain(method);
    expect(ms).toBeLessThan(15_000);
    const asked = server.received(method).length;
    expect(asked).toBeGreaterThan(3);
  });

  it.each<[string, object, string]>([
    ['maxTools', { maxTools: 3 }, 'maxTools'],
    ['maxCatalogBytes', { maxCatalogBytes: 60 }, 'maxCatalogBytes'],
  ])('over `%s` fails, and keeps nothing', async (_what, options, word) => {
    const pages = [[page(['a', 'b'], 'c')], [page(['d', 'e'])]];
    const server = offering({ [method]: [...pages, ...pages] });
    const { toolset, of } = await connect([server.config], options);
    const error = await mcpError(list(toolset, 'srv'), 'too-large');

    expect(error.message).toContain(word);
    expect(await list(toolset)).toEqual([]);
    expect(of('connection-failure')).toHaveLength(1);
  });

  it.each<[string, Step]>([
    ['no object', { reply: [] }],
    ['no list', { reply: {} }],
    ['an object for the list', { reply: { [member]: {} } }],
    ['null for the list', { reply: { [member]: null } }],
  ])('that is %s is invalid', async (_what, step) => {
    const server = offering({ [method]: [[step]] });
    const { toolset } = await connect([server.config]);
    const error = await mcpError(list(toolset, 'srv'), 'invalid-response');

    expect(error.message).toContain('"srv"');
    expect(error.message).toContain(method);
  });

  it('of all servers is in the order of the configuration; one that fails costs only itself, and is told of', async () => {
    const servers = [
      offering({ [method]: [[{ wait: 50 }, page(['slow'])]] }, 'a'),
      offering({ [method]: [[{ error: { code: -32_603, message: 'broken today' } }]] }, 'b'),
      scripted('without', { capabilities: { tools: {} } }),
      offering({ [method]: [[page(['quick'])]] }, 'c'),
    ];
    const { toolset, diagnostics } = await connect(servers.map(({ config }) => config));

    expect(await list(toolset)).toEqual([
      { [key]: 'slow', server: 'a' },
      { [key]: 'quick', server: 'c' },
    ]);
    expect(servers[2]?.received(method)).toEqual([]);
    expect(diagnostics).toEqual([
      expect.objectContaining({
        rule: 'connection-failure',
        origin: 'b',
        message: expect.stringContaining('broken today'),
      }),
    ]);
    await mcpError(list(toolset, 'b'), 'server-error');
  });

  it('of a server that never came up is not there, and is not told of twice', async () => {
    const server = offering({ [method]: [[page(['a'])]] });
    const { toolset, diagnostics } = await connect([
      { type: 'stdio', name: 'absent', command: 'no-such-command' },
      server.config,
    ]);
    const before = diagnostics.length;

    expect(names(await list(toolset))).toEqual(['a']);
    expect(diagnostics).toHaveLength(before);
    await mcpError(list(toolset, 'absent'), 'unavailable');
  });

  it('of a server that does not announce any is empty', async () => {
    const server = scripted('srv', { capabilities: { tools: {} } });
    const { toolset } = await connect([server.config]);

    expect(await list(toolset, 'srv')).toEqual([]);
    expect(await list(toolset)).toEqual([]);
    expect(server.received(method)).toEqual([]);
  });

  it('of a server that died is asked for from its next life', async () => {
    const server = offering({ [method]: [[page(['a'])]] }, 'srv', {
      tools: [{ name: 'die', inputSchema: { type: 'object' } }],
      calls: { die: [[{ exit: 1 }]] },
    });
    const { toolset } = await connect([server.config]);
    await mcpError(toolset.call('srv__die'), 'connection-lost');

    expect(names(await list(toolset))).toEqual(['a']);
    expect(server.starts()).toHaveLength(2);
  });

  it.each([5, null, {}])('of %j is a wrong argument', async (server) => {
    const { toolset } = await connect([offering().config]);
    await mcpError(list(toolset, server as never), 'invalid-arguments');
    // Nothing is left waiting.
    await toolset.close();
  });
});

describe('the name of a server', () => {
  const three = () => [
    offering({ 'resources/list': [[{ reply: { resources: [{ uri: 'of one' }] } }]] }, 'twin'),
    offering({ 'resources/list': [[{ reply: { resources: [{ uri: 'of two' }] } }]] }, 'twin'),
    offering({ 'resources/list': [[{ reply: { resources: [{ uri: 'of three' }] } }]] }, 'other'),
  ];

  it('is the projected one, also in entries, and the configured one where it is the only one', async () => {
    const { toolset } = await connect(three().map(({ config }) => config));
    const [one, two, other] = toolset.servers().map(({ projectedName }) => projectedName);

    expect(one).not.toBe(two);
    expect(await toolset.resources.list()).toEqual([
      { uri: 'of one', server: one },
      { uri: 'of two', server: two },
      { uri: 'of three', server: 'other' },
    ]);
    expect(await toolset.resources.list(two)).toEqual([{ uri: 'of two', server: two }]);
    expect(await toolset.resources.list(other)).toHaveLength(1);
    const error = await mcpError(toolset.resources.list('twin'), 'invalid-arguments');
    expect(error.message).toContain('"twin"');
    await mcpError(
      toolset.resources.subscribe('twin', 'x', () => {}),
      'invalid-arguments',
    );
  });

  it.each(['', 'nobody', '__proto__', 'constructor', 'SRV', 'srv__'])(
    'that nobody has is refused: %j',
    async (name) => {
      const { toolset } = await connect([offering().config]);
      const asked = [
        toolset.resources.list(name),
        toolset.resources.templates(name),
        toolset.resources.read(name, 'file:///a'),
        toolset.resources.subscribe(name, 'file:///a', () => {}),
        toolset.prompts.list(name),
        toolset.prompts.get(name, 'p'),
        toolset.prompts.complete(name, { type: 'ref/prompt', name: 'p' }, { name: 'a', value: '' }),
      ];

      const errors = await Promise.all(asked.map((one) => mcpError(one, 'invalid-arguments')));
      for (const error of errors) expect(error.message).toContain(JSON.stringify(name));
    },
  );
});

/** Each request for one thing, and what its answer has to have. */
const SINGLE = [
  [
    'resources/read',
    'contents',
    [{ uri: 'file:///a', text: 'x' }],
    (toolset: McpToolset, signal?: AbortSignal) =>
      toolset.resources.read('srv', 'file:///a', signal === undefined ? {} : { signal }),
    { uri: 'file:///a' },
  ],
  [
    'prompts/get',
    'messages',
    [{ role: 'user', content: { type: 'text', text: 'hi' } }],
    (toolset: McpToolset, signal?: AbortSignal) =>
      toolset.prompts.get('srv', 'p', { a: 'b' }, signal === undefined ? {} : { signal }),
    { name: 'p', arguments: { a: 'b' } },
  ],
  [
    'completion/complete',
    'completion',
    { values: ['x'], total: 1, hasMore: false },
    (toolset: McpToolset) =>
      toolset.prompts.complete(
        'srv',
        { type: 'ref/resource', uri: 'file:///{x}' },
        { name: 'x', value: 'v' },
        { arguments: { y: 'z' } },
      ),
    {
      ref: { type: 'ref/resource', uri: 'file:///{x}' },
      argument: { name: 'x', value: 'v' },
      context: { arguments: { y: 'z' } },
    },
  ],
] as const;

describe.each(SINGLE)('%s', (method, member, sent, ask, params) => {
  it('asks what it is asked, and gives the result as it came', async () => {
    const result = { [member]: sent, description: 'd', _meta: { m: 1 }, unknown: [null] };
    const server = offering({ [method]: [[{ reply: result }]] });
    const { toolset } = await connect([server.config]);

    expect(await ask(toolset)).toEqual(result);
    expect(server.received(method)[0]?.params).toEqual(params);
  });

  it.each<[string, Step]>([
    ['nothing', { reply: null }],
    ['no object', { reply: 'x' }],
    ['an object without it', { reply: {} }],
    ['null for it', { reply: { [member]: null } }],
    ['a text for it', { reply: { [member]: 'x' } }],
    ['the wrong kind for it', { reply: { [member]: member === 'completion' ? [] : {} } }],
  ])('that is answered with %s is an invalid response', async (_what, step) => {
    const server = offering({ [method]: [[step]] });
    const { toolset } = await connect([server.config]);
    const error = await mcpError(ask(toolset), 'invalid-response');

    expect(error.message).toContain(method);
    expect(error.message).toContain('"srv"');
  });

  it('that is answered with an error gives it as it was sent', async () => {
    const refusal = { code: -32_002, message: 'no such thing', data: { uri: 'file:///a' } };
    const server = offering({ [method]: [[{ error: refusal }]] });
    const { toolset } = await connect([server.config]);

    expect((await mcpError(ask(toolset), 'server-error')).data).toEqual(refusal);
  });

  it('that gets no answer is given up at the time limit, and the server is told', async () => {
    const server = offering({ [method]: [[]] });
    const { toolset } = await connect([{ ...server.config, timeoutMs: 3000 }]);
    const { value, ms } = await timed(() => mcpError(ask(toolset), 'timeout'));

    expect(ms).toBeLessThan(15_000);
    expect(value.message).toMatch(/[3-9]\d{3} ms/);
    const [request] = server.received(method);
    const [cancelled] = await server.waitFor('notifications/cancelled');
    expect(cancelled?.params.requestId).toBe(request?.id);
  });

  it('under way rejects with `closed` when the toolset is closed, and so does every later one', async () => {
    const server = offering({ [method]: [[]] });
    const { toolset } = await connect([server.config]);
    const pending = rejection(ask(toolset));
    await server.waitFor(method);
    const closing = toolset.close();
    const meanwhile = rejection(ask(toolset));
    await closing;

    expect(await pending).toMatchObject({ code: 'closed' });
    expect(await meanwhile).toMatchObject({ code: 'closed' });
    await mcpError(ask(toolset), 'closed');
  });

  it('under way rejects at once when the server dies', async () => {
    const server = offering({ [method]: [[{ exit: 3 }]] });
    const { toolset } = await connect([server.config]);
    const error = await mcpError(ask(toolset), 'connection-lost');

    expect(error.message).toContain('unknown');
  });
});

describe.each([SINGLE[0], SINGLE[1]])('an abort of %s', (method, _member, _value, ask) => {
  it('beforehand sends nothing', async () => {
    const server = offering({ [method]: [[]] });
    const { toolset } = await connect([server.config]);
    const error = await rejection(ask(toolset, AbortSignal.abort('no')));

    expect(error).toBeInstanceOf(AbortError);
    expect(error).toMatchObject({ cause: 'no' });
    expect(server.received(method)).toEqual([]);
  });

  it('meanwhile rejects at once, and tells the server', async () => {
    const server = offering({ [method]: [[]] });
    const { toolset } = await connect([server.config]);
    const controller = new AbortController();
    const pending = rejection(ask(toolset, controller.signal));
    const [request] = await server.waitFor(method);
    controller.abort(new Error('mine'));

    const error = await pending;
    expect(error).toBeInstanceOf(AbortError);
    expect(error).toMatchObject({ cause: expect.objectContaining({ message: 'mine' }) });
    const [cancelled] = await server.waitFor('notifications/cancelled');
    expect(cancelled?.params.requestId).toBe(request?.id);
    expect(JSON.stringify(cancelled)).not.toContain('mine');
  });
});

describe('arguments', () => {
  it.each<[string, (toolset: McpToolset) => Promise<unknown>]>([
    ['a uri that is no text', (toolset) => toolset.resources.read('srv', 7 as never)],
    ['no server', (toolset) => toolset.resources.read(undefined as never, 'file:///a')],
    ['a name that is no text', (toolset) => toolset.prompts.get('srv', {} as never)],
    ['a BigInt', (toolset) => toolset.prompts.get('srv', 'p', { a: 1n as never })],
    ['a server that is no text', (toolset) => toolset.prompts.complete(1 as never, {} as never, {} as never)],
    ['a uri to subscribe to that is no text', (toolset) => toolset.resources.subscribe('srv', 1 as never, () => {})],
  ])('%s is refused', async (_what, ask) => {
    const server = offering();
    const { toolset } = await connect([server.config]);

    await mcpError(ask(toolset), 'invalid-arguments');
    expect(server.received().map(({ method }) => method)).toEqual([
      'initialize',
      'notifications/initialized',
      'tools/list',
    ]);
  });

  it('that is no function for a listener is a wrong option, and so is a signal that is none', async () => {
    const { toolset } = await connect([offering().config]);

    await mcpError(toolset.resources.subscribe('srv', 'x', 'y' as never), 'invalid-option');
    await mcpError(toolset.resources.read('srv', 'x', { signal: 'y' as never }), 'invalid-option');
  });

  it('of any text reach the server as they are', async () => {
    const uri = 'x:\u0000"\\\n\u2028\ud83d\ude00 工具';
    const server = offering({
      'resources/read': [[{ reply: { contents: [] } }]],
      'prompts/get': [[{ reply: { messages: [] } }]],
    });
    const { toolset } = await connect([server.config]);
    await toolset.resources.read('srv', uri);
    await toolset.prompts.get('srv', uri, JSON.parse('{"__proto__":"p"}') as Record<string, string>);

    expect(server.received('resources/read')[0]?.params).toEqual({ uri });
    expect(server.lines().find((line) => line.includes('prompts/get'))).toContain('{"__proto__":"p"}');
    expect(server.received('prompts/get')[0]?.params.name).toBe(uri);
  });
});

it('many at once each get their own', async () => {
  const server = offering({
    'resources/read': [[{ wait: 5 }, '{"jsonrpc":"2.0","id":$id,"result":{"contents":[{"uri":"$n"}]}}']],
  });
  const { toolset } = await connect([server.config]);
  const results = await Promise.all(
    Array.from({ length: 200 }, (_, n) => toolset.resources.read('srv', `file:///${n}`)),
  );

  const sent = server.received('resources/read').map(({ params }) => params.uri);
  expect(new Set(results.map(({ contents }) => contents[0]?.uri)).size).toBe(200);
  for (const [index, { contents }] of results.entries()) {
    expect(sent[Number(contents[0]?.uri) - 1]).toBe(`file:///${index}`);
  }
});
