// Results that a server of the stateless era lets be used again for a while.

import type { McpToolset } from 'espalier/node';
import { describe, expect, it } from 'vitest';

import { sessionServer, statelessServer, type StatelessOptions } from '../fixtures/http/mcp.js';
import { connect } from '../helpers/connect.js';
import { mcpError } from '../helpers/errors.js';
import { http, over, overBoth } from '../helpers/remote.js';
import { until } from '../helpers/until.js';

const CAPABILITIES = {
  tools: {},
  resources: { listChanged: true, subscribe: true },
  prompts: { listChanged: true },
  completions: {},
};
const LONG = 60_000;

const ASKS: [string, (toolset: McpToolset) => Promise<unknown>][] = [
  ['resources/list', (toolset) => toolset.resources.list('srv')],
  ['resources/templates/list', (toolset) => toolset.resources.templates('srv')],
  ['prompts/list', (toolset) => toolset.prompts.list('srv')],
  ['resources/read', (toolset) => toolset.resources.read('srv', 'file:///a')],
];

/** Numbers every result, so that an old one can be told from a new one, and gives it these hints. */
function counting(hints: Record<string, unknown>, more: StatelessOptions['methods'] = {}): StatelessOptions {
  let count = 0;
  const next = () => `n${(count += 1)}`;
  return {
    capabilities: CAPABILITIES,
    methods: {
      'resources/list': () => ({ ...hints, resources: [{ uri: next() }] }),
      'resources/templates/list': () => ({ ...hints, resourceTemplates: [{ uriTemplate: next() }] }),
      'prompts/list': () => ({ ...hints, prompts: [{ name: next() }] }),
      'resources/read': () => ({ ...hints, contents: [{ uri: next() }] }),
      'prompts/get': () => ({ ...hints, messages: [], description: next() }),
      'completion/complete': () => ({ ...hints, completion: { values: [next()] } }),
      ...more,
    },
  };
}

overBoth((stack) => {
  describe.each(ASKS)('%s', (method, ask) => {
    it.each(['private', 'public', undefined])('is not asked again within its time (scope %j)', async (cacheScope) => {
      const server = await statelessServer(
        counting({ ttlMs: LONG, ...(cacheScope === undefined ? {} : { cacheScope }) }),
      );
      const { toolset } = await connect([http(server.url)], over(stack));
      const first = await ask(toolset);

      expect(await ask(toolset)).toEqual(first);
      expect(server.seen(method)).toHaveLength(1);
    });

    it('is asked again after its time', async () => {
      const server = await statelessServer(counting({ ttlMs: 50 }));
      const { toolset } = await connect([http(server.url)], over(stack));
      const first = await ask(toolset);

      await until('another result', async () => JSON.stringify(await ask(toolset)) !== JSON.stringify(first));
    });

    it.each([[0], [-1], [null], ['60000'], [{}], [-1e300]])('is asked again where its time is %j', async (ttlMs) => {
      const server = await statelessServer(counting({ ttlMs }));
      const { toolset } = await connect([http(server.url)], over(stack));
      const first = await ask(toolset);

      expect(await ask(toolset)).not.toEqual(first);
      expect(server.seen(method)).toHaveLength(2);
    });

    it('is asked again with another credential, and not with the same', async () => {
      const server = await statelessServer(counting({ ttlMs: LONG, cacheScope: 'public' }));
      let token = 'a';
      const { toolset } = await connect([http(server.url)], { ...over(stack), session: 's', auth: () => ({ token }) });
      const ofA = await ask(toolset);
      token = 'b';
      const ofB = await ask(toolset);
      token = 'a';

      expect(ofB).not.toEqual(ofA);
      expect(await ask(toolset)).toEqual(ofA);
      expect(server.seen(method).map((one) => one.header('authorization'))).toEqual(['Bearer a', 'Bearer b']);
    });

    it('that fails is not kept', async () => {
      let broken = true;
      const server = await statelessServer({
        ...counting({ ttlMs: LONG }),
        before: (exchange) => {
          if (!broken || exchange.message.method !== method) return false;
          exchange.json(200, {
            jsonrpc: '2.0',
            id: exchange.message.id,
            error: { code: -32_603, message: 'x' },
            ttlMs: LONG,
          });
          return true;
        },
      });
      const { toolset } = await connect([http(server.url)], over(stack));
      await mcpError(ask(toolset), 'server-error');
      broken = false;

      await ask(toolset);
      expect(server.seen(method)).toHaveLength(2);
    });

    it('is the caller’s own copy', async () => {
      const server = await statelessServer(counting({ ttlMs: LONG }));
      const { toolset } = await connect([http(server.url)], over(stack));
      const first = await ask(toolset);
      const copy = structuredClone(first);
      for (const key of Object.keys(first as object)) delete (first as Record<string, unknown>)[key];

      expect(await ask(toolset)).toEqual(copy);
    });

    it('is asked again in the session era, whatever it says', async () => {
      const server = await sessionServer(counting({ ttlMs: LONG }));
      const { toolset } = await connect([http(server.url)], over(stack));
      await ask(toolset);
      await ask(toolset);

      expect(server.seen(method)).toHaveLength(2);
    });

    it('is forgotten when the server says that it changed', async () => {
      const server = await statelessServer(counting({ ttlMs: LONG }));
      const { toolset } = await connect([http(server.url)], over(stack));
      const first = await ask(toolset);
      await server.subscription('resourcesListChanged');
      const what = method.startsWith('prompts') ? 'prompts' : 'resources';
      const changed = new Promise((resolve) => toolset.on('change', resolve));
      server.notify(`notifications/${what}/list_changed`);

      expect(await changed).toEqual({ server: 'srv', what });
      expect(await ask(toolset)).not.toEqual(first);
    });
  });

  it('a change of one kind forgets no other kind', async () => {
    const server = await statelessServer(counting({ ttlMs: LONG }));
    const { toolset } = await connect([http(server.url)], over(stack));
    for (const [, ask] of ASKS) await ask(toolset);
    await server.subscription('promptsListChanged');
    const changed = new Promise((resolve) => toolset.on('change', resolve));
    server.notify('notifications/prompts/list_changed');
    await changed;
    for (const [, ask] of ASKS) await ask(toolset);

    expect(ASKS.map(([method]) => server.seen(method).length)).toEqual([1, 1, 2, 1]);
  });

  it('an update of a resource forgets what was read', async () => {
    const server = await statelessServer(counting({ ttlMs: LONG }));
    const { toolset } = await connect([http(server.url)], over(stack));
    const first = await toolset.resources.read('srv', 'file:///a');
    const updated = new Promise<string>((resolve) => {
      void toolset.resources.subscribe('srv', 'file:///a', resolve);
    });
    await server.subscription('resourceSubscriptions');
    await until('the update', () => {
      server.notify('notifications/resources/updated', { uri: 'file:///a' });
      return Promise.race([updated, new Promise<false>((resolve) => setTimeout(() => resolve(false), 50))]);
    });

    expect(await toolset.resources.read('srv', 'file:///a')).not.toEqual(first);
  });

  it('what was asked for before a change and came after it is not kept', async () => {
    let release: (() => void) | undefined;
    const server = await statelessServer({
      ...counting({ ttlMs: LONG }),
      before: async ({ message }) => {
        if (message.method !== 'resources/list' || release !== undefined) return false;
        await new Promise<void>((resolve) => (release = resolve));
        return false;
      },
    });
    const { toolset } = await connect([http(server.url)], over(stack));
    await server.subscription('resourcesListChanged');
    const changed = new Promise((resolve) => toolset.on('change', resolve));
    const early = toolset.resources.list('srv');
    await server.waitFor('resources/list');
    server.notify('notifications/resources/list_changed');
    await changed;
    release?.();

    const first = await early;
    expect(await toolset.resources.list('srv')).not.toEqual(first);
    expect(server.seen('resources/list')).toHaveLength(2);
  });

  it('prompts and completions themselves are never kept', async () => {
    const server = await statelessServer(counting({ ttlMs: LONG }));
    const { toolset } = await connect([http(server.url)], over(stack));
    const get = () => toolset.prompts.get('srv', 'p');
    const complete = () => toolset.prompts.complete('srv', { type: 'ref/prompt', name: 'p' }, { name: 'a', value: '' });

    expect(await get()).not.toEqual(await get());
    expect(await complete()).not.toEqual(await complete());
  });

  it('other params are another request', async () => {
    const server = await statelessServer(counting({ ttlMs: LONG }));
    const { toolset } = await connect([http(server.url)], over(stack));
    const a = await toolset.resources.read('srv', 'file:///a');
    const b = await toolset.resources.read('srv', 'file:///b');

    expect(b).not.toEqual(a);
    expect(await toolset.resources.read('srv', 'file:///a')).toEqual(a);
    expect(server.seen('resources/read')).toHaveLength(2);
  });

  it.each<[string, Record<string, unknown>]>([
    ['answers', { inputRequests: { q: { method: 'roots/list' } } }],
    ['a state', { requestState: 's' }],
  ])('a result of a request that carried %s is never kept', async (_what, input) => {
    let count = 0;
    const server = await statelessServer(
      counting(
        { ttlMs: LONG },
        {
          'resources/read': ({ message: { params } }) =>
            params.inputResponses === undefined && params.requestState === undefined
              ? { resultType: 'input_required', ttlMs: LONG, ...input }
              : { ttlMs: LONG, contents: [{ uri: `read ${(count += 1)}` }] },
        },
      ),
    );
    const { toolset } = await connect([http(server.url)], { ...over(stack), roots: [] });
    const first = await toolset.resources.read('srv', 'file:///a');

    expect(await toolset.resources.read('srv', 'file:///a')).not.toEqual(first);
    expect(server.seen('resources/read')).toHaveLength(4);
  });

  it('each page has its own time, and a list whose kept pages lead nowhere is begun anew', async () => {
    let generation = 1;
    const server = await statelessServer({
      ...counting({}),
      before: (exchange) => {
        const { method, params } = exchange.message;
        if (method !== 'resources/list' || params.cursor === undefined || params.cursor === `c${generation}`)
          return false;
        exchange.error(200, { code: -32_602, message: 'no such cursor' });
        return true;
      },
      methods: {
        'resources/list': ({ message: { params } }) =>
          params.cursor === undefined
            ? { ttlMs: LONG, resources: [{ uri: `first of ${generation}` }], nextCursor: `c${generation}` }
            : { ttlMs: 0, resources: [{ uri: `second of ${generation}` }] },
      },
    });
    const { toolset } = await connect([http(server.url)], over(stack));
    const uris = async () => (await toolset.resources.list('srv')).map(({ uri }) => uri);

    expect(await uris()).toEqual(['first of 1', 'second of 1']);
    expect(await uris()).toEqual(['first of 1', 'second of 1']);
    const cursors = () => server.seen('resources/list').map(({ message }) => message.params.cursor);
    expect(cursors()).toEqual([undefined, 'c1', 'c1']);
    generation = 2;
    expect(await uris()).toEqual(['first of 2', 'second of 2']);
    expect(cursors()).toEqual([undefined, 'c1', 'c1', 'c1', undefined, 'c2']);
  });

  it('what is kept has bounds', async () => {
    const server = await statelessServer(counting({ ttlMs: LONG }));
    const { toolset } = await connect([http(server.url)], over(stack));
    for (let n = 0; n < 300; n += 1) await toolset.resources.read('srv', `file:///${n}`);
    // The newest are kept, the oldest are not.
    await toolset.resources.read('srv', 'file:///299');
    expect(server.seen('resources/read')).toHaveLength(300);
    await toolset.resources.read('srv', 'file:///0');
    expect(server.seen('resources/read')).toHaveLength(301);
  });
});
