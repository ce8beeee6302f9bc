// From a host's tools to those on the wire.

import {
  adaptHarnessTools,
  createStreamableHttpTransport,
  MCPServer,
  type MCPToolDefinition,
  projectToolDefinitionToMCP,
  type RuntimeLike,
  type ToolLike,
} from 'espalier/server';
import { describe, expect, it } from 'vitest';

import { post } from '../helpers/posted.js';
import { quiet, served } from '../helpers/wire.js';

const parameters = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] };

/** Whatever a host may put on a tool besides. */
const METADATA = {
  requiresApproval: true,
  needsApproval: true,
  requiresGPU: true,
  category: 'files',
  tags: ['a'],
  tier: 'pro',
  costClass: 'high',
  budget: { max: 1 },
  promptHint: 'use me',
  routing: { to: 'x' },
  visibility: 'internal',
  version: '1.2.3',
  owner: 'me',
  timeoutMs: 5,
  metadata: { a: 1 },
  output: { type: 'string' },
  replay: true,
  annotations: { readOnlyHint: true },
};

describe('the projection of a tool', () => {
  const whole: ToolLike = { name: 'echo', description: 'Echoes.', parameters, execute: () => 'ran', ...METADATA };
  const shown = { name: 'echo', description: 'Echoes.', inputSchema: parameters };

  it.each(['2024-11-05', '2025-06-18', '2025-11-25', '2026-07-28'])(
    'shows name, description and input schema, and drops all else without a word, in %s',
    async (revision) => {
      const logger = quiet();
      const runtime: RuntimeLike = { tools: { list: () => [whole] } };
      const { client } = await served({ runtime, logger }, undefined, { revision });
      expect((await client.ask('tools/list'))['tools']).toEqual([shown]);
      expect(logger.lines).toEqual([]);
    },
  );

  it('keeps the tool itself for running it', async () => {
    const tool = {
      name: 'echo',
      owner: 'me',
      execute(this: ToolLike) {
        return this['owner'];
      },
    };
    const server = new MCPServer({ runtime: { tools: { list: () => [tool] } }, nativeExecution: true });
    expect(await server.callTool('echo')).toEqual({ success: true, output: 'me' });
  });

  it('is made by projectToolDefinitionToMCP, with a handler that is a placeholder', async () => {
    const { handler, ...definition } = projectToolDefinitionToMCP(whole);
    expect(definition).toEqual(shown);
    expect(await handler?.({}, {} as never)).toMatchObject({ success: false });
    expect(() => projectToolDefinitionToMCP({ name: '' })).toThrow(TypeError);
    expect(() => projectToolDefinitionToMCP({ name: 'odd', parameters: 1 as never })).toThrow(/"odd"/);
  });

  it.each(['parameters', 'inputSchema', 'input'])('takes the schema under the name %s', (name) => {
    expect(projectToolDefinitionToMCP({ name: 'echo', [name]: parameters }).inputSchema).toEqual(parameters);
  });

  it('makes the schema that of an object', () => {
    expect(projectToolDefinitionToMCP({ name: 'x' }).inputSchema).toEqual({ type: 'object' });
    expect(projectToolDefinitionToMCP({ name: 'x', parameters: {} }).inputSchema).toEqual({ type: 'object' });
    expect(() => projectToolDefinitionToMCP({ name: 'x', parameters: { type: 'string' } })).toThrow(/"x"/);
  });

  it('knows names like those of prototypes', async () => {
    const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty'];
    const list = (): ToolLike[] => names.map((name) => ({ name, execute: (args) => ({ name, args }) }));
    const { client } = await served({ runtime: { tools: { list } }, nativeExecution: true });
    const { tools } = (await client.ask('tools/list')) as { tools: { name: string }[] };
    expect(tools.map(({ name }) => name)).toEqual(names);
    const args = JSON.parse('{"__proto__":1,"constructor":2}') as Record<string, unknown>;
    for (const name of names) {
      const { content } = (await client.call(name, args)) as { content: { text: string }[] };
      expect(content[0]?.text).toBe(`{"name":${JSON.stringify(name)},"args":{"__proto__":1,"constructor":2}}`);
    }
    expect((await client.request('tools/call', { name: 'valueOf' })).error).toMatchObject({ code: -32602 });
  });
});

describe('the tools of a runtime', () => {
  const named = (name: string) => (): ToolLike[] => [{ name }];

  it.each([
    ['its facet', { tools: { list: named('a') }, toolRegistry: { getTools: named('b') } }, ['a']],
    ['its facet, which takes its time', { tools: { list: async () => named('a')() } }, ['a']],
    ['its registry, where there is no facet', { toolRegistry: { getTools: named('b') } }, ['b']],
    [
      'its registry, where the facet is empty',
      { tools: { list: () => [] }, toolRegistry: { getTools: async () => named('b')() } },
      ['b'],
    ],
    ['nowhere', {}, []],
  ] as [string, RuntimeLike, string[]][])('come from %s', async (_, runtime, expected) => {
    const tools = await new MCPServer({ runtime }).listTools();
    expect(tools.map(({ name }) => name)).toEqual(expected);
    expect((await adaptHarnessTools(runtime)).map(({ name }) => name)).toEqual(expected);
  });

  it('are listed once for all, until they are invalidated', async () => {
    let listings = 0;
    const runtime: RuntimeLike = { tools: { list: () => [{ name: `tool-${(listings += 1)}` }] } };
    const { server, client } = await served({ runtime });
    const names = async (): Promise<unknown> => (await client.ask('tools/list'))['tools'];
    expect(await names()).toMatchObject([{ name: 'tool-1' }]);
    expect(await names()).toMatchObject([{ name: 'tool-1' }]);
    server.invalidateToolCache(runtime);
    expect(await names()).toMatchObject([{ name: 'tool-2' }]);
    server.invalidateToolCache();
    expect(await names()).toMatchObject([{ name: 'tool-3' }]);
    server.invalidateToolCache({});
    expect(await names()).toMatchObject([{ name: 'tool-3' }]);
  });

  it('are cut at maxTools, which is logged once', async () => {
    const logger = quiet();
    const list = (): ToolLike[] => Array.from({ length: 150 }, (_, index) => ({ name: `tool-${index}` }));
    const runtime = { tools: { list } };
    const server = new MCPServer({ runtime, logger });
    expect(await server.listTools()).toHaveLength(100);
    server.invalidateToolCache();
    expect(await server.listTools()).toHaveLength(100);
    expect(logger.lines).toEqual([expect.stringContaining('150')]);
    expect(await new MCPServer({ runtime, maxTools: 2, logger }).listTools()).toHaveLength(2);
    expect(await adaptHarnessTools(runtime, undefined, 3)).toHaveLength(3);
  });

  it('cost themselves alone when they are odd, with a warning', async () => {
    const logger = quiet();
    const odd = [
      null,
      1,
      {},
      { name: 1 },
      { name: '' },
      { name: 'no-schema', parameters: 'x' },
      { name: 'not-an-object', parameters: { type: 'array' } },
      { name: 'unconvertible', parameters: { '~standard': { version: 1, vendor: 'x' } } },
      {
        name: 'throws',
        get parameters() {
          throw new Error('x');
        },
      },
      {
        get name() {
          throw new Error('x');
        },
      },
      { name: 'bigint', parameters: { type: 'object', default: 1n } },
    ] as unknown as ToolLike[];
    const runtime: RuntimeLike = { tools: { list: () => [...odd, { name: 'good' }] } };
    const tools = await new MCPServer({ runtime, logger }).listTools();
    expect(tools.map(({ name }) => name)).toEqual(['good']);
    expect(logger.lines).toHaveLength(odd.length);
  });

  it('count by their last definition where two share a name', async () => {
    const logger = quiet();
    const list = (): ToolLike[] => [
      { name: 'a', description: 'first', execute: () => 1 },
      { name: 'a', description: 'second', execute: () => 2 },
    ];
    const server = new MCPServer({ runtime: { tools: { list } }, nativeExecution: true, logger });
    expect(await server.listTools()).toMatchObject([{ name: 'a', description: 'second' }]);
    expect(await server.callTool('a')).toEqual({ success: true, output: 2 });
    expect(logger.lines).toEqual([expect.stringContaining('"a"')]);
  });

  it('that cannot be listed fail the list alone, and are listed again by the next', async () => {
    let fails = true;
    const list = (): ToolLike[] => {
      if (fails) throw new Error('hunter2');
      return [{ name: 'a' }];
    };
    const logger = quiet();
    const { client } = await served({ runtime: { tools: { list } }, logger });
    const { error } = await client.request('tools/list');
    expect(error).toEqual({
      code: -32603,
      message: expect.stringMatching(/^Internal error \(ref [A-Z2-7]{12}\)$/) as string,
    });
    expect(logger.lines.join('\n')).toContain('hunter2');
    fails = false;
    expect(await client.ask('tools/list')).toMatchObject({ tools: [{ name: 'a' }] });
  });
});

describe('adaptHarnessTools', () => {
  it('gives definitions to register, which run by the rules of execution', async () => {
    const list = (): ToolLike[] => [
      { name: 'free', parameters, execute: ({ text }) => ({ text }) },
      { name: 'asks', parameters, requiresApproval: true, execute: () => 'ran' },
    ];
    const runtime = { tools: { list } };
    const server = new MCPServer();
    for (const tool of await adaptHarnessTools(runtime, undefined, 100, { nativeExecution: true }))
      server.register(tool);
    expect(await server.callTool('free', { text: 'a' })).toEqual({ success: true, output: { text: 'a' } });
    expect(await server.callTool('free', { text: 1 })).toMatchObject({
      success: false,
      error: expect.stringContaining('/text') as string,
    });
    expect(await server.callTool('asks', { text: 'a' })).toMatchObject({ success: false });

    for (const tool of await adaptHarnessTools(runtime)) server.register(tool);
    expect(await server.callTool('free', { text: 'a' })).toMatchObject({ success: false });

    const executor = async (name: string): Promise<{ success: true; output: unknown }> => ({
      success: true,
      output: name,
    });
    for (const tool of await adaptHarnessTools(runtime, executor)) server.register(tool);
    expect(await server.callTool('asks', { text: 'a' })).toEqual({ success: true, output: 'asks' });
  });

  it('gives handlers that can be called without a server', async () => {
    const seen: unknown[] = [];
    const list = (): ToolLike[] => [
      { name: 'free', parameters, execute: ({ text }, context) => (seen.push(context), { text }) },
      { name: 'fails', parameters, execute: () => Promise.reject(new Error('out of ink')) },
      { name: 'asks', parameters, requiresApproval: true, execute: () => 'ran' },
      { name: 'bare', parameters },
    ];
    const [free, fails, asks, bare] = await adaptHarnessTools({ tools: { list } }, undefined, 100, {
      nativeExecution: true,
    });
    const call = (tool: MCPToolDefinition | undefined, ...given: unknown[]): unknown =>
      Reflect.apply(tool?.handler ?? (() => 'no handler'), undefined, given);
    expect(await call(free, { text: 'a' })).toEqual({ success: true, output: { text: 'a' } });
    expect(await call(free, { text: 'a' }, { tenantId: 'acme', signal: undefined })).toMatchObject({ success: true });
    expect(await call(free, { text: 'a' }, null)).toMatchObject({ success: true });
    expect(seen).toMatchObject([
      { toolCallId: expect.any(String) as string, signal: expect.any(AbortSignal) as AbortSignal },
      { tenantId: 'acme', signal: expect.any(AbortSignal) as AbortSignal },
      { signal: expect.any(AbortSignal) as AbortSignal },
    ]);
    expect(await call(free)).toMatchObject({ success: false, error: expect.stringContaining('/text') as string });
    expect(await call(fails, { text: 'a' })).toEqual({ success: false, error: 'out of ink' });
    expect(await call(asks, { text: 'a' })).toMatchObject({ success: false });
    expect(await call(bare, { text: 'a' })).toMatchObject({
      success: false,
      error: expect.stringContaining('no executor configured') as string,
    });
    const throwing = async (): Promise<never> => {
      throw new Error('no paper');
    };
    const [behind] = await adaptHarnessTools({ tools: { list } }, throwing);
    expect(await call(behind, {})).toEqual({ success: false, error: 'no paper' });
  });

  it('hides from clients of the network what a handler threw, also when it was adapted', async () => {
    const list = (): ToolLike[] => [
      { name: 'fails', parameters, execute: () => Promise.reject(new Error('password hunter2')) },
    ];
    const server = new MCPServer({ logger: quiet() });
    for (const tool of await adaptHarnessTools({ tools: { list } }, undefined, 100, { nativeExecution: true }))
      server.register(tool);
    expect(await server.callTool('fails', { text: 'a' })).toEqual({ success: false, error: 'password hunter2' });
    const transport = createStreamableHttpTransport({ port: 0 });
    await server.start(transport);
    try {
      const { result } = await post(transport, 'tools/call', { name: 'fails', arguments: { text: 'a' } });
      expect(result).toMatchObject({
        isError: true,
        content: [{ text: expect.stringMatching(/^Tool failed \(ref [A-Z2-7]{12}\)$/) as string }],
      });
    } finally {
      await server.stop();
    }
  });

  it('refuses wrong options by name', async () => {
    await expect(adaptHarnessTools({}, undefined, 0)).rejects.toThrow(/maxTools/);
    await expect(adaptHarnessTools({}, 1 as never)).rejects.toThrow(/executor/);
    await expect(adaptHarnessTools({}, undefined, 1, { nativeExecution: 1 as never })).rejects.toThrow(
      /nativeExecution/,
    );
    await expect(adaptHarnessTools({}, undefined, 1, { other: 1 } as never)).rejects.toThrow(/other/);
    await expect(adaptHarnessTools(null as never)).rejects.toThrow(TypeError);
  });
});
