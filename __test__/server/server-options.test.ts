// The options of a server.

import { createMcpServer, MCPServer, type MCPServerConfig } from 'espalier/server';
import { describe, expect, it } from 'vitest';

import { quiet, served } from '../helpers/wire.js';

describe('the options of a server', () => {
  it.each([
    ['name', 1],
    ['version', null],
    ['title', {}],
    ['websiteUrl', 1],
    ['icons', {}],
    ['instructions', []],
    ['runtime', 1],
    ['runtime', null],
    ['nativeExecution', 'yes'],
    ['resolveRuntime', {}],
    ['allowUntenantedSessions', 1],
    ['validateArguments', 'deep'],
    ['maxTools', 0],
    ['maxTools', 1.5],
    ['maxTools', '5'],
    ['pageSize', 0],
    ['pageSize', Number.NaN],
    ['pageSize', '5'],
    ['cacheTtlMs', -1],
    ['cacheTtlMs', Number.POSITIVE_INFINITY],
    ['cacheScope', 'everybody'],
    ['protocolVersions', []],
    ['protocolVersions', ['2020-01-01']],
    ['protocolVersions', '2025-11-25'],
    ['requestStateSecret', new Uint8Array(31)],
    ['requestStateSecret', 'x'.repeat(32)],
    ['logger', {}],
    ['logger', 1],
    ['nativeexecution', true],
  ])('refuse %s: %j by name', (name, value) => {
    const make = (): unknown => new MCPServer({ [name]: value });
    expect(make).toThrow(TypeError);
    expect(make).toThrow(name);
    expect(() => createMcpServer({ [name]: value })).toThrow(TypeError);
  });

  it('refuse what are none, and an executor that is none', () => {
    expect(() => new MCPServer(null as never)).toThrow(TypeError);
    expect(() => new MCPServer([] as never)).toThrow(TypeError);
    expect(() => new MCPServer({}, {} as never)).toThrow(/executor/);
  });

  it('say who the server is', async () => {
    const config: MCPServerConfig = {
      name: 'n',
      version: '1.2.3',
      title: 'T',
      websiteUrl: 'https://example.com',
      icons: [{ src: 'data:,' }],
      instructions: 'Be kind.',
    };
    const { client } = await served(config, undefined, { revision: '2026-07-28' });
    expect(await client.ask('server/discover')).toMatchObject({
      instructions: 'Be kind.',
      _meta: {
        'io.modelcontextprotocol/serverInfo': {
          name: 'n',
          version: '1.2.3',
          title: 'T',
          websiteUrl: 'https://example.com',
          icons: [{ src: 'data:,' }],
        },
      },
    });
  });

  it('have their defaults', async () => {
    const { client } = await served({}, undefined, { revision: '2026-07-28' });
    expect(await client.ask('server/discover')).toMatchObject({
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'mcp-server', version: '0.0.0' } },
    });
  });

  it('choose the revisions', async () => {
    const { client } = await served({ protocolVersions: ['2025-06-18'] });
    expect(client.opened['protocolVersion']).toBe('2025-06-18');
  });

  it('split lists into pages, and say how long they may be used', async () => {
    const config: MCPServerConfig = { pageSize: 2, cacheTtlMs: 5000, cacheScope: 'public' };
    const set = (server: MCPServer): void => {
      for (const name of ['a', 'b', 'c']) server.register({ name, inputSchema: {}, handler: () => name });
    };
    const { client } = await served(config, set, { revision: '2026-07-28' });
    const first = await client.ask('tools/list');
    expect(first).toMatchObject({ tools: [{ name: 'a' }, { name: 'b' }], ttlMs: 5000, cacheScope: 'public' });
    const second = await client.ask('tools/list', { cursor: first['nextCursor'] });
    expect(second).toMatchObject({ tools: [{ name: 'c' }] });
    expect(second).not.toHaveProperty('nextCursor');
  });

  it('let processes share the secret of their clients', async () => {
    const requestStateSecret = new Uint8Array(32).fill(7);
    const set = (server: MCPServer): void =>
      server.register({
        name: 'ask',
        inputSchema: {},
        handler: async (_args, context) => (await context.elicit({ message: 'a', requestedSchema: {} })).action,
      });
    const options = { revision: '2026-07-28', capabilities: { elicitation: {} } };
    const [one, other, stranger] = await Promise.all([
      served({ requestStateSecret }, set, options),
      served({ requestStateSecret }, set, options),
      served({}, set, options),
    ]);
    const call = { name: 'ask', arguments: {} };
    const { requestState } = (await one.client.once('tools/call', call)).result ?? {};
    const answered = { ...call, requestState, inputResponses: { 'elicitation/create#1': { action: 'accept' } } };
    expect(await other.client.ask('tools/call', answered)).toMatchObject({ content: [{ text: 'accept' }] });
    expect((await stranger.client.request('tools/call', answered)).error).toMatchObject({ code: -32602 });
  });

  it('take a logger, which may throw', async () => {
    const logger = {
      ...quiet(),
      error: () => {
        throw new Error('x');
      },
    };
    const { client } = await served({ logger }, (server) =>
      server.register({ name: 'a', inputSchema: {}, handler: () => Promise.reject(new Error('broken')) }),
    );
    expect(await client.call('a')).toMatchObject({ isError: true });
  });
});

describe('a hook', () => {
  it('decides the runtime of every request', async () => {
    let given: object | undefined = { tools: { list: () => [{ name: 'hooked', execute: () => 'ran' }] } };
    const asked: unknown[] = [];
    const { client } = await served(
      {
        nativeExecution: true,
        resolveRuntime: (request) => {
          asked.push(request);
          return given;
        },
      },
      undefined,
      { revision: '2026-07-28' },
    );
    expect(await client.call('hooked')).toMatchObject({ content: [{ text: 'ran' }] });
    expect(asked).toEqual([{ connectionId: expect.any(String) as string, tenantId: undefined, sessionId: undefined }]);
    given = undefined;
    expect((await client.request('tools/call', { name: 'hooked' })).error).toEqual({
      code: -32001,
      message: 'Unauthorized',
    });
  });

  it('that throws, or gives what is none, is an error with a reference', async () => {
    const logger = quiet();
    let work = (): unknown => {
      throw Object.assign(new Error('hunter2'), { code: -32001 });
    };
    const { client } = await served({ logger, resolveRuntime: () => work() as never }, undefined, {
      revision: '2026-07-28',
    });
    const internal = {
      code: -32603,
      message: expect.stringMatching(/^Internal error \(ref [A-Z2-7]{12}\)$/) as string,
    };
    expect((await client.request('tools/list')).error).toEqual(internal);
    work = () => 'a text';
    expect((await client.request('tools/list')).error).toEqual(internal);
    expect(logger.lines.join()).toContain('hunter2');
  });

  it('may make a runtime for each request, which lasts as long as that', async () => {
    let made = 0;
    const resolveRuntime = () => ({
      tools: { list: async () => [{ name: `tool-${(made += 1)}`, execute: () => 'ran' }] },
    });
    const { client } = await served({ nativeExecution: true, resolveRuntime }, undefined, { revision: '2026-07-28' });
    for (let round = 1; round <= 20; round += 1) {
      expect(await client.call(`tool-${round}`)).toMatchObject({ content: [{ text: 'ran' }] });
    }
  });
});
