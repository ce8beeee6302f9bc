// Servers on the official TypeScript SDK, version 1: sessions, no sessions, and HTTP+SSE.

import { AbortError } from 'espalier/node';
import { describe, expect, it } from 'vitest';

import { connect } from '../helpers/connect.js';
import { mcpError, rejection } from '../helpers/errors.js';
import { sdkServer } from '../helpers/official.js';
import { http, over, overBoth, sse } from '../helpers/remote.js';
import { until } from '../helpers/until.js';

overBoth((stack) => {
  describe.each(['stateful', 'stateless', 'sse'] as const)('a %s server', (mode) => {
    const config = async () => {
      const origin = await sdkServer('v1', mode);
      return mode === 'sse' ? sse(`${origin}/sse`) : http(`${origin}/mcp`);
    };

    it('connects, and its tools work', async () => {
      const { toolset, diagnostics } = await connect([await config()], over(stack));

      expect(toolset.servers()).toMatchObject([
        { state: 'ready', era: 'session', protocolVersion: '2025-11-25', serverInfo: { name: 'sdk-v1-fixture' } },
      ]);
      await expect(toolset.call('srv__echo', { text: '価格 — ✅' })).resolves.toBe('価格 — ✅');
      await expect(toolset.call('srv__sum', { a: 2, b: 40 })).resolves.toEqual({ sum: 42 });
      await mcpError(toolset.call('srv__fail', {}), 'tool-error');
      await toolset.close();
      expect(diagnostics).toEqual([]);
    });

    it('answers many calls at once', async () => {
      const { toolset } = await connect([await config()], over(stack));
      const numbers = Array.from({ length: 64 }, (_, n) => n);

      await expect(Promise.all(numbers.map((n) => toolset.call('srv__sum', { a: n, b: 1 })))).resolves.toEqual(
        numbers.map((n) => ({ sum: n + 1 })),
      );
    });

    it('has resources, prompts and completions', async () => {
      const { toolset } = await connect([await config()], over(stack));
      const { resources, prompts } = toolset;

      expect(await resources.list()).toEqual(
        ['one', 'two', 'three'].map((name) => ({ uri: `note://${name}`, name, server: 'srv' })),
      );
      expect(await resources.templates('srv')).toEqual([{ uriTemplate: 'note://{name}', name: 'note', server: 'srv' }]);
      expect(await resources.read('srv', 'note://two')).toEqual({
        contents: [{ uri: 'note://two', text: 'the text of note://two' }],
      });
      const missing = await mcpError(resources.read('srv', 'note://four'), 'server-error');
      expect(missing.data).toMatchObject({ code: -32_002, data: { uri: 'note://four' } });
      expect(await prompts.list('srv')).toMatchObject([{ name: 'greet', server: 'srv' }]);
      expect(await prompts.get('srv', 'greet', { who: 'Ann' })).toEqual({
        messages: [{ role: 'user', content: { type: 'text', text: 'Greet Ann' } }],
      });
      expect(await prompts.complete('srv', { type: 'ref/prompt', name: 'greet' }, { name: 'who', value: 't' })).toEqual(
        { completion: { values: ['two', 'three'] } },
      );
    });

    it('can be left alone with a long call, and answers the next one', async () => {
      const { toolset } = await connect([await config()], over(stack));
      const controller = new AbortController();
      const long = rejection(toolset.call('srv__slow', {}, { signal: controller.signal }));
      await toolset.call('srv__echo', { text: 'meanwhile' });
      controller.abort();

      expect(await long).toBeInstanceOf(AbortError);
      await expect(toolset.call('srv__echo', { text: 'after' })).resolves.toBe('after');
    });
  });

  describe.each(['stateful', 'sse'] as const)('a %s server', (mode) => {
    const config = async () => {
      const origin = await sdkServer('v1', mode);
      return mode === 'sse' ? sse(`${origin}/sse`) : http(`${origin}/mcp`);
    };

    it('reports progress', async () => {
      const seen: number[] = [];
      const { toolset } = await connect([await config()], over(stack));

      await expect(
        toolset.call('srv__progress', {}, { onProgress: ({ progress }) => void seen.push(progress) }),
      ).resolves.toBe('done');
      expect(seen).toEqual([1, 2, 3]);
    });

    it('asks the host, gets answers, and logs', async () => {
      const logs: unknown[] = [];
      const { toolset } = await connect([await config()], {
        ...over(stack),
        elicitation: () => ({ action: 'accept', content: {} }),
        sampling: () => ({ role: 'assistant', model: 'm', content: { type: 'text', text: 'sampled' } }),
        roots: [{ uri: 'file:///work' }],
        onLog: ({ server, level, data }) => void logs.push([server, level, data]),
      });

      await expect(toolset.call('srv__ask')).resolves.toBe('{"action":"accept","content":{"name":"John"}}');
      await expect(toolset.call('srv__sample')).resolves.toBe('sampled');
      await expect(toolset.call('srv__roots')).resolves.toBe('file:///work');
      await toolset.call('srv__log');
      await until('the message', () => logs.length > 0);
      expect(logs).toEqual([['srv', 'info', 'logged']]);
    });

    it('refuses what it is not told that it may ask', async () => {
      const { toolset } = await connect([await config()], over(stack));

      for (const name of ['srv__ask', 'srv__sample', 'srv__roots']) await rejection(toolset.call(name));
      await expect(toolset.call('srv__echo', { text: 'fine' })).resolves.toBe('fine');
    });

    it('tells of updates to who subscribed, and of changed lists', async () => {
      const { toolset } = await connect([await config()], over(stack));
      const heard: unknown[] = [];
      toolset.on('change', (change) => void heard.push(change));
      const off = await toolset.resources.subscribe('srv', 'note://one', (uri) => void heard.push(uri));
      await expect(toolset.call('srv__touch', { uri: 'note://one' })).resolves.toBe('note://one');
      await until('the update', () => heard.length === 1);
      await toolset.call('srv__rename');
      await until('the change', () => heard.length === 2);
      await off();

      await expect(toolset.call('srv__touch', { uri: 'note://one' })).resolves.toBe('');
      expect(heard).toEqual(['note://one', { server: 'srv', what: 'prompts' }]);
    });

    it('hears of cancellations', async () => {
      const { toolset } = await connect([await config()], over(stack));
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

  it('a stream that is put down in the middle of a call is taken up again', async () => {
    const origin = await sdkServer('v1', 'stateful');
    const { toolset } = await connect([http(`${origin}/mcp`)], over(stack));

    await expect(toolset.call('srv__poll', {})).resolves.toBe('worth the wait');
  });

  it.each([8, 64])('%i calls survive a session that has expired', async (count) => {
    const origin = await sdkServer('v1', 'stateful');
    const { toolset } = await connect([http(`${origin}/mcp`)], over(stack));
    await fetch(`${origin}/forget`, { method: 'POST' });
    const numbers = Array.from({ length: count }, (_, n) => n);

    await expect(Promise.all(numbers.map((n) => toolset.call('srv__sum', { a: n, b: 1 })))).resolves.toEqual(
      numbers.map((n) => ({ sum: n + 1 })),
    );
  });
});
