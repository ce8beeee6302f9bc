// Resources, prompts and completions of remote servers: what is different over HTTP. The lists themselves and their pages
// are in `client/resources-and-prompts.test.ts`.

import { AbortError, type McpToolset } from 'espalier/node';
import { describe, expect, it } from 'vitest';

import { decoded, sessionServer, statelessServer, type SessionOptions } from '../fixtures/http/mcp.js';
import type { Exchange } from '../fixtures/http/peer.js';
import { connect } from '../helpers/connect.js';
import { mcpError, rejection } from '../helpers/errors.js';
import { http, over, overBoth } from '../helpers/remote.js';
import { timed, until } from '../helpers/until.js';

const CAPABILITIES = { tools: {}, resources: {}, prompts: {}, completions: {} };

const RESULTS: Record<string, Record<string, unknown>> = {
  'resources/list': { resources: [{ uri: 'file:///a', name: 'a' }] },
  'resources/templates/list': { resourceTemplates: [{ uriTemplate: 'file:///{x}', name: 't' }] },
  'resources/read': { contents: [{ uri: 'file:///a', text: 'x' }] },
  'prompts/list': { prompts: [{ name: 'p' }] },
  'prompts/get': { messages: [] },
  'completion/complete': { completion: { values: ['v'] } },
};

const ASKS: [string, (toolset: McpToolset, signal?: AbortSignal) => Promise<unknown>][] = [
  ['resources/list', (toolset) => toolset.resources.list('srv')],
  ['resources/templates/list', (toolset) => toolset.resources.templates('srv')],
  [
    'resources/read',
    (toolset, signal) => toolset.resources.read('srv', 'file:///a', signal === undefined ? {} : { signal }),
  ],
  ['prompts/list', (toolset) => toolset.prompts.list('srv')],
  [
    'prompts/get',
    (toolset, signal) => toolset.prompts.get('srv', 'p', { a: 'b' }, signal === undefined ? {} : { signal }),
  ],
  [
    'completion/complete',
    (toolset) => toolset.prompts.complete('srv', { type: 'ref/prompt', name: 'p' }, { name: 'a', value: 'v' }),
  ],
];

const methods = Object.fromEntries(Object.entries(RESULTS).map(([method, result]) => [method, () => result]));
const ERAS = ['session', 'stateless'] as const;

function serve(era: (typeof ERAS)[number], options: SessionOptions = {}) {
  const all = { capabilities: CAPABILITIES, methods, ...options };
  return era === 'session' ? sessionServer(all) : statelessServer(all);
}

/** Answers a method in a way of its own. */
function answering(method: string, answer: (exchange: Exchange) => void): SessionOptions {
  return {
    before: (exchange) => {
      if (exchange.message.method !== method) return false;
      answer(exchange);
      return true;
    },
  };
}

overBoth((stack) => {
  describe.each(ERAS)('in the %s era', (era) => {
    it.each(['json', 'sse'] as const)('everything is answered, as %s', async (reply) => {
      const server = await serve(era, { reply });
      const { toolset, diagnostics } = await connect([http(server.url)], over(stack));
      const results = await Promise.all(ASKS.map(async ([method, ask]) => [method, await ask(toolset)] as const));

      for (const [method, result] of results) {
        const [list] = Object.values(RESULTS[method] ?? {});
        if (method.endsWith('/list')) expect(result).toEqual([{ ...(list as object[])[0], server: 'srv' }]);
        else expect(result).toMatchObject(RESULTS[method] ?? {});
      }
      expect(diagnostics).toEqual([]);
    });

    it('each request carries a credential of its own', async () => {
      const server = await serve(era);
      let issued = 0;
      const names: unknown[] = [];
      const { toolset } = await connect([http(server.url)], {
        ...over(stack),
        session: 's',
        auth: async (name, { session }) => {
          names.push([name, session]);
          return { token: `token-${(issued += 1)}` };
        },
      });
      for (const [, ask] of ASKS) await ask(toolset);

      const sent = ASKS.map(([method]) => server.seen(method).map((one) => one.header('authorization')));
      expect(sent).toEqual(ASKS.map((_, n) => [`Bearer token-${n + 2}`]));
      expect(names).toEqual(Array.from({ length: ASKS.length + 1 }, () => ['srv', 's']));
    });

    it.each([401, 403])('credentials that are refused with %i are not sent again', async (status) => {
      let refusing = false;
      const server = await serve(era, {
        before: (exchange) => {
          if (refusing && exchange.request.method === 'POST') exchange.send(status);
          return refusing && exchange.request.method === 'POST';
        },
      });
      let token = 'first';
      const { toolset } = await connect([http(server.url)], { ...over(stack), session: 's', auth: () => ({ token }) });
      const states: string[] = [];
      toolset.on('status', ({ state }) => void states.push(state));
      refusing = true;
      await mcpError(toolset.resources.read('srv', 'file:///a'), 'unauthorized');
      const seen = server.seen().length;
      for (const [, ask] of ASKS) await mcpError(ask(toolset), 'unavailable');
      expect(server.seen()).toHaveLength(seen);
      expect(toolset.servers()).toMatchObject([{ state: 'unavailable' }]);

      refusing = false;
      token = 'second';
      await toolset.resources.read('srv', 'file:///a');
      expect(toolset.servers()).toMatchObject([{ state: 'ready' }]);
      await until('both changes', () => states.length === 2);
      expect(states).toEqual(['unavailable', 'ready']);
    });

    it('a credential that never comes is waited for until the time limit, an abort or `close()`', async () => {
      const server = await serve(era);
      let asked = 0;
      const { toolset } = await connect([http(server.url, { timeoutMs: 1000 })], {
        ...over(stack),
        session: 's',
        auth: () => ((asked += 1) === 1 ? { token: 't' } : new Promise(() => {})),
      });
      const { value, ms } = await timed(() => Promise.all(ASKS.map(([, ask]) => mcpError(ask(toolset), 'timeout'))));
      expect(ms).toBeLessThan(15_000);
      for (const { message } of value) expect(message).toContain('auth');

      const controller = new AbortController();
      const aborted = rejection(toolset.resources.read('srv', 'file:///a', { signal: controller.signal }));
      const closed = rejection(toolset.prompts.get('srv', 'p'));
      controller.abort();
      expect(await aborted).toBeInstanceOf(AbortError);
      await toolset.close();
      expect(await closed).toMatchObject({ code: 'closed' });
      expect(ASKS.flatMap(([method]) => server.seen(method))).toEqual([]);
    });

    it.each([
      ['rejects', () => Promise.reject(new Error('the vault is closed'))],
      ['gives none', () => ({})],
      ['gives one with a line break', () => ({ token: 'secretive\r\nX-Injected: 1' })],
    ])('`auth` that %s fails that request only, and sends nothing', async (_what, broken) => {
      const server = await serve(era);
      let good = true;
      const { toolset } = await connect([http(server.url)], {
        ...over(stack),
        session: 's',
        auth: (() => (good ? { token: 't' } : broken())) as never,
      });
      good = false;
      const error = await mcpError(toolset.resources.read('srv', 'file:///a'), 'unauthorized');
      expect(error.message).not.toContain('secretive');
      good = true;
      await toolset.resources.read('srv', 'file:///a');

      expect(server.seen('resources/read')).toHaveLength(1);
      expect(server.bytes()).not.toContain('Injected');
    });

    it('what gets no answer ends its request at the time limit', async () => {
      const server = await serve(era, {
        before: (exchange) => {
          if (!ASKS.some(([method]) => method === exchange.message.method)) return false;
          exchange.hang();
          return true;
        },
      });
      const { toolset } = await connect([http(server.url, { timeoutMs: 1000 })], over(stack));
      const { ms } = await timed(() => Promise.all(ASKS.map(([, ask]) => mcpError(ask(toolset), 'timeout'))));

      expect(ms).toBeLessThan(15_000);
      for (const [method] of ASKS) {
        expect(server.seen(method)).toHaveLength(1);
        await until(`the end of ${method}`, () => server.seen(method)[0]?.gone === true);
      }
    });

    it.each(ASKS.filter(([method]) => ['resources/read', 'prompts/get'].includes(method)))(
      '%s that is aborted ends its request at once',
      async (method, ask) => {
        const server = await serve(
          era,
          answering(method, (exchange) => exchange.hang()),
        );
        const { toolset } = await connect([http(server.url)], over(stack));
        const controller = new AbortController();
        const pending = rejection(ask(toolset, controller.signal));
        const [request] = await server.waitFor(method);
        controller.abort();

        expect(await pending).toBeInstanceOf(AbortError);
        await until('the end of the request', () => request?.gone === true);
        if (era === 'session') {
          const [cancelled] = await server.waitFor('notifications/cancelled');
          expect(cancelled?.message.params.requestId).toBe(request?.message.id);
        }
      },
    );

    it.each(ASKS)(
      '%s whose reply is lost rejects with an unknown outcome, and is not sent again',
      async (method, ask) => {
        const server = await serve(
          era,
          answering(method, (exchange) => exchange.cut()),
        );
        const { toolset } = await connect([http(server.url)], over(stack));
        const error = await mcpError(ask(toolset), 'connection-lost');

        expect(error.message).toContain('unknown');
        expect(server.seen(method)).toHaveLength(1);
      },
    );

    it.each(['resources/read', 'prompts/get', 'completion/complete'])(
      '%s does not follow a redirect to another origin',
      async (method) => {
        const second = await serve(era);
        const first = await serve(
          era,
          answering(method, (exchange) => exchange.redirect(307, second.url)),
        );
        const { toolset } = await connect([http(first.url)], over(stack));
        const ask = ASKS.find(([one]) => one === method)?.[1];
        const error = await mcpError(Promise.resolve(ask?.(toolset)), 'host-blocked');

        expect(error.message).toContain(second.origin);
        expect(second.connections().all).toBe(0);
      },
    );

    it('an error that a server makes of a whole answer costs that request only', async () => {
      const server = await serve(
        era,
        answering('prompts/get', (exchange) => exchange.send(500, 'oops')),
      );
      const { toolset } = await connect([http(server.url)], over(stack));
      const error = await rejection(toolset.prompts.get('srv', 'p'));

      expect(error).toMatchObject({ name: 'McpError', message: expect.stringContaining('500') });
      await expect(toolset.resources.read('srv', 'file:///a')).resolves.toMatchObject({ contents: [{}] });
    });

    it('one server of several that fails costs only its own part of a list', async () => {
      const broken = await serve(
        era,
        answering('prompts/list', (exchange) => exchange.send(500)),
      );
      const good = await serve(era);
      const { toolset, of } = await connect([http(broken.url, { name: 'broken' }), http(good.url, { name: 'good' })], {
        ...over(stack),
      });

      expect(await toolset.prompts.list()).toEqual([{ name: 'p', server: 'good' }]);
      expect(of('connection-failure')).toEqual([expect.objectContaining({ origin: 'broken' })]);
    });
  });

  describe('headers of the stateless era', () => {
    it.each(['plain', 'with space', ' outer ', 'größe', '工具', '=?base64?eA==?=', 'a\tb\r\nX-Injected: 1', ''])(
      'name what is read and what is got: %j',
      async (name) => {
        const server = await statelessServer({ capabilities: CAPABILITIES, methods });
        const { toolset } = await connect([http(server.url)], over(stack));
        await toolset.resources.read('srv', name);
        await toolset.prompts.get('srv', name);

        for (const method of ['resources/read', 'prompts/get']) {
          const [request] = server.seen(method);
          expect(decoded(request?.header('mcp-name') ?? 'missing')).toBe(name);
          expect(request?.header('mcp-method')).toBe(method);
          expect(request?.headers.map(([one]) => one.toLowerCase())).not.toContain('x-injected');
        }
      },
    );

    it('name nothing for anything else', async () => {
      const server = await statelessServer({ capabilities: CAPABILITIES, methods });
      const { toolset } = await connect([http(server.url)], over(stack));
      await toolset.prompts.complete('srv', { type: 'ref/prompt', name: 'p' }, { name: 'a', value: '' });
      await toolset.prompts.list('srv');

      for (const method of ['completion/complete', 'prompts/list']) {
        expect(server.seen(method)[0]?.header('mcp-name')).toBeUndefined();
      }
    });
  });

  describe('an answer of the stateless era that needs input', () => {
    const question = {
      method: 'elicitation/create',
      params: {
        message: 'Which?',
        requestedSchema: { type: 'object', properties: { n: { type: 'integer', default: 7 } } },
      },
    };

    it.each(['resources/read', 'prompts/get'])('gets it, where %s was asked', async (method) => {
      const server = await statelessServer({
        capabilities: CAPABILITIES,
        methods: {
          ...methods,
          [method]: ({ message }) =>
            message.params.inputResponses === undefined
              ? { resultType: 'input_required', requestState: 'é"', inputRequests: { which: question } }
              : (RESULTS[method] ?? {}),
        },
      });
      const { toolset } = await connect([http(server.url)], {
        ...over(stack),
        session: 's',
        auth: () => ({ token: 't' }),
        elicitation: () => ({ action: 'accept' }),
      });
      const ask = ASKS.find(([one]) => one === method)?.[1];

      expect(await ask?.(toolset)).toMatchObject(RESULTS[method] ?? {});
      const [first, second] = server.seen(method);
      expect(second?.message.id).not.toBe(first?.message.id);
      const { _meta, ...params } = first?.message.params ?? {};
      expect(_meta).toBeDefined();
      expect(second?.message.params).toMatchObject({
        ...params,
        inputResponses: { which: { action: 'accept', content: { n: 7 } } },
        requestState: 'é"',
      });
      for (const header of ['mcp-name', 'mcp-method', 'authorization']) {
        expect(second?.header(header)).toBe(first?.header(header));
        expect(second?.header(header)).toBeDefined();
      }
    });

    it.each(['resources/list', 'prompts/list', 'completion/complete'])(
      'is invalid, where %s was asked',
      async (method) => {
        let asked = 0;
        const server = await statelessServer({
          capabilities: CAPABILITIES,
          methods: {
            ...methods,
            [method]: () => ({ resultType: 'input_required', inputRequests: { which: question } }),
          },
        });
        const { toolset } = await connect([http(server.url)], {
          ...over(stack),
          elicitation: () => {
            asked += 1;
            return { action: 'cancel' };
          },
        });
        const ask = ASKS.find(([one]) => one === method)?.[1];

        await mcpError(Promise.resolve(ask?.(toolset)), 'invalid-response');
        expect(server.seen(method)).toHaveLength(1);
        expect(asked).toBe(0);
      },
    );

    it('can be aborted while the handler thinks, whose signal fires', async () => {
      const server = await statelessServer({
        capabilities: CAPABILITIES,
        methods: {
          ...methods,
          'resources/read': () => ({ resultType: 'input_required', inputRequests: { which: question } }),
        },
      });
      let signalOfHandler: AbortSignal | undefined;
      const { toolset } = await connect([http(server.url)], {
        ...over(stack),
        elicitation: (_request, { signal }) => {
          signalOfHandler = signal;
          return new Promise(() => {});
        },
      });
      const controller = new AbortController();
      const pending = rejection(toolset.resources.read('srv', 'x', { signal: controller.signal }));
      await until('the question', () => signalOfHandler);
      controller.abort();

      expect(await pending).toBeInstanceOf(AbortError);
      await until('the signal', () => signalOfHandler?.aborted);
      expect(server.seen('resources/read')).toHaveLength(1);
    });
  });

  it('a session that the server forgot is opened again for a request, which is sent once more', async () => {
    const server = await sessionServer({ capabilities: CAPABILITIES, methods });
    const { toolset } = await connect([http(server.url)], over(stack));
    server.expire();

    await expect(toolset.resources.read('srv', 'file:///a')).resolves.toMatchObject({ contents: [{}] });
    expect(server.seen('initialize')).toHaveLength(2);
    expect(server.seen('resources/read')).toHaveLength(2);
  });
});
