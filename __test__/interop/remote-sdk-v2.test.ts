// Servers on the official TypeScript SDK, version 2, which speaks both eras.

import { AbortError } from 'espalier/node';
import { describe, expect, it } from 'vitest';

import { connect } from '../helpers/connect.js';
import { mcpError, rejection } from '../helpers/errors.js';
import { sdkServer } from '../helpers/official.js';
import { http, over, overBoth } from '../helpers/remote.js';
import { until } from '../helpers/until.js';

overBoth((stack) => {
  describe.each([
    ['both', 'auto', 'stateless', '2026-07-28'],
    ['both', 'legacy', 'session', '2025-11-25'],
    ['stateless', 'auto', 'stateless', '2026-07-28'],
  ] as const)('a server of %s eras, with `%s`', (mode, protocol, era, protocolVersion) => {
    it('connects, and its tools work', async () => {
      const origin = await sdkServer('v2', mode);
      const { toolset, diagnostics } = await connect([http(`${origin}/mcp`)], { ...over(stack), protocol });

      expect(toolset.servers()).toMatchObject([
        { state: 'ready', era, protocolVersion, serverInfo: { name: 'sdk-v2-fixture' } },
      ]);
      await expect(toolset.call('srv__echo', { text: '価格 — ✅' })).resolves.toBe('価格 — ✅');
      await expect(toolset.call('srv__sum', { a: 2, b: 40 })).resolves.toEqual({ sum: 42 });
      await expect(toolset.call('srv__mirror', { region: ' Zürich ' })).resolves.toBe(' Zürich ');
      await mcpError(toolset.call('srv__fail', {}), 'tool-error');
      await toolset.close();
      expect(diagnostics).toEqual([]);
    });

    it('answers many calls at once, and reports progress', async () => {
      const origin = await sdkServer('v2', mode);
      const { toolset } = await connect([http(`${origin}/mcp`)], { ...over(stack), protocol });
      const numbers = Array.from({ length: 64 }, (_, n) => n);

      await expect(Promise.all(numbers.map((n) => toolset.call('srv__sum', { a: n, b: 1 })))).resolves.toEqual(
        numbers.map((n) => ({ sum: n + 1 })),
      );
      const seen: number[] = [];
      await toolset.call('srv__progress', {}, { onProgress: ({ progress }) => void seen.push(progress) });
      expect(seen).toEqual([1, 2, 3]);
    });

    it('hears of calls that are given up', async () => {
      const origin = await sdkServer('v2', mode);
      const { toolset } = await connect([http(`${origin}/mcp`)], { ...over(stack), protocol });
      // A call that is given up this early may not have arrived yet.
      await until('the server to hear of one', async () => {
        const controller = new AbortController();
        const long = rejection(toolset.call('srv__slow', {}, { signal: controller.signal }));
        await toolset.call('srv__echo', {});
        controller.abort();
        expect(await long).toBeInstanceOf(AbortError);
        return (await toolset.call('srv__aborted', {})) !== '0';
      });
    });
  });

  describe.each(['auto', 'legacy'] as const)('with `%s`', (protocol) => {
    it('resources, prompts and completions are there', async () => {
      const origin = await sdkServer('v2', 'both');
      const { toolset } = await connect([http(`${origin}/mcp`)], { ...over(stack), protocol });
      const { resources, prompts } = toolset;

      expect(await resources.list()).toEqual([{ uri: 'note://one', name: 'note', server: 'srv' }]);
      expect(await resources.templates()).toEqual([{ uriTemplate: 'note://{name}', name: 'notes', server: 'srv' }]);
      expect(await resources.read('srv', 'note://two')).toMatchObject({ contents: [{ text: 'the note two' }] });
      await mcpError(resources.read('srv', 'other://two'), 'server-error');
      expect((await prompts.list()).map(({ name }) => name)).toEqual(['greet', 'ask']);
      expect(await prompts.get('srv', 'greet', { who: 'Ann' })).toMatchObject({
        messages: [{ content: { text: 'Greet Ann' } }],
      });
      expect(
        await prompts.complete('srv', { type: 'ref/resource', uri: 'note://{name}' }, { name: 'name', value: 't' }),
      ).toMatchObject({ completion: { values: ['two'] } });
    });

    it('what may be used again is read once, in the era that says so', async () => {
      const origin = await sdkServer('v2', 'both');
      const { toolset } = await connect([http(`${origin}/mcp`)], { ...over(stack), protocol });
      const read = async () => (await toolset.resources.read('srv', 'note://one')).contents[0]?.text;

      expect([await read(), await read()]).toEqual(protocol === 'auto' ? ['read 1', 'read 1'] : ['read 1', 'read 2']);
    });
  });

  it('a call and a prompt that need input get it from the handlers', async () => {
    const origin = await sdkServer('v2', 'stateless');
    const { toolset } = await connect([http(`${origin}/mcp`)], {
      ...over(stack),
      elicitation: ({ mode }) => ({ action: 'accept', ...(mode === 'form' ? { content: { name: 'Ann' } } : {}) }),
      sampling: () => ({ role: 'assistant', model: 'm', content: { type: 'text', text: 'sampled' } }),
      roots: () => [{ uri: 'file:///work' }],
    });

    await expect(toolset.call('srv__ask')).resolves.toBe('Hello, Ann');
    expect(await toolset.prompts.get('srv', 'ask')).toMatchObject({ messages: [{ content: { text: 'I am Ann' } }] });
    expect(JSON.parse(String(await toolset.call('srv__survey')))).toEqual([
      { action: 'accept' },
      { roots: [{ uri: 'file:///work' }] },
      { role: 'assistant', model: 'm', content: { type: 'text', text: 'sampled' } },
      null,
    ]);
  });

  it('log messages reach `onLog`', async () => {
    const origin = await sdkServer('v2', 'stateless');
    const logs: unknown[] = [];
    const { toolset } = await connect([http(`${origin}/mcp`)], {
      ...over(stack),
      onLog: ({ level, data }) => void logs.push([level, data]),
    });
    await toolset.call('srv__log');

    await until('the message', () => logs.length > 0);
    expect(logs).toEqual([['info', 'logged']]);
  });

  it('changes and updates are heard', async () => {
    const origin = await sdkServer('v2', 'stateless');
    const { toolset } = await connect([http(`${origin}/mcp`)], { ...over(stack), onListChanged: 'apply' });
    const heard: string[] = [];
    const off = await toolset.resources.subscribe('srv', 'note://one', (uri) => void heard.push(uri));
    await fetch(`${origin}/touch`, { method: 'POST' });
    await until('the update', () => heard.length > 0);
    // The subscription to the lists is older than the one to the resource, and may stand later.
    await until('the new tool', async () => {
      await fetch(`${origin}/change`, { method: 'POST' });
      return toolset.tools['srv__new-1'] !== undefined;
    });
    await off();

    expect(heard).toEqual(['note://one']);
    await expect(toolset.call('srv__new-1')).resolves.toBe('new');
  });

  it('a call that needs input which nobody can give is an error', async () => {
    const origin = await sdkServer('v2', 'stateless');
    const { toolset } = await connect([http(`${origin}/mcp`)], over(stack));

    expect(await rejection(toolset.call('srv__ask', {}))).toMatchObject({ name: 'McpError' });
    await expect(toolset.call('srv__echo', { text: 'still here' })).resolves.toBe('still here');
  });

  it('carries the credential with every request', async () => {
    const origin = await sdkServer('v2', 'stateless');
    const { toolset } = await connect([http(`${origin}/mcp`, { headers: { 'X-Tenant': 'one' } })], {
      ...over(stack),
      session: 's',
      auth: async () => ({ token: 'token-1' }),
    });

    const headers = JSON.parse(String(await toolset.call('srv__headers', {}))) as Record<string, string>;
    expect(headers).toMatchObject({ authorization: 'Bearer token-1', 'x-tenant': 'one' });
  });
});
