// The functions that answer what servers ask, and what becomes of odd ones. Over stdio; the same questions over HTTP are in
// `remote/server-requests.test.ts` and `remote/stateless.test.ts`.

import type { McpHandlerContext, McpOptions } from 'espalier/node';
import { describe, expect, it, onTestFinished } from 'vitest';

import { connect } from '../helpers/connect.js';
import { mcpError, rejection } from '../helpers/errors.js';
import { scripted, textResult, toolEntry, type Scripted, type Step } from '../helpers/scripted.js';
import { statelessChild } from '../helpers/stateless.js';
import { until } from '../helpers/until.js';

const SAMPLING = {
  method: 'sampling/createMessage',
  params: { messages: [{ role: 'user', content: { type: 'text', text: 'hi' } }], maxTokens: 10 },
};
const FORM = {
  method: 'elicitation/create',
  params: { message: 'Who?', requestedSchema: { type: 'object', properties: { name: { type: 'string' } } } },
};
const ROOTS = { method: 'roots/list' };

const MESSAGE = { role: 'assistant' as const, model: 'm', content: { type: 'text', text: 'hello' } };

/** A server of the session era whose tool `t` asks, and answers once it has its answer. */
function asking(request: object, ...before: Step[]): Scripted {
  return scripted('srv', {
    tools: [toolEntry('t'), toolEntry('other')],
    calls: {
      t: [
        [{ message: { id: 'q', ...request } }, ...before, { waitFor: { reply: 'q' } }, { reply: textResult('done') }],
      ],
    },
  });
}

/** One of the stateless era, whose tool `t` asks all of these at once. */
function askingStateless(requests: Record<string, object>): Scripted {
  return statelessChild('srv', {
    tools: [toolEntry('t'), toolEntry('other')],
    calls: { t: [[{ reply: { resultType: 'input_required', inputRequests: requests } }], [{ default: true }]] },
  });
}

/** The warnings of this process that are about handlers, from here on. */
function warnings(): string[] {
  const seen: string[] = [];
  const listener = (warning: Error): void => {
    if (warning.name === 'EspalierWarning') seen.push(warning.message);
  };
  process.on('warning', listener);
  onTestFinished(() => void process.off('warning', listener));
  return seen;
}

const fails = (): never => {
  throw new Error('secretive');
};
const withGetters = (object: object, ...names: string[]): object =>
  Object.defineProperties(object, Object.fromEntries(names.map((name) => [name, { get: fails, enumerable: true }])));
const cyclic: Record<string, unknown> = {};
cyclic['self'] = cyclic;

/** What functions give that were not written for this. */
const ODD: [string, () => unknown][] = [
  ['nothing', () => undefined],
  ['null', () => null],
  ['a text', () => 'accept'],
  ['a number', () => 7],
  ['an array', () => [{ action: 'accept' }]],
  ['a function', () => () => MESSAGE],
  ['a symbol', () => Symbol('accept')],
  ['a BigInt', () => 1n],
  ['a cycle', () => cyclic],
  ['a BigInt deep inside', () => ({ ...MESSAGE, action: 'accept', content: { name: 1n } })],
  ['an empty object', () => ({})],
  ['a date', () => new Date(0)],
  ['a map', () => new Map([['action', 'accept']])],
  ['an object whose getters throw', () => withGetters({}, 'action', 'role')],
  ['an object whose `toJSON` throws', () => ({ toJSON: fails })],
  ['an object whose `toJSON` gives a function', () => ({ toJSON: () => () => {} })],
  ['a proxy that throws at every touch', () => new Proxy({}, { get: fails, ownKeys: fails })],
  ['a thenable that throws', () => withGetters({}, 'then')],
  [
    'a promise of a promise that rejects',
    () => new Promise((resolve) => resolve(Promise.reject(new Error('secretive')))),
  ],
  ['an error', () => new Error('secretive')],
  [
    'something 100,000 levels deep',
    () => {
      let deep: unknown = {};
      for (let n = 0; n < 100_000; n += 1) deep = [deep];
      return { ...MESSAGE, action: 'accept', content: deep };
    },
  ],
];

/** What functions throw. */
const THROWN: [string, unknown][] = [
  ['an error', new Error('secretive')],
  ['a text', 'secretive'],
  ['nothing', undefined],
  ['null', null],
  ['a symbol', Symbol('secretive')],
  ['an object without a prototype', Object.create(null)],
  ['an error whose message throws', withGetters(new Error('x'), 'message')],
  ['a proxy of an error', new Proxy(new Error('secretive'), { getPrototypeOf: fails })],
  ['a function', () => 'secretive'],
];

const KINDS: ['sampling' | 'elicitation' | 'roots', object][] = [
  ['sampling', SAMPLING],
  ['elicitation', FORM],
  ['roots', ROOTS],
];

describe.each(KINDS)('the %s handler', (kind, request) => {
  /** Has one handler after the other asked by one server, and gives what that was told for each. */
  async function repliesTo(handlers: [string, () => unknown][]) {
    const warned = warnings();
    const server = scripted('srv', {
      tools: [toolEntry('t')],
      calls: {
        t: handlers.map((_, n) => [
          { message: { id: `q${n}`, ...request } },
          { waitFor: { reply: `q${n}` } },
          { default: true },
        ]),
      },
    });
    let current: (() => unknown) | undefined;
    const { toolset } = await connect([server.config], { [kind]: () => current?.() });
    const replies: Record<string, unknown> = {};
    for (const [n, [what, handler]] of handlers.entries()) {
      current = handler;
      await toolset.call('srv__t');
      const { result, error } = await server.replyTo(`q${n}`);
      await until(`a warning about what gives ${what}`, () => warned.length > n);
      replies[what] = result ?? error;
    }
    return { replies, warned, text: server.lines().join('\n') };
  }

  it('that gives what it should not is an error for the server, and a warning here', async () => {
    const odd = ODD.filter(([what]) => kind !== 'roots' || what !== 'an array');
    const { replies, warned, text } = await repliesTo(odd);

    const error = { code: -32_603, message: expect.stringContaining(`the ${kind} handler `) };
    expect(replies).toEqual(Object.fromEntries(odd.map(([what]) => [what, error])));
    expect(text).not.toContain('secretive');
    const warning = expect.stringMatching(new RegExp(`^${kind} (threw|gave no usable answer): `));
    expect(warned).toEqual(odd.map(() => warning));
  });

  it('that throws does the same, whatever it throws, and at once or later', async () => {
    const throwing = THROWN.flatMap(([what, thrown]): [string, () => unknown][] => [
      [
        `${what}, at once`,
        () => {
          throw thrown;
        },
      ],
      [`${what}, later`, () => Promise.reject(thrown)],
    ]);
    const { replies, warned, text } = await repliesTo(throwing);

    const error = { code: -32_603, message: `the ${kind} handler failed` };
    expect(replies).toEqual(Object.fromEntries(throwing.map(([what]) => [what, error])));
    expect(text).not.toContain('secretive');
    expect(warned).toEqual(throwing.map(() => expect.stringContaining(`${kind} threw`)));
  });

  it('that fails in the stateless era fails the call, which says so', async () => {
    warnings();
    const server = askingStateless({ q: request });
    const { toolset } = await connect([server.config], {
      [kind]: fails,
    });
    const error = await mcpError(toolset.call('srv__t'), 'unavailable');

    expect(error.message).toContain(`the ${kind} handler failed`);
    expect(error.message).not.toContain('secretive');
    expect(server.lines().join('\n')).not.toContain('secretive');
    expect(server.received('tools/call')).toHaveLength(1);
    // The next call is as good as any.
    await expect(toolset.call('srv__t')).resolves.toContain('"t"');
  });

  it('that gives an unusable answer in the stateless era fails the call, which says why', async () => {
    warnings();
    const server = askingStateless({ q: request });
    const { toolset } = await connect([server.config], { [kind]: () => 'x' });
    const error = await mcpError(toolset.call('srv__t'), 'unavailable');

    expect(error.message).toMatch(new RegExp(`${kind} handler gave no usable answer: .+`));
  });
});

describe('the signal of a handler', () => {
  /** A handler that waits for its signal and says when. */
  function waiting(): { elicitation: NonNullable<McpOptions['elicitation']>; contexts: McpHandlerContext[] } {
    const contexts: McpHandlerContext[] = [];
    const elicitation = (_request: unknown, context: McpHandlerContext) => {
      contexts.push(context);
      return new Promise<never>(() => {});
    };
    return { elicitation, contexts };
  }
  const asked = (contexts: McpHandlerContext[]) => until('the question', () => contexts[0]);
  const fired = (context: McpHandlerContext) => until('the signal', () => context.signal.aborted);

  it('fires when the server takes its question back, and the answer is not sent', async () => {
    const server = asking(
      FORM,
      { wait: 100 },
      { message: { method: 'notifications/cancelled', params: { requestId: 'q' } } },
    );
    let release: (() => void) | undefined;
    const contexts: McpHandlerContext[] = [];
    const { toolset } = await connect([server.config], {
      elicitation: (_request, context) => {
        contexts.push(context);
        return new Promise((resolve) => (release = () => resolve({ action: 'cancel' })));
      },
    });
    const pending = rejection(toolset.call('srv__t', {}, { timeoutMs: 2000 }));
    await fired(await asked(contexts));
    release?.();

    expect(await pending).toMatchObject({ code: 'timeout' });
    expect(server.received().filter(({ id }) => id === 'q')).toEqual([]);
  });

  it.each<[string, unknown]>([
    ['an id that nobody has', { requestId: 'other' }],
    ['the id as another type', { requestId: ['q'] }],
    ['nothing', undefined],
  ])('does not fire for a cancellation of %s', async (_what, params) => {
    const server = asking(
      FORM,
      { message: { method: 'notifications/cancelled', params } },
      { message: { id: 'p', method: 'ping' } },
    );
    const { toolset } = await connect([server.config], {
      elicitation: async (_request, { signal }) => {
        await server.replyTo('p');
        return { action: signal.aborted ? 'cancel' : 'decline' };
      },
    });
    await toolset.call('srv__t');

    expect((await server.replyTo('q')).result).toEqual({ action: 'decline' });
  });

  it.each(['abort', 'time limit'] as const)('fires when the call ends by its %s, in the stateless era', async (how) => {
    const server = askingStateless({ q: FORM, r: FORM });
    const { elicitation, contexts } = waiting();
    const { toolset } = await connect([server.config], { elicitation });
    const controller = new AbortController();
    const pending = rejection(
      toolset.call('srv__t', {}, { signal: controller.signal, ...(how === 'abort' ? {} : { timeoutMs: 3000 }) }),
    );
    await until('both questions', () => contexts.length === 2);
    if (how === 'abort') controller.abort();

    await pending;
    for (const context of contexts) await fired(context);
    // There is no request under way that could be cancelled.
    await toolset.close();
    expect(server.received('notifications/cancelled')).toEqual([]);
    expect(server.received('tools/call')).toHaveLength(1);
  });

  it.each(['session', 'stateless'] as const)('fires when the toolset is closed (%s era)', async (era) => {
    const server = era === 'session' ? asking(FORM) : askingStateless({ q: FORM });
    const { elicitation, contexts } = waiting();
    const { toolset } = await connect([server.config], { elicitation });
    const pending = rejection(toolset.call('srv__t'));
    const context = await asked(contexts);
    await toolset.close();

    expect(context.signal.aborted).toBe(true);
    expect(await pending).toMatchObject({ code: 'closed' });
  });

  it.each(['session', 'stateless'] as const)('fires when the server dies (%s era)', async (era) => {
    const server = era === 'session' ? asking(FORM) : askingStateless({ q: FORM });
    const { elicitation, contexts } = waiting();
    const { toolset } = await connect([server.config], { elicitation });
    const pending = rejection(toolset.call('srv__t'));
    const context = await asked(contexts);
    process.kill((await server.started()).pid, 'SIGKILL');

    await fired(context);
    expect(await pending).toMatchObject({ code: 'connection-lost' });
  });

  it('does not fire when all went well', async () => {
    const contexts: McpHandlerContext[] = [];
    const { toolset } = await connect([asking(FORM).config], {
      elicitation: (_request, context) => {
        contexts.push(context);
        return { action: 'decline' };
      },
    });
    await toolset.call('srv__t');
    await toolset.close();

    expect(contexts.map(({ signal }) => signal.aborted)).toEqual([false]);
  });
});

describe('the session of a handler', () => {
  it.each(['session', 'stateless'] as const)('is that of the call where it is known (%s era)', async (era) => {
    const server = era === 'session' ? asking(FORM) : askingStateless({ q: FORM });
    const contexts: McpHandlerContext[] = [];
    const { toolset } = await connect([server.config], {
      session: 'of the toolset',
      elicitation: (_request, context) => {
        contexts.push(context);
        return { action: 'decline' };
      },
    });
    await toolset.call('srv__t', {}, { session: 'of the call' });

    expect(contexts[0]).toMatchObject({
      server: 'srv',
      session: era === 'session' ? 'of the toolset' : 'of the call',
    });
  });

  it('is not there where there is none', async () => {
    const contexts: McpHandlerContext[] = [];
    const { toolset } = await connect([askingStateless({ q: FORM }).config], {
      elicitation: (_request, context) => {
        contexts.push(context);
        return { action: 'decline' };
      },
    });
    await toolset.call('srv__t');

    expect(Object.keys(contexts[0] ?? {}).toSorted()).toEqual(['server', 'signal']);
  });
});

describe('a handler that uses its toolset', () => {
  it.each(['session', 'stateless'] as const)('may call the server that asks (%s era)', async (era) => {
    const server = era === 'session' ? asking(FORM) : askingStateless({ q: FORM });
    const results: unknown[] = [];
    const { toolset } = await connect([server.config], {
      elicitation: async () => {
        results.push(await toolset.call('srv__other'));
        return { action: 'decline' };
      },
    });
    await toolset.call('srv__t');

    expect(results).toEqual(['{"tool":"other","arguments":{}}']);
  });

  it.each(['session', 'stateless'] as const)('may close it (%s era)', async (era) => {
    const server = era === 'session' ? asking(FORM) : askingStateless({ q: FORM });
    const { toolset } = await connect([server.config], {
      elicitation: async () => {
        await toolset.close();
        return { action: 'decline' };
      },
    });

    await mcpError(toolset.call('srv__t'), 'closed');
  });
});

it('the time of a call runs on while a handler works', async () => {
  const { toolset } = await connect([askingStateless({ q: FORM }).config], {
    elicitation: () => new Promise(() => {}),
  });

  await mcpError(toolset.call('srv__t', {}, { timeoutMs: 500 }), 'timeout');
});

describe('what cannot be asked', () => {
  it.each<[string, object]>([
    ['sampling without params', { method: 'sampling/createMessage' }],
    ['sampling without messages', { method: 'sampling/createMessage', params: { maxTokens: 5 } }],
    ['sampling with tools', { method: 'sampling/createMessage', params: { ...SAMPLING.params, tools: [] } }],
    [
      'sampling with a choice of tools',
      { method: 'sampling/createMessage', params: { ...SAMPLING.params, toolChoice: {} } },
    ],
    ['a form without a schema', { method: 'elicitation/create', params: { message: 'x' } }],
    ['a form without a message', { method: 'elicitation/create', params: { requestedSchema: {} } }],
    ['an address without one', { method: 'elicitation/create', params: { mode: 'url', message: 'x' } }],
    ['a mode that there is not', { method: 'elicitation/create', params: { mode: 'voice', message: 'x' } }],
    ['params that are a list', { method: 'elicitation/create', params: [] }],
  ])('is refused before anybody is asked: %s', async (_what, request) => {
    let asked = 0;
    const handlers = {
      sampling: () => {
        asked += 1;
        return MESSAGE;
      },
      elicitation: () => {
        asked += 1;
        return { action: 'decline' as const };
      },
    };
    const server = asking(request);
    const { toolset } = await connect([server.config], handlers);
    await toolset.call('srv__t');
    expect((await server.replyTo('q')).error?.code).toBe(-32_602);

    const stateless = askingStateless({ q: request });
    const { toolset: other } = await connect([stateless.config], handlers);
    await mcpError(other.call('srv__t'), 'unavailable');
    expect(asked).toBe(0);
  });

  it.each(['tools/call', 'ping', 'no/such/method', '__proto__', ''])(
    'in the stateless era is a method that takes no input: %j',
    async (method) => {
      const server = askingStateless({ q: { method, params: {} } });
      const { toolset } = await connect([server.config], { roots: [] });
      await mcpError(toolset.call('srv__t'), 'unavailable');

      expect(server.received('tools/call')).toHaveLength(1);
    },
  );
});

it('a call that waits for an address to be opened rejects with the addresses, and is the caller’s to make again', async () => {
  const elicitations = [{ mode: 'url', elicitationId: 'e', url: 'https://a.example/sign-in', message: 'Sign in' }];
  const refusal = { code: -32_042, message: 'sign in first', data: { elicitations } };
  const server = scripted('srv', {
    tools: [toolEntry('t')],
    calls: {
      t: [
        [{ error: refusal }],
        // What is said of an id that nobody has, or of one that is over, is ignored.
        [
          ...['e', 'other', 7].map((elicitationId) => ({
            message: { method: 'notifications/elicitation/complete', params: { elicitationId } },
          })),
          { message: { method: 'notifications/elicitation/complete' } },
          { default: true },
        ],
      ],
    },
  });
  let asked = 0;
  const { toolset, diagnostics } = await connect([server.config], {
    elicitation: () => {
      asked += 1;
      return { action: 'decline' };
    },
  });
  const error = await mcpError(toolset.call('srv__t'), 'server-error');

  expect(error.data).toEqual(refusal);
  await expect(toolset.call('srv__t')).resolves.toContain('"t"');
  expect(server.received('tools/call')).toHaveLength(2);
  expect(asked).toBe(0);
  expect(diagnostics).toEqual([]);
});

describe('many questions', () => {
  it('at once are all answered, each with its own', async () => {
    const ids = Array.from({ length: 60 }, (_, n) => `q${n}`);
    const question = (n: number) => ({ ...SAMPLING, params: { ...SAMPLING.params, maxTokens: n } });
    const server = scripted('srv', {
      tools: [toolEntry('t')],
      calls: {
        t: [
          [
            ...ids.map((id, n) => ({ message: { id, ...question(n) } })),
            ...ids.map((id) => ({ waitFor: { reply: id } })),
            { default: true },
          ],
        ],
      },
    });
    const { toolset } = await connect([server.config], {
      // The first ones are answered last.
      sampling: async ({ maxTokens }) => {
        for (let turn = maxTokens; turn < 60; turn += 1) await Promise.resolve();
        return { ...MESSAGE, model: `model-${maxTokens}` };
      },
    });
    await toolset.call('srv__t');

    for (const [n, id] of ids.entries()) {
      expect((await server.replyTo(id)).result).toMatchObject({ model: `model-${n}` });
    }
  });

  it('that nobody answers are refused from the 65th on, until one is answered', async () => {
    const ids = Array.from({ length: 70 }, (_, n) => `q${n}`);
    const server = scripted('srv', {
      tools: [toolEntry('t'), toolEntry('more')],
      calls: {
        t: [[...ids.map((id) => ({ message: { id, ...FORM } })), { waitFor: { reply: 'q69' } }, { default: true }]],
        more: [[{ message: { id: 'more', ...FORM } }, { waitFor: { reply: 'more' } }, { default: true }]],
      },
    });
    const open: (() => void)[] = [];
    const { toolset } = await connect([server.config], {
      elicitation: () => new Promise((resolve) => open.push(() => resolve({ action: 'decline' }))),
    });
    await toolset.call('srv__t');

    const refused = server.received().filter(({ error }) => error !== undefined);
    expect(refused.map(({ id }) => id)).toEqual(['q64', 'q65', 'q66', 'q67', 'q68', 'q69']);
    await until('the others to be asked', () => open.length === 64);
    open[0]?.();
    await server.replyTo('q0');
    const later = toolset.call('srv__more');
    await until('one more to be asked', () => open.length === 65);
    open[64]?.();
    await later;
    expect((await server.replyTo('more')).result).toEqual({ action: 'decline' });
  });

  it('of one answer of the stateless era, more than anybody answers, fail the call before anybody is asked', async () => {
    let asked = 0;
    const server = askingStateless(Object.fromEntries(Array.from({ length: 65 }, (_, n) => [`q${n}`, FORM])));
    const { toolset } = await connect([server.config], {
      elicitation: () => {
        asked += 1;
        return { action: 'decline' };
      },
    });
    await mcpError(toolset.call('srv__t'), 'invalid-response');

    await expect(toolset.call('srv__t')).resolves.toContain('"t"');
    expect(asked).toBe(0);
  });
});

describe('the roots', () => {
  it.each<[string, unknown]>([
    ['a list', [{ uri: 'file:///a', name: 'A' }, { uri: 'file:///b%20c' }]],
    ['a function', () => [{ uri: 'file:///a', name: 'A' }, { uri: 'file:///b%20c' }]],
    ['a function that takes its time', async () => [{ uri: 'file:///a', name: 'A' }, { uri: 'file:///b%20c' }]],
    ['an empty list', []],
  ])('as %s reach the server', async (_what, roots) => {
    const server = asking(ROOTS);
    const { toolset } = await connect([server.config], { roots: roots as never });
    await toolset.call('srv__t');

    const { result } = await server.replyTo('q');
    expect(result).toEqual({
      roots:
        Array.isArray(roots) && roots.length === 0 ? [] : [{ uri: 'file:///a', name: 'A' }, { uri: 'file:///b%20c' }],
    });
  });

  const WRONG: [string, unknown][] = [
    ['of another scheme', [{ uri: 'https://example.com/' }]],
    ['without a scheme', [{ uri: '/work' }]],
    ['that only begin like one', [{ uri: 'file:/work' }]],
    ['without an address', [{ name: 'x' }]],
    ['that are texts', ['file:///work']],
    ['that are no list', { uri: 'file:///work' }],
    ['of which one is wrong', [{ uri: 'file:///a' }, { uri: 'data:x' }]],
  ];

  it.each(WRONG)('%s are a wrong option', async (_what, roots) => {
    const error = await mcpError(connect([], { roots: roots as never }), 'invalid-option');
    expect(error.message).toContain('roots');
  });

  it.each(WRONG)('%s from a function are an error for the server', async (_what, roots) => {
    const warned = warnings();
    const server = asking(ROOTS);
    const { toolset } = await connect([server.config], { roots: (() => roots) as never });
    await toolset.call('srv__t');

    expect((await server.replyTo('q')).error?.code).toBe(-32_603);
    await until('the warning', () => warned.length > 0);
  });

  it.each(['yes', 7, true])('that are %j are a wrong option', async (roots) => {
    await mcpError(connect([], { roots: roots as never }), 'invalid-option');
  });
});
