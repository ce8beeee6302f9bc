// Children on the official TypeScript SDK, version 2, over stdio: in the session era and in the stateless era.

import { fileURLToPath } from 'node:url';

import { AbortError, type McpServerConfig } from 'espalier/node';
import { describe, expect, it } from 'vitest';

import { connect } from '../helpers/connect.js';
import { rejection } from '../helpers/errors.js';
import { childrenOf } from '../helpers/processes.js';
import { until } from '../helpers/until.js';

function child(mode: 'both' | 'stateless'): McpServerConfig {
  const file = fileURLToPath(new URL('../fixtures/official/v2.mjs', import.meta.url));
  return { type: 'stdio', name: 'srv', command: process.execPath, args: [file, 'stdio', mode] };
}

const HANDLERS = {
  elicitation: ({ mode }: { mode: string }) => ({
    action: 'accept' as const,
    ...(mode === 'form' ? { content: { name: 'Ann' } } : {}),
  }),
  sampling: () => ({ role: 'assistant' as const, model: 'm', content: { type: 'text', text: 'sampled' } }),
  roots: [{ uri: 'file:///work' }],
};

describe.each([
  ['both', 'auto', 'session', '2025-11-25'],
  ['stateless', 'auto', 'stateless', '2026-07-28'],
  ['both', { pin: '2026-07-28' }, 'stateless', '2026-07-28'],
] as const)('a server of %s eras, with `protocol: %j`', (mode, protocol, era, protocolVersion) => {
  it('connects in one process, and its tools work', async () => {
    const before = new Set(childrenOf(process.pid));
    const { toolset, diagnostics } = await connect([child(mode)], { protocol });

    expect(toolset.servers()).toMatchObject([
      { state: 'ready', era, protocolVersion, serverInfo: { name: 'sdk-v2-fixture' } },
    ]);
    await expect(toolset.call('srv__echo', { text: '価格 — ✅' })).resolves.toBe('価格 — ✅');
    // The watchdog is a child as well, where it was not there before.
    expect(childrenOf(process.pid).filter((pid) => !before.has(pid)).length).toBeLessThanOrEqual(2);
    await toolset.close();
    expect(diagnostics).toEqual([]);
  });

  it('asks the host, and gets answers', async () => {
    const { toolset } = await connect([child(mode)], { protocol, ...HANDLERS });

    await expect(toolset.call('srv__ask')).resolves.toBe('Hello, Ann');
    expect(JSON.parse(String(await toolset.call('srv__survey')))).toEqual([
      { action: 'accept' },
      { roots: [{ uri: 'file:///work' }] },
      { role: 'assistant', model: 'm', content: { type: 'text', text: 'sampled' } },
      null,
    ]);
    expect(await toolset.prompts.get('srv', 'ask')).toMatchObject({ messages: [{ content: { text: 'I am Ann' } }] });
  });

  it('hears of a call that is given up, and answers the next one', async () => {
    const { toolset } = await connect([child(mode)], { protocol });
    const controller = new AbortController();
    const long = rejection(toolset.call('srv__slow', {}, { signal: controller.signal }));
    await toolset.call('srv__echo', {});
    controller.abort();

    expect(await long).toBeInstanceOf(AbortError);
    await until('the server to hear of it', async () => (await toolset.call('srv__aborted')) === '1');
  });

  it('has resources and prompts', async () => {
    const { toolset } = await connect([child(mode)], { protocol });

    expect(await toolset.resources.list()).toEqual([{ uri: 'note://one', name: 'note', server: 'srv' }]);
    expect(await toolset.resources.read('srv', 'note://two')).toMatchObject({ contents: [{ text: 'the note two' }] });
    expect(await toolset.prompts.get('srv', 'greet', { who: 'Bo' })).toMatchObject({
      messages: [{ content: { text: 'Greet Bo' } }],
    });
    if (era === 'stateless') {
      const off = await toolset.resources.subscribe('srv', 'note://one', () => {});
      await off();
    }
  });
});
