// What a server of the session era asks, and how it is answered.

import { describe, expect, it } from 'vitest';

import { sessionServer, type Call } from '../fixtures/http/mcp.js';
import type { Seen } from '../fixtures/http/peer.js';
import { connect } from '../helpers/connect.js';
import { http, over, overBoth } from '../helpers/remote.js';
import { textResult } from '../helpers/scripted.js';
import { until } from '../helpers/until.js';

const sampling = {
  method: 'sampling/createMessage',
  params: { messages: [{ role: 'user', content: { type: 'text', text: 'hi' } }], maxTokens: 10 },
};
const form = {
  method: 'elicitation/create',
  params: {
    message: 'Who?',
    requestedSchema: {
      type: 'object',
      properties: {
        name: { type: 'string', default: 'John' },
        age: { type: 'integer', default: 30 },
        note: { type: 'string' },
      },
    },
  },
};
const link = {
  method: 'elicitation/create',
  params: { mode: 'url', message: 'Open', url: 'https://a.example/', elicitationId: 'e1' },
};

overBoth((stack) => {
  /** A server whose tool `ask` sends a request on the stream of the call, or on the standing one, and returns the answer. */
  async function asking(request: object, where: 'call' | 'standing' = 'call') {
    const answered = (id: string): Promise<Seen> =>
      until(`the answer to ${id}`, () =>
        server.seen('POST').find(({ message }) => message.id === id && message.method === undefined),
      );
    const server = await sessionServer({
      get: 'stream',
      tools: {
        ask: async ({ exchange }: Call) => {
          const own = exchange.stream();
          const on = where === 'call' ? own : await server.stream();
          on.message({ id: 'ask-1', ...request });
          const { message } = await answered('ask-1');
          own.result(textResult(JSON.stringify(message.result ?? { error: message.error?.code }))).end();
        },
      },
    });
    return { server, answered };
  }

  const call = async (toolset: { call(name: string): Promise<unknown> }): Promise<unknown> =>
    JSON.parse(String(await toolset.call('srv__ask')));

  describe.each(['call', 'standing'] as const)('a request on the stream of the %s', (where) => {
    it('for an answer of the model goes to the handler', async () => {
      const { server, answered } = await asking(sampling, where);
      const asked: unknown[] = [];
      const { toolset } = await connect([http(server.url)], {
        ...over(stack),
        sampling: (request, { server: name, signal }) => {
          asked.push([name, request.maxTokens, signal instanceof AbortSignal]);
          return { role: 'assistant', model: 'm', content: { type: 'text', text: 'hello' } };
        },
      });

      expect(await call(toolset)).toEqual({ role: 'assistant', model: 'm', content: { type: 'text', text: 'hello' } });
      expect(asked).toEqual([['srv', 10, true]]);
      const answer = await answered('ask-1');
      expect(answer.header('mcp-session-id')).toBe(server.sessions()[0]);
      expect(answer.header('mcp-protocol-version')).toBe('2025-11-25');
    });

    it('for input goes to the handler, and what it leaves out is filled in from the schema', async () => {
      const { server } = await asking(form, where);
      const { toolset } = await connect([http(server.url)], {
        ...over(stack),
        elicitation: async (request) => {
          expect(request.mode).toBe('form');
          return { action: 'accept', content: { age: 31 } };
        },
      });

      expect(await call(toolset)).toEqual({ action: 'accept', content: { name: 'John', age: 31 } });
    });

    it('for the roots is answered with them', async () => {
      const { server } = await asking({ method: 'roots/list' }, where);
      const { toolset } = await connect([http(server.url)], {
        ...over(stack),
        roots: () => [{ uri: 'file:///work' }],
      });

      expect(await call(toolset)).toEqual({ roots: [{ uri: 'file:///work' }] });
    });
  });

  it('an address to open goes to the handler as one', async () => {
    const { server } = await asking(link);
    const { toolset } = await connect([http(server.url)], {
      ...over(stack),
      elicitation: (request) => {
        expect(request).toMatchObject({ mode: 'url', url: 'https://a.example/' });
        return { action: 'accept' };
      },
    });

    expect(await call(toolset)).toEqual({ action: 'accept' });
  });

  it.each([
    ['a question', form],
    ['sampling', sampling],
    ['the roots', { method: 'roots/list' }],
    ['the unknown', { method: 'shell/run' }],
  ])('%s without a handler is refused', async (_what, request) => {
    const { server } = await asking(request);
    const { toolset } = await connect([http(server.url)], over(stack));

    expect(await call(toolset)).toEqual({ error: -32_601 });
    expect(server.seen('initialize')[0]?.message.params.capabilities).toEqual({});
  });

  it.each<[string, () => unknown]>([
    [
      'throws',
      () => {
        throw new Error('secretive');
      },
    ],
    ['rejects', () => Promise.reject(new Error('secretive'))],
    ['gives nothing', () => undefined],
    ['gives something else', () => 'yes'],
  ])('a handler that %s leads to an error reply, without its words', async (_what, handler) => {
    const { server } = await asking(form);
    const { toolset } = await connect([http(server.url)], { ...over(stack), elicitation: handler as never });

    expect(await call(toolset)).toEqual({ error: expect.any(Number) });
    expect(server.bytes()).not.toContain('secretive');
  });

  it.each([
    ['elicitation', { elicitation: () => ({ action: 'decline' as const }) }, { elicitation: expect.any(Object) }],
    [
      'sampling',
      { sampling: () => ({ role: 'assistant' as const, model: 'm', content: { type: 'text' as const, text: '' } }) },
      { sampling: expect.any(Object) },
    ],
    ['roots', { roots: [] }, { roots: expect.any(Object) }],
  ])('%s is declared with its handler, alone', async (_name, option, capabilities) => {
    const { server } = await asking(form);
    await connect([http(server.url)], { ...over(stack), ...option });

    expect(server.seen('initialize')[0]?.message.params.capabilities).toEqual(capabilities);
  });

  it('log messages reach `onLog`', async () => {
    const server = await sessionServer({
      get: 'stream',
      tools: {
        t: ({ exchange }) =>
          exchange
            .stream()
            .message({ method: 'notifications/message', params: { level: 'info', logger: 'l', data: { a: 1 } } })
            .result(textResult('done'))
            .end(),
      },
    });
    const logs: unknown[] = [];
    const { toolset } = await connect([http(server.url)], { ...over(stack), onLog: (log) => void logs.push(log) });
    await toolset.call('srv__t', {});

    await until('the message', () => logs.length > 0);
    expect(logs).toEqual([{ server: 'srv', level: 'info', logger: 'l', data: { a: 1 } }]);
  });
});
