// The client of the package against its server, over every transport and in both eras.

import { AbortError, type McpOptions, type McpServerConfig } from 'espalier/node';
import { describe, expect, it } from 'vitest';

import { type Connected, connect } from '../helpers/connect.js';
import { mcpError, rejection } from '../helpers/errors.js';
import { http, sse } from '../helpers/remote.js';
import { fullServer } from '../helpers/served.js';
import { until } from '../helpers/until.js';

const SAID: Record<string, string> = { name: 'Ann', colour: 'green', dish: 'soup' };
const HANDLERS: McpOptions = {
  elicitation: (request) => {
    if (request.mode === 'url') return { action: 'accept' };
    const [topic = ''] = Object.keys(request.requestedSchema['properties'] as object);
    return { action: 'accept', content: { [topic]: SAID[topic] ?? '' } };
  },
  sampling: () => ({ role: 'assistant', model: 'm', content: { type: 'text', text: 'sampled' } }),
  roots: [{ uri: 'file:///work' }],
};

async function config(transport: 'stdio' | 'http' | 'sse'): Promise<McpServerConfig> {
  const target = await fullServer(transport);
  if ('url' in target) return http(target.url);
  if ('sse' in target) return sse(target.sse);
  return { type: 'stdio', name: 'srv', ...target };
}

describe.each([
  ['stdio', 'session', '2025-11-25'],
  ['stdio', 'stateless', '2026-07-28'],
  ['http', 'session', '2025-11-25'],
  ['http', 'stateless', '2026-07-28'],
  ['sse', 'session', '2025-11-25'],
] as const)('over %s in the %s era', (transport, era, revision) => {
  const open = async (options: McpOptions = {}): Promise<Connected> =>
    connect([await config(transport)], { ...(transport === 'sse' ? {} : { protocol: { pin: revision } }), ...options });

  it('connects, lists all pages, and calls tools', async () => {
    const { toolset, diagnostics } = await open();

    expect(toolset.servers()).toMatchObject([
      { state: 'ready', era, protocolVersion: revision, serverInfo: { name: 'full', version: '1.2.3' } },
    ]);
    expect(Object.keys(toolset.tools)).toHaveLength(18);
    await expect(toolset.call('srv__echo', { text: '価格 — ✅' })).resolves.toBe('価格 — ✅');
    await expect(toolset.call('srv__sum', { a: 2, b: 40 })).resolves.toEqual({ sum: 42 });
    expect((await mcpError(toolset.call('srv__fail'), 'tool-error')).message).toContain('as asked');
    await mcpError(toolset.call('srv__throw'), 'tool-error');
    const numbers = Array.from({ length: 200 }, (_, n) => n);
    await expect(Promise.all(numbers.map((n) => toolset.call('srv__sum', { a: n, b: 1 })))).resolves.toEqual(
      numbers.map((n) => ({ sum: n + 1 })),
    );
    await toolset.close();
    expect(diagnostics).toEqual([]);
  });

  it('reads resources, prompts and completions', async () => {
    const { toolset } = await open();
    const { resources, prompts } = toolset;

    expect((await resources.list('srv')).map(({ uri }) => uri)).toEqual(['note://one', 'note://two', 'bytes://all']);
    expect(await resources.templates('srv')).toMatchObject([{ uriTemplate: 'file:///{+path}' }]);
    expect(await resources.read('srv', 'note://one')).toMatchObject({ contents: [{ text: 'the text of note://one' }] });
    expect(await resources.read('srv', 'file:///a/b.md')).toMatchObject({ contents: [{ text: 'the file a/b.md' }] });
    expect(await prompts.list('srv')).toMatchObject([{ name: 'greet' }]);
    expect(await prompts.get('srv', 'greet', { who: 'Ann' })).toMatchObject({
      messages: [{ content: { text: 'Greet Ann' } }],
    });
    const ref = { type: 'ref/prompt', name: 'greet' } as const;
    expect(await prompts.complete('srv', ref, { name: 'who', value: 'B' })).toMatchObject({
      completion: { values: ['Bo'] },
    });
    await mcpError(resources.read('srv', 'note://three'), 'server-error');
  });

  it('answers what handlers ask', async () => {
    const { toolset } = await open(HANDLERS);

    expect(await toolset.call('srv__interview')).toMatch(/^Ann, green, soup; /);
    await expect(toolset.call('srv__visit')).resolves.toBe('accept');
    await expect(toolset.call('srv__sample')).resolves.toBe('sampled');
    await expect(toolset.call('srv__roots')).resolves.toBe('file:///work');
  });

  it('is told of progress and of logs, and gives calls up', async () => {
    const logs: unknown[] = [];
    const { toolset } = await open({ onLog: ({ level, data }) => void logs.push([level, data]) });
    const seen: unknown[] = [];
    const steps: Promise<unknown>[] = [];
    const onProgress = ({ progress, message }: { progress: number; message?: string }): void => {
      seen.push([progress, message]);
      steps.push(toolset.call('srv__step'));
    };
    await expect(toolset.call('srv__progress', {}, { onProgress })).resolves.toBe('done');
    await Promise.all(steps);
    expect(seen).toEqual([1, 2, 3].map((step) => [step, `step ${step}`]));

    await toolset.call('srv__log');
    await until('the warning', () => logs.some((log) => JSON.stringify(log) === '["warning",{"what":"a warning"}]'));

    // A call that is given up this early may never reach its handler.
    await until('a handler to hear of it', async () => {
      const controller = new AbortController();
      const long = rejection(toolset.call('srv__slow', {}, { signal: controller.signal }));
      await toolset.call('srv__echo', {});
      controller.abort();
      expect(await long).toBeInstanceOf(AbortError);
      return (await toolset.call('srv__aborted')) !== '0';
    });
  });

  it('is told of updates, and takes up changed lists', async () => {
    const { toolset } = await open({ onListChanged: 'apply' });
    const updated: string[] = [];
    const off = await toolset.resources.subscribe('srv', 'note://one', (uri) => void updated.push(uri));
    await until('an update', async () => {
      await toolset.call('srv__touch', { uri: 'note://two' });
      await toolset.call('srv__touch', { uri: 'note://one' });
      return updated.length > 0;
    });
    expect(new Set(updated)).toEqual(new Set(['note://one']));
    await off();

    await until('a new tool', async () => {
      await toolset.call('srv__rename');
      return Object.keys(toolset.tools).some((name) => name.startsWith('srv__new-'));
    });
  });
});
