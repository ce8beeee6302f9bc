// The ledger of capabilities.

import { McpRuntime, MCPServer, type McpRegistration } from 'espalier/server';
import { describe, expect, it } from 'vitest';

import { served } from '../helpers/wire.js';

const tool = (output: unknown, name = 'search'): McpRegistration => ({
  kind: 'tool',
  name,
  inputSchema: { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] },
  handler: async (input) => ({ output, query: (input as { query: string }).query }),
});

describe('McpRuntime', () => {
  it('serves tools, whose bare value is their output, the last one of a name counting', async () => {
    const { server, client } = await served({});
    const runtime = new McpRuntime(server);
    await runtime.registerCapability(tool('first'));
    await runtime.registerCapability(tool('second'));
    await runtime.registerCapability(tool('other', '__proto__'));
    expect((await client.ask('tools/list'))['tools']).toHaveLength(2);
    expect(await client.call('search', { query: 'a' })).toMatchObject({
      structuredContent: { output: 'second', query: 'a' },
    });
    expect(runtime.capabilities('tool').map(({ name }) => name)).toEqual(['search', '__proto__']);
  });

  it('serves resources and prompts that have a handler, and keeps the others in its ledger', async () => {
    const { server, client } = await served({});
    const runtime = new McpRuntime(server);
    await runtime.registerCapability({
      kind: 'resource',
      name: 'runbook',
      uri: 'file:///a.md',
      mimeType: 'text/markdown',
    });
    await runtime.registerCapability({ kind: 'prompt', name: 'greet' });
    expect(runtime.capabilities()).toHaveLength(2);
    expect((await client.request('resources/list')).error).toMatchObject({ code: -32601 });
    await runtime.registerCapability({
      kind: 'resource',
      name: 'runbook',
      uri: 'file:///b.md',
      handler: () => ({ text: 'b' }),
    });
    await runtime.registerCapability({ kind: 'prompt', name: 'greet', handler: () => 'Hello.' });
    expect(await client.ask('resources/list')).toEqual({ resources: [{ uri: 'file:///b.md', name: 'runbook' }] });
    expect(await client.ask('prompts/list')).toEqual({ prompts: [{ name: 'greet' }] });
    expect(await client.ask('prompts/get', { name: 'greet' })).toMatchObject({
      messages: [{ content: { text: 'Hello.' } }],
    });

    await runtime.registerCapability({
      kind: 'resource',
      name: 'runbook',
      uri: 'file:///c.md',
      handler: () => ({ text: 'c' }),
    });
    expect(await client.ask('resources/list')).toEqual({ resources: [{ uri: 'file:///c.md', name: 'runbook' }] });
    await runtime.registerCapability({ kind: 'resource', name: 'runbook', uri: 'file:///d.md' });
    expect((await client.request('resources/read', { uri: 'file:///c.md' })).error?.code).toBeDefined();
    expect(runtime.capabilities('resource')).toMatchObject([{ uri: 'file:///d.md' }]);
    expect(runtime.capabilities('prompt')).toHaveLength(1);
  });

  it('keeps kinds apart', async () => {
    const runtime = new McpRuntime(new MCPServer());
    await runtime.registerCapability(tool('a', 'same'));
    await runtime.registerCapability({ kind: 'resource', name: 'same', uri: 'a:b' });
    await runtime.registerCapability({ kind: 'prompt', name: 'same' });
    expect(runtime.capabilities().map(({ kind }) => kind)).toEqual(['tool', 'resource', 'prompt']);
  });

  it('does not take out what somebody else registered meanwhile', async () => {
    const { server, client } = await served({});
    const runtime = new McpRuntime(server);
    const handler = (): { text: string } => ({ text: 'x' });
    await runtime.registerCapability({ kind: 'resource', name: 'a', uri: 'memo://a', handler });
    server.registerResource({ uri: 'memo://a', name: 'mine', handler });
    await runtime.registerCapability({ kind: 'resource', name: 'a', uri: 'memo://b', handler });
    expect(await client.ask('resources/list')).toMatchObject({ resources: [{ name: 'mine' }, { name: 'a' }] });
  });

  it.each([
    ['nothing', undefined],
    ['another kind', { kind: 'widget', name: 'a' }],
    ['one without a name', { kind: 'prompt' }],
    ['a tool without a handler', { kind: 'tool', name: 'a', inputSchema: {} }],
    ['a resource without a uri', { kind: 'resource', name: 'a' }],
    ['a handler that is none', { kind: 'prompt', name: 'a', handler: 1 }],
  ])('refuses %s', async (_, given) => {
    const runtime = new McpRuntime(new MCPServer());
    await expect(runtime.registerCapability(given as never)).rejects.toThrow(TypeError);
    expect(runtime.capabilities()).toEqual([]);
  });

  it('needs a server', () => {
    expect(() => new McpRuntime({} as never)).toThrow(TypeError);
  });
});
