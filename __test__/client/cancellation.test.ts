import { getEventListeners } from 'node:events';

import { AbortError, type McpConnectionStore, type PersistedServer } from 'espalier/node';
import { describe, expect, it } from 'vitest';

import { connect, tool } from '../helpers/connect.js';
import { rejection } from '../helpers/errors.js';
import { scripted, textResult, toolEntry, type Scripted, type Step } from '../helpers/scripted.js';
import { blockUntil, until } from '../helpers/until.js';

/** A server whose tool `never` does not answer, and whose tool `t` does. */
function server(): Scripted {
  return scripted('srv', { tools: [toolEntry('never'), toolEntry('t')], calls: { never: [[]] } });
}

function callsOf(peer: Scripted): unknown[] {
  return peer.received('tools/call').map((call) => call.params.name);
}

describe('a call whose signal is aborted before it', () => {
  it('rejects with an AbortError and sends nothing', async () => {
    const peer = server();
    const { toolset } = await connect([peer.config]);

    const reason = { why: 'changed my mind' };
    const error = await rejection(toolset.call('srv__never', {}, { signal: AbortSignal.abort(reason) }));
    expect(error).toBeInstanceOf(AbortError);
    expect(error).toMatchObject({ name: 'AbortError' });
    expect((error as Error).cause).toBe(reason);

    // The pipe is in order: what was sent before this call has arrived by its reply.
    await toolset.call('srv__t', {});
    expect(callsOf(peer)).toEqual(['t']);
    expect(peer.received('notifications/cancelled')).toEqual([]);
  });
});

describe('a call whose signal is aborted during it', () => {
  it.each(['signal', 'abortSignal'] as const)(
    'rejects with the reason as cause and tells the server once, with the exact id (ctx.%s)',
    async (key) => {
      const peer = server();
      const { toolset } = await connect([peer.config]);
      const controller = new AbortController();
      const pending = rejection(tool(toolset, 'srv__never').execute({}, { [key]: controller.signal }));
      const [call] = await peer.waitFor('tools/call');

      const reason = new Error('enough');
      controller.abort(reason);
      const error = await pending;
      expect(error).toBeInstanceOf(AbortError);
      expect((error as Error).cause).toBe(reason);

      await toolset.call('srv__t', {});
      expect(peer.received('notifications/cancelled').map(({ params }) => params.requestId)).toEqual([call?.id]);
    },
  );

  it('rejects at once, without waiting for the server', async () => {
    const peer = scripted('srv', { tools: [toolEntry('t')], calls: { t: [[{ wait: 60_000 }]] } });
    const { toolset } = await connect([peer.config]);
    const controller = new AbortController();
    const pending = rejection(toolset.call('srv__t', {}, { signal: controller.signal }));
    await peer.waitFor('tools/call');

    const begin = performance.now();
    controller.abort();
    expect(await pending).toBeInstanceOf(AbortError);
    expect(performance.now() - begin).toBeLessThan(1000);
  });

  it('has the default reason as cause when none was given', async () => {
    const peer = server();
    const { toolset } = await connect([peer.config]);
    const controller = new AbortController();
    const pending = rejection(toolset.call('srv__never', {}, { signal: controller.signal }));
    await peer.waitFor('tools/call');

    controller.abort();
    expect(((await pending) as Error).cause).toBe(controller.signal.reason);
  });

  it('takes only its own call with it', async () => {
    const peer = scripted('srv', {
      tools: [toolEntry('never'), toolEntry('later')],
      calls: {
        never: [[]],
        later: [[{ waitFor: { method: 'notifications/cancelled' } }, { reply: textResult('mine') }]],
      },
    });
    const { toolset } = await connect([peer.config]);
    const controller = new AbortController();
    const cancelled = rejection(toolset.call('srv__never', {}, { signal: controller.signal }));
    const other = toolset.call('srv__later', {});
    await peer.waitFor('tools/call', 2);

    controller.abort();
    expect(await cancelled).toBeInstanceOf(AbortError);
    await expect(other).resolves.toBe('mine');
  });
});

describe('a signal that is aborted after its call', () => {
  it('changes nothing and sends nothing', async () => {
    const peer = server();
    const { toolset } = await connect([peer.config]);
    const controller = new AbortController();

    await expect(toolset.call('srv__t', {}, { signal: controller.signal })).resolves.toContain('"tool":"t"');
    controller.abort();
    await toolset.call('srv__t', {});
    expect(peer.received('notifications/cancelled')).toEqual([]);
  });
});

describe('replies that nobody waits for', () => {
  it('are ignored, late or twice, and the other calls get their own', async () => {
    const afterCancel = { waitFor: { method: 'notifications/cancelled' } };
    const peer = scripted('srv', {
      tools: ['a', 'b', 'c', 'd'].map((name) => toolEntry(name)),
      calls: {
        a: [[afterCancel, { reply: textResult('late') }, { reply: textResult('late again') }]],
        b: [[{ waitFor: { method: 'tools/call', tool: 'd' } }, { wait: 50 }, { reply: textResult('b') }]],
        c: [
          [
            { waitFor: { method: 'tools/call', tool: 'd' } },
            { reply: textResult('c') },
            { reply: textResult('c twice') },
          ],
        ],
        d: [
          [
            { reply: textResult('d') },
            { replyText: '{"content":5}' },
            { error: { code: 1, message: 'd as an error' } },
          ],
        ],
      },
    });
    const { toolset, diagnostics } = await connect([peer.config]);
    const controller = new AbortController();
    const a = rejection(toolset.call('srv__a', {}, { signal: controller.signal }));
    await peer.waitFor('tools/call');
    controller.abort();
    expect(await a).toBeInstanceOf(AbortError);

    const calls = ['b', 'c', 'd'].map((name) => toolset.call(`srv__${name}`, {}));
    expect(await Promise.all(calls)).toEqual(['b', 'c', 'd']);
    await expect(toolset.call('srv__d', {})).resolves.toBe('d');
    expect(diagnostics.filter(({ rule }) => rule === 'connection-failure')).toEqual([]);
  });

  it('are ignored when nothing ever had their id', async () => {
    const peer = scripted('srv', {
      tools: [toolEntry('t')],
      calls: {
        t: [
          [
            '{"jsonrpc":"2.0","id":987654321,"result":{}}',
            '{"jsonrpc":"2.0","id":"nobody","result":{}}',
            '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}',
            '{"jsonrpc":"2.0","error":{"code":-32700,"message":"parse error"}}',
            { reply: textResult('mine') },
          ],
        ],
      },
    });
    const { toolset } = await connect([peer.config]);

    await expect(toolset.call('srv__t', {})).resolves.toBe('mine');
  });
});

describe('the signal of a caller', () => {
  it('has no listener left once its call has ended, in whatever way', async () => {
    const peer = scripted('srv', {
      tools: ['fine', 'fails', 'refused', 'never'].map((name) => toolEntry(name)),
      calls: {
        fails: [[{ reply: { ...textResult('no'), isError: true } }]],
        refused: [[{ error: { code: -32_602, message: 'no' } }]],
        never: [[]],
      },
    });
    const { toolset } = await connect([peer.config]);
    const { signal } = new AbortController();

    await toolset.call('srv__fine', {}, { signal });
    await rejection(toolset.call('srv__fails', {}, { signal }));
    await rejection(toolset.call('srv__refused', {}, { signal }));
    await rejection(toolset.call('srv__never', {}, { signal, timeoutMs: 100 }));
    await rejection(toolset.call('srv__fine', { n: 1n }, { signal }));
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('serves 64 calls at once without a warning', async () => {
    const warnings: Error[] = [];
    const listen = (warning: Error): void => void warnings.push(warning);
    process.on('warning', listen);
    try {
      const peer = server();
      const { toolset } = await connect([peer.config]);
      const controller = new AbortController();
      const calls = Array.from({ length: 64 }, () =>
        rejection(toolset.call('srv__never', {}, { signal: controller.signal })),
      );
      await peer.waitFor('tools/call', 64);
      controller.abort();
      const errors = await Promise.all(calls);
      expect(errors.every((error) => error instanceof AbortError)).toBe(true);

      await toolset.call('srv__t', {});
      const ids = peer
        .received('tools/call')
        .slice(0, 64)
        .map(({ id }) => id);
      const cancelled = peer.received('notifications/cancelled').map(({ params }) => params.requestId as unknown);
      expect(cancelled.toSorted()).toEqual(ids.toSorted());
      expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
      expect(warnings).toEqual([]);
    } finally {
      process.off('warning', listen);
    }
  });
});

describe('a signal for connecting', () => {
  it('that is aborted already rejects with an AbortError and starts nothing', async () => {
    const peer = server();

    const reason = new Error('not today');
    const error = await rejection(connect([peer.config], { signal: AbortSignal.abort(reason) }));
    expect(error).toBeInstanceOf(AbortError);
    expect((error as Error).cause).toBe(reason);
    expect(peer.starts()).toEqual([]);
  });

  it('that is aborted meanwhile rejects, stops everything that was started, and never cancels `initialize`', async () => {
    const silent = scripted('silent', { on: { initialize: [[]] } });
    const ready = server();
    const controller = new AbortController();
    const pending = rejection(connect([silent.config, ready.config], { signal: controller.signal }));
    await silent.waitFor('initialize');
    await ready.waitFor('tools/list');

    controller.abort();
    expect(await pending).toBeInstanceOf(AbortError);
    await until('the end of both servers', () => silent.events().length > 0 && ready.events().length > 0);
    expect(silent.received().map(({ method }) => method)).toEqual(['initialize']);
    expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
  });

  it.each<[string, boolean]>([
    ['which never answers', false],
    ['which answers just then', true],
  ])('that is aborted while the store is read, %s, rejects at once and starts nothing', async (_how, answers) => {
    const peer = server();
    const controller = new AbortController();
    const storage: McpConnectionStore = {
      list: () =>
        new Promise<PersistedServer[]>((resolve) => {
          queueMicrotask(() => {
            controller.abort(reason);
            if (answers) resolve([]);
          });
        }),
      save() {},
      remove() {},
    };

    const reason = new Error('not today');
    const error = await rejection(connect([peer.config], { signal: controller.signal, storage }));
    expect(error).toBeInstanceOf(AbortError);
    expect((error as Error).cause).toBe(reason);
    expect(peer.starts()).toEqual([]);
    expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
  });

  it.each<['onStderr' | 'onDiagnostic', Step]>([
    ['onStderr', { stderr: 'a line\n' }],
    ['onDiagnostic', 'no message'],
  ])('that is aborted by `%s` in the very moment in which connecting ends rejects all the same', async (name, says) => {
    const peer = scripted('srv', {
      // The ping comes when the toolset is long connected, for all but this thread.
      on: { 'tools/list': [[says, { default: true }, { wait: 300 }, { message: { id: 'asked', method: 'ping' } }]] },
      tools: [toolEntry('t')],
    });
    const controller = new AbortController();
    const pending = rejection(
      connect([peer.config], { signal: controller.signal, [name]: () => controller.abort('enough') }),
    );
    // The server is being started, and far from its first line.
    await new Promise((resolve) => setImmediate(resolve));
    blockUntil('the end of connecting', () => peer.received().some(({ id }) => id === 'asked'));

    const error = await pending;
    expect(error).toBeInstanceOf(AbortError);
    expect((error as Error).cause).toBe('enough');
    await until('the end of the server', () => peer.events().length > 0);
  });

  it('that is aborted afterwards changes nothing', async () => {
    const peer = server();
    const controller = new AbortController();
    const { toolset } = await connect([peer.config], { signal: controller.signal });

    expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
    controller.abort();
    await expect(toolset.call('srv__t', {})).resolves.toContain('"tool":"t"');
  });
});
