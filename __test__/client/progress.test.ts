import { runInNewContext } from 'node:vm';

import { describe, expect, it } from 'vitest';

import { connect, tool } from '../helpers/connect.js';
import { scripted, textResult, toolEntry, type Scripted, type Step } from '../helpers/scripted.js';
import { blockUntil, until } from '../helpers/until.js';

function reports(...steps: Step[]): Scripted {
  return scripted('srv', { tools: [toolEntry('t')], calls: { t: [[...steps, { reply: textResult('done') }]] } });
}

describe('progress of a call', () => {
  it('is given to `onProgress` of the options, in order, with the server, the tool and the id of the tool call', async () => {
    const events: unknown[] = [];
    const peer = reports(
      { progress: { progress: 1, total: 4, message: 'begun' } },
      { progress: { progress: 2.5 } },
      { progress: { progress: 4, total: 4 } },
    );
    const { toolset } = await connect([peer.config], { onProgress: (event) => void events.push(event) });

    await expect(tool(toolset, 'srv__t').execute({}, { toolCallId: 'call-7' })).resolves.toBe('done');
    const common = { server: 'srv', tool: 'srv__t', toolCallId: 'call-7' };
    expect(events).toStrictEqual([
      { ...common, progress: 1, total: 4, message: 'begun' },
      { ...common, progress: 2.5 },
      { ...common, progress: 4, total: 4 },
    ]);
  });

  it('has no id of a tool call when there is none', async () => {
    const events: unknown[] = [];
    const peer = reports({ progress: { progress: 1 } });
    const { toolset } = await connect([peer.config], { onProgress: (event) => void events.push(event) });

    await tool(toolset, 'srv__t').execute({});
    expect(events).toStrictEqual([{ server: 'srv', tool: 'srv__t', progress: 1 }]);
  });

  it('is given to `onProgress` of the call, and only that of this call', async () => {
    const mine: unknown[] = [];
    const everybody: unknown[] = [];
    const peer = reports({ progress: { progress: 1 } });
    const { toolset } = await connect([peer.config], { onProgress: (event) => void everybody.push(event) });

    await toolset.call('srv__t', {}, { onProgress: (event) => void mine.push(event) });
    await toolset.call('srv__t', {});
    expect(mine).toStrictEqual([{ server: 'srv', tool: 'srv__t', progress: 1 }]);
  });

  it('goes to the call that it belongs to when many run', async () => {
    const peer = scripted('srv', {
      tools: [toolEntry('t')],
      calls: {
        t: [
          [
            '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":$token,"progress":$n}}',
            { default: true },
          ],
        ],
      },
    });
    const { toolset } = await connect([peer.config]);

    const progress = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const seen: number[] = [];
        await toolset.call('srv__t', {}, { onProgress: (event) => void seen.push(event.progress) });
        return seen;
      }),
    );
    expect(progress.every((seen) => seen.length === 1)).toBe(true);
    expect(progress.flat().toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, n) => n + 1));
  });

  it('is asked for with a token that no two calls under way share', async () => {
    const peer = scripted('srv', { tools: [toolEntry('t')] });
    const { toolset } = await connect([peer.config], { onProgress() {} });
    await Promise.all(Array.from({ length: 10 }, () => toolset.call('srv__t', {})));

    const tokens = peer.received('tools/call').map(({ params }) => params._meta?.progressToken as unknown);
    expect(new Set(tokens).size).toBe(10);
    expect(tokens.every((token) => typeof token === 'string' || Number.isSafeInteger(token))).toBe(true);
  });
});

describe('progress that is none', () => {
  it.each<[string, string]>([
    ['of a token that nobody gave', '{"progressToken":"nobody","progress":1}'],
    ['without a token', '{"progress":1}'],
    ['without a number', '{"progressToken":$token}'],
    ['with text for a number', '{"progressToken":$token,"progress":"half"}'],
    ['with a list for parameters', '[1,2]'],
  ])('is ignored: %s', async (_what, params) => {
    const events: unknown[] = [];
    const peer = reports(`{"jsonrpc":"2.0","method":"notifications/progress","params":${params}}`);
    const { toolset } = await connect([peer.config], { onProgress: (event) => void events.push(event) });

    await expect(toolset.call('srv__t', {})).resolves.toBe('done');
    expect(events).toEqual([]);
  });

  it('is ignored after the reply', async () => {
    const events: unknown[] = [];
    const peer = scripted('srv', {
      tools: [toolEntry('t'), toolEntry('u')],
      calls: { t: [[{ reply: textResult('done') }, { progress: { progress: 1 } }]] },
    });
    const { toolset } = await connect([peer.config], { onProgress: (event) => void events.push(event) });

    await toolset.call('srv__t', {});
    await toolset.call('srv__u', {});
    expect(events).toEqual([]);
  });
});

it('an `onProgress` that throws changes nothing', async () => {
  let called = 0;
  const throwing = (): void => {
    called += 1;
    throw new Error('from onProgress');
  };
  const peer = reports({ progress: { progress: 1 } }, { progress: { progress: 2 } });
  const { toolset } = await connect([peer.config], { onProgress: throwing });

  await expect(toolset.call('srv__t', {}, { onProgress: throwing })).resolves.toBe('done');
  expect(called).toBeGreaterThanOrEqual(2);
});

describe('an `onProgress` that ends in an odd way changes nothing for what comes with it, and is a warning', () => {
  function unreadable(): Error {
    return Object.defineProperty(new Error('hidden'), 'message', {
      get() {
        throw new Error('from the getter');
      },
    });
  }

  it.each<[string, () => unknown, RegExp]>([
    [
      'it throws an object that has no text',
      () => {
        throw Object.create(null);
      },
      /onProgress threw/,
    ],
    [
      'it throws an error whose message throws',
      () => {
        throw unreadable();
      },
      /onProgress threw/,
    ],
    ['it rejects with an object that has no text', () => Promise.reject(Object.create(null)), /onProgress threw/],
    [
      'it returns a thenable that rejects',
      // oxlint-disable-next-line unicorn/no-thenable -- what users do
      () => ({ then: (_: unknown, reject: (error: Error) => void) => reject(new Error('from then')) }),
      /onProgress threw: from then/,
    ],
    [
      'it returns a promise of another realm, which rejects',
      () => runInNewContext(`Promise.reject(new Error('from afar'))`) as unknown,
      /onProgress threw/,
    ],
    [
      'it returns an object whose then throws',
      () => ({
        // oxlint-disable-next-line unicorn/no-thenable -- what users do
        get then() {
          throw new Error('from the getter');
        },
      }),
      /onProgress threw: from the getter/,
    ],
  ])('%s', async (_how, end, text) => {
    const warnings: Error[] = [];
    const listen = (warning: Error): void => void warnings.push(warning);
    process.on('warning', listen);
    try {
      const asked = { message: { id: 'asked', method: 'ping' } };
      const peer = scripted('srv', {
        tools: [toolEntry('t'), toolEntry('last')],
        calls: {
          t: [[{ progress: { progress: 1 } }, { waitFor: { method: 'tools/call', tool: 'last' } }, { default: true }]],
          last: [[{ wait: 50 }, { default: true }, asked]],
        },
      });
      const { toolset } = await connect([peer.config], { onProgress: end });

      const calls = [toolset.call('srv__t', {}), toolset.call('srv__last', {})];
      // All of it is there before the first of it is delivered.
      blockUntil('the last reply', () => peer.received().some(({ id }) => id === 'asked'));
      expect(await Promise.all(calls)).toEqual([expect.stringContaining('"t"'), expect.stringContaining('"last"')]);
      await until('the warning', () => warnings.length > 0);
      expect(warnings.map(({ name, message }) => `${name}: ${message}`)).toEqual([expect.stringMatching(text)]);
      expect(warnings[0]?.name).toBe('EspalierWarning');
    } finally {
      process.off('warning', listen);
    }
  });
});

it('progress with its token as text belongs to its call', async () => {
  const seen: number[] = [];
  const peer = reports(
    '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"$token","progress":1}}',
  );
  const { toolset } = await connect([peer.config], { onProgress: ({ progress }) => void seen.push(progress) });

  await toolset.call('srv__t', {});
  expect(seen).toEqual([1]);
});
