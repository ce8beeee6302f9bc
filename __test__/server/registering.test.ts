// What can be registered, and what becomes of it.

import { MCPServer, type MCPToolDefinition, type RuntimeLike } from 'espalier/server';
import { describe, expect, it } from 'vitest';

import { until } from '../helpers/until.js';
import { quiet, served } from '../helpers/wire.js';

const tool = (name: string, handler: MCPToolDefinition['handler'] = () => name): MCPToolDefinition => ({
  name,
  inputSchema: { type: 'object' },
  ...(handler === undefined ? {} : { handler }),
});

describe('a registered tool', () => {
  it('is listed and called, whether a runtime is bound or not', async () => {
    const { client } = await served({}, (server) => {
      server.register({
        name: 'ping',
        description: 'Health check.',
        inputSchema: { type: 'object', properties: {} },
        handler: async () => ({ success: true, output: 'pong' }),
      });
    });
    expect(await client.ask('tools/list')).toEqual({
      tools: [{ name: 'ping', description: 'Health check.', inputSchema: { type: 'object', properties: {} } }],
    });
    expect(await client.call('ping')).toEqual({ content: [{ type: 'text', text: 'pong' }] });
    expect(await client.call('other')).toEqual({
      content: [{ type: 'text', text: 'No runtime bound' }],
      isError: true,
    });
  });

  it('replaces a projected one of its name, and another registered one', async () => {
    const runtime: RuntimeLike = {
      tools: {
        list: () => [
          { name: 'a', execute: () => 'projected' },
          { name: 'b', execute: () => 'projected' },
        ],
      },
    };
    const { server, client } = await served({ runtime, nativeExecution: true }, (made) => {
      made.register(tool('a', () => 'first'));
      made.registerTool(tool('a', () => 'second'));
    });
    const { tools } = (await client.ask('tools/list')) as { tools: { name: string }[] };
    expect(tools.map(({ name }) => name).toSorted()).toEqual(['a', 'b']);
    expect(await client.call('a')).toMatchObject({ content: [{ text: 'second' }] });
    expect(await server.callTool('a')).toEqual({ success: true, output: 'second' });
    expect(server.unregister('a')).toBe(true);
    expect(server.unregister('a')).toBe(false);
    expect(await client.call('a')).toMatchObject({ content: [{ text: 'projected' }] });
  });

  it('is hidden from whoever has no tenant when it is for tenants', async () => {
    let ran = 0;
    const { server, client } = await served({ runtime: {} }, (made) => {
      made.register(
        tool('scoped', () => (ran += 1)),
        { tenantScoped: true },
      );
    });
    expect(await client.ask('tools/list')).toEqual({ tools: [] });
    expect((await client.request('tools/call', { name: 'scoped' })).error).toMatchObject({ code: -32602 });
    expect(await server.listTools()).toEqual([]);
    expect(await server.callTool('scoped')).toMatchObject({ success: false, code: -32602 });
    expect(ran).toBe(0);
  });

  it('shows what else was given with it in the revisions that have it', async () => {
    const more = { title: 'T', annotations: { readOnlyHint: true }, icons: [{ src: 'data:,' }], _meta: { a: 1 } };
    const set = (server: MCPServer): void => server.register({ ...tool('a'), ...more });
    const old = await served({}, set, { revision: '2024-11-05' });
    expect(await old.client.ask('tools/list')).toEqual({ tools: [{ name: 'a', inputSchema: { type: 'object' } }] });
    const recent = await served({}, set);
    expect(await recent.client.ask('tools/list')).toEqual({
      tools: [{ name: 'a', inputSchema: { type: 'object' }, ...more }],
    });
  });

  it('goes to the executor when it has no handler, and is refused without one', async () => {
    const server = new MCPServer({}, async (name, args) => ({ success: true, output: { name, args } }));
    server.register({ name: 'a', inputSchema: { type: 'object' } });
    expect(await server.callTool('a', { x: 1 })).toEqual({ success: true, output: { name: 'a', args: { x: 1 } } });
    const bare: MCPToolDefinition = { name: 'a', inputSchema: {} };
    expect(() => new MCPServer().register(bare)).toThrow(/"a"/);
  });

  it('is validated only where that is said', async () => {
    const inputSchema = { type: 'object', properties: { n: { type: 'number', minimum: 5 } }, required: ['n'] };
    const call = async (config: object, own: object, args: object): Promise<boolean> => {
      const server = new MCPServer(config);
      server.register({ ...tool('a'), inputSchema, ...own });
      return (await server.callTool('a', { ...args })).success;
    };
    expect(await call({}, {}, {})).toBe(true);
    expect(await call({ validateArguments: 'shallow' }, {}, {})).toBe(false);
    expect(await call({ validateArguments: 'shallow' }, {}, { n: 1 })).toBe(true);
    expect(await call({ validateArguments: 'full' }, {}, { n: 1 })).toBe(false);
    expect(await call({ validateArguments: 'full' }, { validateArguments: 'none' }, {})).toBe(true);
    expect(await call({}, { validateArguments: 'full' }, { n: 1 })).toBe(false);
    expect(await call({}, { validateArguments: 'full' }, { n: 5 })).toBe(true);
  });

  it.each([
    ['null', null, 'tool'],
    ['one without a name', { inputSchema: {}, handler() {} }, 'name'],
    ['one whose handler is none', { name: 'bad', inputSchema: {}, handler: 1 }, '"bad"'],
    ['one whose schema is none', { name: 'bad', inputSchema: 1, handler() {} }, '"bad"'],
    ['one whose schema cannot be converted', { name: 'bad', inputSchema: { '~standard': {} }, handler() {} }, '"bad"'],
    ['one whose schema is of no object', { name: 'bad', inputSchema: { type: 'string' }, handler() {} }, '"bad"'],
    ['one whose output schema is none', { name: 'bad', inputSchema: {}, outputSchema: 1, handler() {} }, '"bad"'],
    ['one whose title is none', { name: 'bad', inputSchema: {}, title: 1, handler() {} }, 'title'],
    ['one whose annotations are none', { name: 'bad', inputSchema: {}, annotations: [], handler() {} }, 'annotations'],
    ['one whose icons are none', { name: 'bad', inputSchema: {}, icons: {}, handler() {} }, 'icons'],
    [
      'one that is validated otherwise',
      { name: 'bad', inputSchema: {}, validateArguments: 'deep', handler() {} },
      'validateArguments',
    ],
  ])('cannot be %s', (_, given, named) => {
    expect(() => new MCPServer().register(given as never)).toThrow(TypeError);
    expect(() => new MCPServer().register(given as never)).toThrow(named);
  });

  it('takes no option that there is not', () => {
    expect(() => new MCPServer().register(tool('a'), { tenantscoped: true } as never)).toThrow(/tenantscoped/);
    expect(() => new MCPServer().register(tool('a'), { tenantScoped: 1 } as never)).toThrow(/tenantScoped/);
  });
});

describe('registered resources', () => {
  it('are listed and read, with names like those of prototypes as well', async () => {
    const { client } = await served({}, (server) => {
      server.registerResource({
        uri: 'memo://a',
        name: '__proto__',
        title: 'A',
        description: 'd',
        mimeType: 'text/plain',
        size: 2,
        annotations: { priority: 1 },
        handler: (uri) => ({ text: uri }),
      });
      server.registerResource({
        uri: 'constructor',
        name: 'c',
        handler: async () => ({ blob: new Uint8Array([1, 2, 3]) }),
      });
    });
    expect(await client.ask('resources/list')).toEqual({
      resources: [
        {
          uri: 'memo://a',
          name: '__proto__',
          title: 'A',
          description: 'd',
          mimeType: 'text/plain',
          size: 2,
          annotations: { priority: 1 },
        },
        { uri: 'constructor', name: 'c' },
      ],
    });
    expect(await client.ask('resources/read', { uri: 'memo://a' })).toEqual({
      contents: [{ uri: 'memo://a', mimeType: 'text/plain', text: 'memo://a' }],
    });
    expect(await client.ask('resources/read', { uri: 'constructor' })).toEqual({
      contents: [{ uri: 'constructor', blob: 'AQID' }],
    });
    expect((await client.request('resources/read', { uri: 'toString' })).error).toMatchObject({ code: -32002 });
  });

  it('may have several parts, of other types and URIs', async () => {
    const { client } = await served({}, (server) => {
      server.registerResource({
        uri: 'memo://a',
        name: 'a',
        mimeType: 'text/plain',
        handler: () => ({
          contents: [{ text: 'x' }, { uri: 'memo://b', mimeType: 'image/png', blob: 'AQID', _meta: { a: 1 } }],
        }),
      });
    });
    expect(await client.ask('resources/read', { uri: 'memo://a' })).toEqual({
      contents: [
        { uri: 'memo://a', mimeType: 'text/plain', text: 'x' },
        { uri: 'memo://b', mimeType: 'image/png', blob: 'AQID', _meta: { a: 1 } },
      ],
    });
  });

  it.each([
    ['no content', 1],
    ['neither text nor bytes', {}],
    ['bytes that are no base64', { blob: '***' }],
    ['contents that are no list', { contents: 1 }],
    ['a part that is none', { contents: [1] }],
  ])('that give %s are an error with a reference', async (_, given) => {
    const { client } = await served({}, (server) =>
      server.registerResource({ uri: 'memo://a', name: 'a', handler: () => given as never }),
    );
    expect((await client.request('resources/read', { uri: 'memo://a' })).error).toEqual({
      code: -32603,
      message: expect.stringMatching(/^Internal error \(ref /) as string,
    });
  });

  it('come from templates, the earliest that matches first, after those that are registered by themselves', async () => {
    const { client } = await served({}, (server) => {
      server.registerResourceTemplate({
        uriTemplate: 'memo://{day}',
        name: 'day',
        handler: (uri, { day }) => ({ text: `${uri} ${String(day)}` }),
      });
      server.registerResourceTemplate({
        uriTemplate: 'memo://{+rest}',
        name: 'rest',
        handler: (_uri, { rest }) => ({ text: `rest ${String(rest)}` }),
      });
      server.registerResource({ uri: 'memo://today', name: 'today', handler: () => ({ text: 'itself' }) });
    });
    const read = async (uri: string): Promise<unknown> => (await client.ask('resources/read', { uri }))['contents'];
    expect(await read('memo://today')).toMatchObject([{ text: 'itself' }]);
    expect(await read('memo://monday')).toMatchObject([{ text: 'memo://monday monday' }]);
    expect(await read('memo://a/b')).toMatchObject([{ text: 'rest a/b' }]);
    expect(await client.ask('resources/templates/list')).toEqual({
      resourceTemplates: [
        { uriTemplate: 'memo://{day}', name: 'day' },
        { uriTemplate: 'memo://{+rest}', name: 'rest' },
      ],
    });
  });

  it('come from providers, under those that are registered by themselves', async () => {
    const calls: unknown[] = [];
    const runtime: RuntimeLike = {};
    const { client } = await served({ runtime }, (server) => {
      server.registerResources((...args) => {
        calls.push(args);
        return [
          { uri: 'memo://a', name: 'provided', handler: () => ({ text: 'provided' }) },
          { uri: 'memo://b', name: 'b', handler: () => ({ text: 'b' }) },
        ];
      });
      server.registerResources(
        async (context) => {
          calls.push([context]);
          return [{ uri: 'memo://b', name: 'later', handler: () => ({ text: 'later' }) }, null as never];
        },
        { perRequest: true },
      );
      server.registerResource({ uri: 'memo://a', name: 'static', handler: () => ({ text: 'static' }) });
    });
    expect(await client.ask('resources/list')).toEqual({
      resources: [
        { uri: 'memo://a', name: 'static' },
        { uri: 'memo://b', name: 'b' },
      ],
    });
    expect(calls).toEqual([[], [{ runtime, tenantId: undefined, sessionId: undefined }]]);
    expect(await client.ask('resources/read', { uri: 'memo://a' })).toMatchObject({ contents: [{ text: 'static' }] });
    expect(await client.ask('resources/read', { uri: 'memo://b' })).toMatchObject({ contents: [{ text: 'b' }] });
  });

  it('of a provider for each request are none where no runtime is bound', async () => {
    let calls = 0;
    const { client } = await served({}, (server) => {
      server.registerResources(
        () => {
          calls += 1;
          return [];
        },
        { perRequest: true },
      );
    });
    expect(await client.ask('resources/list')).toEqual({ resources: [] });
    expect(calls).toBe(0);
  });

  it('fail alone when a provider throws', async () => {
    const logger = quiet();
    const { client } = await served({ logger }, (server) =>
      server.registerResources(() => {
        throw new Error('hunter2');
      }),
    );
    expect((await client.request('resources/list')).error).toMatchObject({ code: -32603 });
    expect(logger.lines.join('\n')).toContain('hunter2');
  });

  it.each([
    ['no object', null],
    ['one without a uri', { name: 'a', handler() {} }],
    ['one without a name', { uri: 'a:b', handler() {} }],
    ['one without a handler', { uri: 'a:b', name: 'a' }],
    ['one whose visibleTo is none', { uri: 'a:b', name: 'a', handler() {}, visibleTo: 1 }],
    ['one whose size is none', { uri: 'a:b', name: 'a', handler() {}, size: -1 }],
  ])('cannot be %s', (_, given) => {
    expect(() => new MCPServer().registerResource(given as never)).toThrow(TypeError);
  });

  it('refuse a template that is none, and a provider that is none', () => {
    const server = new MCPServer();
    expect(() => server.registerResourceTemplate({ uriTemplate: 'memo://{', name: 'a', handler: () => null })).toThrow(
      TypeError,
    );
    expect(() => server.registerResources(1 as never)).toThrow(TypeError);
    expect(() => server.registerResources(() => [], { perrequest: true } as never)).toThrow(/perrequest/);
    expect(() => server.registerPrompts(1 as never)).toThrow(TypeError);
    expect(() => server.registerCompletion(1 as never)).toThrow(TypeError);
  });
});

describe('registered prompts', () => {
  it('are listed and rendered', async () => {
    const { client } = await served({}, (server) => {
      server.registerPrompt({
        name: '__proto__',
        title: 'T',
        arguments: [{ name: 'constructor', required: true }],
        handler: (args) => JSON.stringify(args),
      });
      server.registerPrompt({
        name: 'blocks',
        handler: () => ({ messages: [{ role: 'user', content: { type: 'text', text: 'x' } }] }),
      });
    });
    expect(await client.ask('prompts/list')).toEqual({
      prompts: [
        { name: '__proto__', title: 'T', arguments: [{ name: 'constructor', required: true }] },
        { name: 'blocks' },
      ],
    });
    expect(await client.ask('prompts/get', { name: '__proto__', arguments: { constructor: 'a' } })).toMatchObject({
      messages: [{ content: { text: '{"constructor":"a"}' } }],
    });
    expect(await client.ask('prompts/get', { name: 'blocks' })).toEqual({
      messages: [{ role: 'user', content: { type: 'text', text: 'x' } }],
    });
    const missing = await client.request('prompts/get', { name: '__proto__' });
    expect(missing.error).toMatchObject({ code: -32602, message: expect.stringContaining('constructor') as string });
    expect((await client.request('prompts/get', { name: 'toString' })).error).toMatchObject({ code: -32602 });
  });

  it.each([
    ['nothing', undefined],
    ['no messages', {}],
    ['a message without a role', { messages: [{ content: 'x' }] }],
    ['a message without content', { messages: [{ role: 'user' }] }],
  ])('that give %s are an error with a reference', async (_, given) => {
    const { client } = await served({}, (server) =>
      server.registerPrompt({ name: 'a', handler: () => given as never }),
    );
    expect((await client.request('prompts/get', { name: 'a' })).error).toMatchObject({ code: -32603 });
  });

  it.each([
    ['no object', null],
    ['one without a name', { handler() {} }],
    ['one without a handler', { name: 'a' }],
    ['one whose arguments are none', { name: 'a', handler() {}, arguments: {} }],
    ['one with an argument without a name', { name: 'a', handler() {}, arguments: [{}] }],
  ])('cannot be %s', (_, given) => {
    expect(() => new MCPServer().registerPrompt(given as never)).toThrow(TypeError);
  });

  it('are completed by the first completion that gives a list', async () => {
    const { client } = await served({}, (server) => {
      server.registerPrompt({ name: 'a', arguments: [{ name: 'day' }], handler: () => 'x' });
      server.registerResourceTemplate({ uriTemplate: 'memo://{day}', name: 'day', handler: () => null });
      server.registerCompletion(() => undefined);
      server.registerCompletion((ref, { value }, context) => [ref.type, value, JSON.stringify(context)]);
      server.registerCompletion(() => ['never']);
    });
    const complete = (ref: object) =>
      client.request('completion/complete', {
        ref,
        argument: { name: 'day', value: 'm' },
        context: { arguments: { a: 'b' } },
      });
    const values = ['m', '{"arguments":{"a":"b"}}'];
    expect((await complete({ type: 'ref/prompt', name: 'a' })).result).toMatchObject({
      completion: { values: ['ref/prompt', ...values] },
    });
    expect((await complete({ type: 'ref/resource', uri: 'memo://{day}' })).result).toMatchObject({
      completion: { values: ['ref/resource', ...values] },
    });
    expect((await complete({ type: 'ref/prompt', name: 'b' })).error).toMatchObject({ code: -32602 });
  });
});

describe('a registration while a server runs', () => {
  it('is told to its clients, together with those right after it', async () => {
    const { server, client } = await served({ runtime: {} }, (made) => {
      made.registerPrompt({ name: 'first', handler: () => 'x' });
      made.registerResource({ uri: 'memo://a', name: 'a', handler: () => null });
    });
    client.notifications.length = 0;
    for (let index = 0; index < 20; index += 1) server.register(tool(`tool-${index}`));
    await client.hears('notifications/tools/list_changed');
    server.registerPrompt({ name: 'second', handler: () => 'x' });
    server.registerResource({ uri: 'memo://b', name: 'b', handler: () => null });
    await client.hears('notifications/prompts/list_changed');
    await client.hears('notifications/resources/list_changed');
    expect(client.notifications.filter(({ method }) => method.includes('tools')).length).toBeLessThanOrEqual(2);
    expect(await client.ask('tools/list')).toHaveProperty('tools.length', 20);
    expect(await client.ask('prompts/list')).toHaveProperty('prompts.length', 2);
    expect(await client.ask('resources/list')).toHaveProperty('resources.length', 2);
  });

  it('tells subscribers of a resource that was updated', async () => {
    const { server, client } = await served({}, (made) =>
      made.registerResource({ uri: 'memo://a', name: 'a', handler: () => null }),
    );
    await client.ask('resources/subscribe', { uri: 'memo://a' });
    server.notifyResourceUpdated('memo://other');
    server.notifyResourceUpdated('memo://a');
    expect(
      await until('the update', () =>
        client.notifications.find(({ method }) => method === 'notifications/resources/updated'),
      ),
    ).toMatchObject({ params: { uri: 'memo://a' } });
    expect(() => server.notifyResourceUpdated(1 as never)).toThrow(TypeError);
  });
});

describe('sessions', () => {
  it('are registered by id, the last registration counting', () => {
    const server = new MCPServer();
    const [one, other]: RuntimeLike[] = [{}, {}];
    server.registerSession('__proto__', one!, { tenantId: 'constructor' });
    server.registerSession('b', one!);
    server.registerSession('b', other!);
    expect(server.getSession('__proto__')).toEqual({ sessionId: '__proto__', runtime: one, tenantId: 'constructor' });
    expect(server.getSession('b')?.runtime).toBe(other);
    expect(server.getSession('c')).toBeUndefined();
    expect(server.listSessions().map(({ sessionId }) => sessionId)).toEqual(['__proto__', 'b']);
    expect(server.stats().registeredSessions).toBe(2);
    expect(server.unregisterSession('b')).toBe(true);
    expect(server.unregisterSession('b')).toBe(false);
    expect(server.listSessions()).toHaveLength(1);
    expect(server.stats().registeredSessions).toBe(1);
  });

  it('need an id, a runtime, and a tenant that is a text', () => {
    const server = new MCPServer();
    expect(() => server.registerSession('', {})).toThrow(TypeError);
    expect(() => server.registerSession('a', null as never)).toThrow(TypeError);
    expect(() => server.registerSession('a', {}, { tenantId: '' })).toThrow(/tenantId/);
    expect(() => server.registerSession('a', {}, { tenant: 'x' } as never)).toThrow(/tenant/);
    expect(server.listSessions()).toEqual([]);
  });
});
