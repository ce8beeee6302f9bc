// What handlers are told, and what they can do with their client, in both eras.

import type { MCPServer } from 'espalier/server';
import { type HandlerContext, MissingCapabilityError, type MCPToolDefinition } from 'espalier/server';
import { describe, expect, it } from 'vitest';

import { until } from '../helpers/until.js';
import { type ClientOptions, type Json, quiet, served } from '../helpers/wire.js';

type Handler = (args: Record<string, unknown>, context: HandlerContext) => unknown;

const tool = (handler: Handler, name = 'tool'): MCPToolDefinition => ({
  name,
  inputSchema: { type: 'object' },
  handler,
});

const ERAS = ['2025-11-25', '2026-07-28'];

const form = (message: string) => ({
  message,
  requestedSchema: { type: 'object', properties: { answer: { type: 'string' } } },
});

/** A client that can be asked everything. */
function able(revision: string, answer: ClientOptions['answer']): ClientOptions {
  return {
    revision,
    capabilities: { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: {} },
    ...(answer === undefined ? {} : { answer }),
  };
}

describe.each(ERAS)('in %s', (revision) => {
  it('a handler is told whose request it is, and by whom it came', async () => {
    const runtime = {};
    let told: Record<string, unknown> = {};
    const { client } = await served(
      { runtime },
      (server) =>
        server.register(
          tool((_args, context) => {
            told = { ...context };
          }),
        ),
      { revision, capabilities: { roots: {} } },
    );
    await client.call('tool');
    expect(told).toMatchObject({
      runtime,
      tenantId: undefined,
      sessionId: undefined,
      connectionId: expect.any(String) as string,
      toolCallId: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
      protocolVersion: revision,
      clientCapabilities: { roots: {} },
      auth: undefined,
      signal: expect.any(AbortSignal) as AbortSignal,
    });
    expect(told['runtime']).toBe(runtime);
  });

  it('the functions of a context can be taken out of it', async () => {
    const { client } = await served(
      {},
      (server) =>
        server.register(
          tool(async (_args, { progress, log, elicit, closeStream }) => {
            progress(1, 2, 'half');
            log('info', { a: 1 });
            closeStream(100);
            return (await elicit(form('a'))).action;
          }),
        ),
      able(revision, () => ({ action: 'decline' })),
    );
    expect(await client.call('tool')).toMatchObject({ content: [{ text: 'decline' }] });
  });

  it('progress reaches who wants it', async () => {
    const { client } = await served(
      {},
      (server) =>
        server.register(
          tool((_args, { progress }) => {
            progress(1);
            progress(2, 4, 'half');
            progress(1);
            expect(() => progress(Number.NaN)).toThrow(/progress/);
            expect(() => progress(3, Number.POSITIVE_INFINITY)).toThrow(/total/);
          }),
        ),
      { revision },
    );
    await client.ask('tools/call', { name: 'tool', arguments: {}, _meta: { progressToken: 'p' } });
    const told = client.notifications.filter(({ method }) => method === 'notifications/progress');
    expect(told.map(({ params }) => params)).toEqual([
      { progressToken: 'p', progress: 1 },
      { progressToken: 'p', progress: 2, total: 4, message: 'half' },
    ]);
  });

  it('a user, a model and the folders can be asked, one after the other and together', async () => {
    const asked: string[] = [];
    const answer = (method: string, params: Json): Json => {
      asked.push(`${method} ${(params['message'] as string | undefined) ?? ''}`);
      if (method === 'elicitation/create') return { action: 'accept', content: { answer: params['message'] } };
      if (method === 'roots/list') return { roots: [{ uri: 'file:///a' }] };
      return { role: 'assistant', model: 'm', content: { type: 'text', text: 'said' } };
    };
    const handler: Handler = async (_args, context) => {
      const first = await context.elicit(form('one'));
      const [second, said, roots] = await Promise.all([
        context.elicit(form('two')),
        context.sample({ messages: [], maxTokens: 5 }),
        context.roots(),
      ]);
      const third = await context.elicit(form('three'), { key: 'third' });
      return { answers: [first, second, third].map(({ content }) => content?.['answer']), said: said.model, roots };
    };
    const { client } = await served({}, (server) => server.register(tool(handler)), able(revision, answer));
    expect(await client.call('tool')).toMatchObject({
      structuredContent: { answers: ['one', 'two', 'three'], said: 'm', roots: [{ uri: 'file:///a' }] },
    });
    expect(asked.toSorted()).toEqual([
      'elicitation/create one',
      'elicitation/create three',
      'elicitation/create two',
      'roots/list ',
      'sampling/createMessage ',
    ]);
  });

  it('what the client cannot do is refused before it is asked', async () => {
    const caught: unknown[] = [];
    const handler: Handler = async (_args, context) => {
      const asks = [
        () => context.elicit(form('a')),
        () => context.elicit({ mode: 'url', message: 'a', url: 'https://example.com' }),
        () => context.sample({ messages: [], maxTokens: 1 }),
        () => context.sample({ messages: [], maxTokens: 1, tools: [] }),
        () => context.roots(),
      ];
      for (const ask of asks) {
        await ask().catch((error: unknown) => {
          if (!(error instanceof MissingCapabilityError)) throw error;
          caught.push(error.requiredCapabilities);
        });
      }
    };
    const set = (server: MCPServer): void => server.register(tool(handler));
    const without = await served({}, set, { revision });
    await without.client.call('tool');
    expect(caught).toEqual([
      { elicitation: { form: {} } },
      { elicitation: { url: {} } },
      { sampling: {} },
      { sampling: { tools: {} } },
      { roots: {} },
    ]);
  });

  it.each([
    ['an elicitation that says nothing of modes', { elicitation: {} }, true, false],
    ['forms alone', { elicitation: { form: {} } }, true, false],
    ['URLs alone', { elicitation: { url: {} } }, false, true],
  ])('%s is understood', async (_, capabilities, hasForms, hasUrls) => {
    const handler: Handler = (_args, context) =>
      Promise.allSettled([
        context.elicit(form('a')),
        context.elicit({ mode: 'url', message: 'a', url: 'https://example.com' }),
      ]).then((settled) => settled.map(({ status }) => status));
    const { client } = await served({}, (server) => server.register(tool(handler)), {
      revision,
      capabilities,
      answer: () => ({ action: 'cancel' }),
    });
    const { content } = (await client.call('tool')) as { content: { text: string }[] };
    const status = (has: boolean): string => (has ? 'fulfilled' : 'rejected');
    expect(JSON.parse(content[0]?.text ?? '')).toEqual([status(hasForms), status(hasUrls)]);
  });

  it('a lacking capability that leaves the handler is an error of the package', async () => {
    const { client } = await served(
      {},
      (server) => server.register(tool((_args, context) => context.elicit(form('a')))),
      { revision },
    );
    const { result, error } = await client.request('tools/call', { name: 'tool', arguments: {} });
    if (revision === '2026-07-28') {
      expect(error).toMatchObject({ code: -32021, data: { requiredCapabilities: { elicitation: { form: {} } } } });
    } else {
      expect(result).toMatchObject({ isError: true });
      expect(JSON.stringify(result)).toContain('elicitation');
    }
  });

  it.each([
    ['an elicitation', { action: 'maybe' }, (context: HandlerContext) => context.elicit(form('a'))],
    ['a message', {}, (context: HandlerContext) => context.sample({ messages: [], maxTokens: 1 })],
    ['folders', { roots: 1 }, (context: HandlerContext) => context.roots()],
  ])('%s of the client that is none rejects', async (_, answer, ask) => {
    const { client } = await served(
      {},
      (server) =>
        server.register(tool((_args, context) => ask(context).catch((error: { code?: string }) => String(error.code)))),
      able(revision, () => answer),
    );
    expect(await client.call('tool')).toMatchObject({ content: [{ text: 'invalid-response' }] });
  });

  it('two questions of one key, and a key that is none, are refused', async () => {
    const handler: Handler = async (_args, context) => {
      void context.elicit(form('a'), { key: '__proto__' });
      const codes = [];
      for (const key of ['__proto__', '']) {
        codes.push(await context.elicit(form('b'), { key }).catch(({ code }: { code: string }) => code));
      }
      return codes;
    };
    const { client } = await served(
      {},
      (server) => server.register(tool(handler)),
      able(revision, () => ({ action: 'cancel' })),
    );
    expect(await client.call('tool')).toMatchObject({
      content: [{ text: '["invalid-arguments","invalid-arguments"]' }],
    });
  });

  it('a handler that asks and does not wait ends with its own result', async () => {
    const { client } = await served(
      {},
      (server) =>
        server.register(
          tool((_args, context) => {
            void context.elicit(form('a'));
            return 'done';
          }),
        ),
      able(revision, () => ({ action: 'cancel' })),
    );
    expect(await client.call('tool')).toMatchObject({ content: [{ text: 'done' }] });
    expect(await client.ask('tools/list')).toBeDefined();
  });

  it('a prompt and a resource can ask as well', async () => {
    const { client } = await served(
      {},
      (server) => {
        server.registerPrompt({
          name: 'a',
          handler: async (_args, context) => (await context.elicit(form('p'))).action,
        });
        server.registerResource({
          uri: 'memo://a',
          name: 'a',
          handler: async (_uri, context) => ({ text: (await context.elicit(form('r'))).action }),
        });
      },
      able(revision, () => ({ action: 'decline' })),
    );
    expect(JSON.stringify(await client.ask('prompts/get', { name: 'a' }))).toContain('decline');
    expect(JSON.stringify(await client.ask('resources/read', { uri: 'memo://a' }))).toContain('decline');
  });
});

describe('in the stateless era', () => {
  it('a handler that asked is run again from its start, and the runs before are aborted', async () => {
    const runs: AbortSignal[] = [];
    const handler: Handler = async (_args, context) => {
      runs.push(context.signal);
      await context.elicit(form('one'));
      await context.elicit(form('two'));
      return 'done';
    };
    const { client } = await served(
      {},
      (server) => server.register(tool(handler)),
      able('2026-07-28', () => ({ action: 'cancel' })),
    );
    expect(await client.call('tool')).toMatchObject({ content: [{ text: 'done' }] });
    expect(runs).toHaveLength(3);
    await until(
      'the abort of the runs before',
      () => runs.map(({ aborted }) => aborted).join(',') === 'true,true,false',
    );
  });

  it('answers find their questions by key, in whatever order they are asked', async () => {
    let run = 0;
    const handler: Handler = async (_args, context) => {
      const names = (run += 1) % 2 === 1 ? ['a', 'b'] : ['b', 'a'];
      const answers = new Map<string, unknown>();
      await Promise.all(
        names.map(async (name) => {
          answers.set(name, (await context.elicit(form(name), { key: name })).content?.['answer']);
        }),
      );
      return [answers.get('a'), answers.get('b')];
    };
    const answer = (_method: string, params: Json): Json => ({
      action: 'accept',
      content: { answer: params['message'] },
    });
    const { client } = await served({}, (server) => server.register(tool(handler)), able('2026-07-28', answer));
    expect(await client.call('tool')).toMatchObject({ structuredContent: ['a', 'b'] });
  });
});

describe('a log message', () => {
  it('reaches a client that wants its level', async () => {
    const handler: Handler = (_args, { log }) => {
      log('debug', 'quiet');
      log('error', { a: 1 });
      expect(() => log('loud' as never, 'x')).toThrow();
      expect(() => log('error', 1n)).toThrow(/JSON/);
    };
    const { client } = await served({}, (server) => server.register(tool(handler)));
    await client.ask('logging/setLevel', { level: 'warning' });
    await client.call('tool');
    const told = client.notifications.filter(({ method }) => method === 'notifications/message');
    expect(told.map(({ params }) => params)).toEqual([{ level: 'error', data: { a: 1 } }]);
  });
});

describe('the signal of a handler', () => {
  const waiting = (reasons: unknown[]): Handler => {
    return (_args, { signal }) =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => {
          reasons.push((signal.reason as Error).cause);
          resolve('late');
        });
      });
  };

  it('fires when the client cancels, and nothing is answered', async () => {
    const reasons: unknown[] = [];
    const { client, server } = await served({}, (made) => made.register(tool(waiting(reasons))));
    client.send({ id: 'c', method: 'tools/call', params: { name: 'tool', arguments: {} } });
    await until('the call', () => server.stats().jobs === 1);
    client.send({ method: 'notifications/cancelled', params: { requestId: 'c' } });
    await until('the abort', () => reasons.length === 1);
    expect(reasons).toEqual(['cancelled']);
    expect(await client.ask('ping')).toEqual({});
    await until('the end of the job', () => server.stats().jobs === 0);
  });

  it('fires when the time is up, and the slot is free when the handler has settled', async () => {
    const reasons: unknown[] = [];
    const { client, server } = await served({}, (made) => made.register(tool(waiting(reasons))), {
      limits: { requestTimeoutMs: 50, maxConcurrentRequests: 1 },
    });
    const { error } = await client.request('tools/call', { name: 'tool', arguments: {} });
    expect(error).toMatchObject({ code: -32001, message: 'Request timed out' });
    expect(reasons).toEqual(['timeout']);
    await until('a free slot', () => server.stats().running === 0);
  });

  it('fires when the input ends before the handler does, after the time that it is given', async () => {
    const reasons: unknown[] = [];
    const { client, server } = await served({}, (made) => made.register(tool(waiting(reasons))), {
      limits: { shutdownTimeoutMs: 50 },
    });
    client.send({ id: 'c', method: 'tools/call', params: { name: 'tool', arguments: {} } });
    await until('the call', () => server.stats().jobs === 1);
    client.input.end();
    await until('the end', () => !server.isStarted());
    expect(reasons).toHaveLength(1);
  });

  it('is made only for who looks at it, and has fired for who looks too late', async () => {
    let seen: AbortSignal | undefined;
    let goOn = (): void => {};
    const handler: Handler = async (_args, context) => {
      await new Promise<void>((resolve) => (goOn = resolve));
      seen = context.signal;
    };
    const { client, server } = await served({}, (made) => made.register(tool(handler)));
    client.send({ id: 'c', method: 'tools/call', params: { name: 'tool', arguments: {} } });
    await until('the call', () => server.stats().jobs === 1);
    client.send({ method: 'notifications/cancelled', params: { requestId: 'c' } });
    await client.ask('ping');
    await until('the cancellation', () => server.stats().cancelled === 1);
    goOn();
    await until('the signal', () => seen);
    expect(seen?.aborted).toBe(true);
  });
});

describe('what is left open', () => {
  it('is rejected when the client cancels meanwhile', async () => {
    const failures: unknown[] = [];
    const handler: Handler = (_args, context) =>
      context.elicit(form('a')).catch((error: Error) => failures.push(error.name));
    const logger = quiet();
    const { client, server } = await served({ logger }, (made) => made.register(tool(handler)), {
      capabilities: { elicitation: {} },
      answer: () => new Promise<never>(() => {}),
    });
    client.send({ id: 'c', method: 'tools/call', params: { name: 'tool', arguments: {} } });
    await until('the call', () => server.stats().jobs === 1);
    client.send({ method: 'notifications/cancelled', params: { requestId: 'c' } });
    await until('the rejection', () => failures.length === 1);
    expect(failures).toEqual(['AbortError']);
  });
});
