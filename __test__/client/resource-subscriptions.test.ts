// Subscriptions to single resources over stdio, in both eras. Over HTTP: `remote/subscriptions.test.ts`.

import type { McpToolset } from 'espalier/node';
import { describe, expect, it } from 'vitest';

import { connect } from '../helpers/connect.js';
import { mcpError, rejection } from '../helpers/errors.js';
import { scripted, toolEntry, type Script, type Scripted, type Step } from '../helpers/scripted.js';
import { acknowledging, listenNote, statelessChild } from '../helpers/stateless.js';
import { timed, until } from '../helpers/until.js';

const SUBSCRIBABLE = { tools: {}, resources: { subscribe: true } };
const URI = 'file:///a';

/** A server of one of the eras, and the words of that era. */
interface Era {
  /** `answer`: how the subscription is answered. */
  server(answer?: Step[][], more?: Script): Scripted;
  subscribe: string;
  /** What it reads when the subscription ends. */
  end: string;
  yes: (...rest: Step[]) => Step[];
  update: (uri?: string) => Step;
}

/** A refusal. */
const NO: Step = { error: { code: -32_602, message: 'not this one', data: { uri: URI } } };

const SESSION: Era = {
  server: (answer = [[{ reply: {} }]], { on, ...more } = {}) =>
    scripted('srv', {
      capabilities: SUBSCRIBABLE,
      tools: [toolEntry('t')],
      on: { 'resources/subscribe': answer, 'resources/unsubscribe': [[{ reply: {} }]], ...on },
      ...more,
    }),
  subscribe: 'resources/subscribe',
  end: 'resources/unsubscribe',
  yes: (...rest) => [{ reply: {} }, ...rest],
  update: (uri = URI) => ({ message: { method: 'notifications/resources/updated', params: { uri } } }),
};

const STATELESS: Era = {
  server: (answer = [acknowledging({ resourceSubscriptions: [URI] })], { on, ...more } = {}) =>
    statelessChild('srv', {
      capabilities: SUBSCRIBABLE,
      tools: [toolEntry('t')],
      on: { 'subscriptions/listen': answer, ...on },
      ...more,
    }),
  subscribe: 'subscriptions/listen',
  end: 'notifications/cancelled',
  yes: (...rest) => acknowledging({ resourceSubscriptions: [URI] }, ...rest),
  update: (uri = URI) => listenNote('notifications/resources/updated', { uri }),
};

const ERAS: [string, Era][] = [
  ['session', SESSION],
  ['stateless', STATELESS],
];

/** Makes the server do something, by a call of its tool. */
const poke = (toolset: McpToolset) => toolset.call('srv__t');

describe.each(ERAS)('in the %s era', (name, era) => {
  it('a subscription stands once the server has said so, and its listener hears of updates until it is left', async () => {
    const server = era.server([era.yes(era.update(), { waitFor: { method: 'tools/call' } }, era.update())]);
    const { toolset, diagnostics } = await connect([server.config]);
    const heard: string[] = [];
    const off = await toolset.resources.subscribe('srv', URI, (uri) => void heard.push(uri));
    await until('the first update', () => heard.length === 1);
    await poke(toolset);
    await until('the second update', () => heard.length === 2);
    await off();
    await off();

    expect(heard).toEqual([URI, URI]);
    const [subscribed] = await server.waitFor(era.subscribe);
    const [ended] = await server.waitFor(era.end);
    if (name === 'session') {
      expect(subscribed?.params).toEqual({ uri: URI });
      expect(ended?.params).toEqual({ uri: URI });
    } else {
      expect(subscribed?.params.notifications).toEqual({ resourceSubscriptions: [URI] });
      expect(ended?.params.requestId).toBe(subscribed?.id);
    }
    await toolset.close();
    expect(server.received(era.end)).toHaveLength(1);
    expect(diagnostics).toEqual([]);
  });

  it('listeners of one resource share one request, and the last one that leaves ends it', async () => {
    const server = era.server([[{ wait: 300 }, ...era.yes({ waitFor: { method: 'tools/call' } }, era.update())]]);
    const { toolset } = await connect([server.config]);
    const heard: string[] = [];
    const listener = (who: string) => () => void heard.push(who);
    const same = listener('same');
    const [offA, , offC, offD] = await Promise.all([
      toolset.resources.subscribe('srv', URI, listener('a')),
      toolset.resources.subscribe('srv', URI, () => {
        throw new Error('a listener of its own');
      }),
      toolset.resources.subscribe('srv', URI, same),
      toolset.resources.subscribe('srv', URI, same),
    ]);
    await offA();
    await poke(toolset);
    await until('the update', () => heard.length === 2);
    expect(heard).toEqual(['same', 'same']);
    await offC();
    await offD();
    expect(server.received(era.subscribe)).toHaveLength(1);
    expect(server.received(era.end)).toEqual([]);
  });

  it('one that is left and taken again at once stands', async () => {
    const server = era.server([era.yes(), era.yes({ waitFor: { method: 'tools/call' } }, era.update())]);
    const { toolset } = await connect([server.config]);
    const heard: string[] = [];
    const off = await toolset.resources.subscribe('srv', URI, () => {});
    const [, offAgain] = await Promise.all([
      off(),
      toolset.resources.subscribe('srv', URI, (uri) => void heard.push(uri)),
    ]);
    await poke(toolset);
    await until('the update', () => heard.length === 1);

    const order = server
      .received()
      .map(({ method }) => method)
      .filter((method) => method === era.subscribe || method === era.end);
    expect(order).toEqual([era.subscribe, era.end, era.subscribe]);
    await offAgain();
  });

  it('one that is refused rejects with what the server says, and can be tried again', async () => {
    const server = era.server([[{ wait: 300 }, NO], era.yes()]);
    const { toolset, diagnostics } = await connect([server.config]);
    const subscribe = () => toolset.resources.subscribe('srv', URI, () => {});
    const errors = await Promise.all([1, 2, 3].map(() => mcpError(subscribe(), 'server-error')));

    for (const error of errors) {
      expect(error.data).toEqual({ code: -32_602, message: 'not this one', data: { uri: URI } });
    }
    expect(server.received(era.subscribe)).toHaveLength(1);
    await subscribe();
    expect(server.received(era.subscribe)).toHaveLength(2);
    expect(diagnostics).toEqual([]);
  });

  it('where the server announces no subscriptions, none is asked for', async () => {
    const server = era.server([era.yes()], { capabilities: { tools: {}, resources: { subscribe: false } } });
    const { toolset } = await connect([server.config]);
    const error = await mcpError(
      toolset.resources.subscribe('srv', URI, () => {}),
      'unavailable',
    );

    expect(error.message).toContain('"srv"');
    expect(server.received(era.subscribe)).toEqual([]);
  });

  it('updates of another resource are for nobody, those of a part of it are for its listeners', async () => {
    const server = era.server([
      era.yes(
        ...[`${URI}b`, 'file:///', 'other:x', `${URI}/part`, `${URI}#top`, URI].map((uri) => ({
          message: { method: 'notifications/resources/updated', params: { uri } },
        })),
        { message: { method: 'notifications/resources/updated', params: { uri: 7 } } },
        { message: { method: 'notifications/resources/updated' } },
      ),
    ]);
    const { toolset } = await connect([server.config]);
    const heard: string[] = [];
    await toolset.resources.subscribe('srv', URI, (uri) => void heard.push(uri));
    await until('the last update', () => heard.includes(URI));

    expect(heard).toEqual([`${URI}/part`, `${URI}#top`, URI]);
  });

  it('that gets no answer is given up at the time limit', async () => {
    const server = era.server([[]]);
    const { toolset } = await connect([{ ...server.config, timeoutMs: 3000 }]);
    const { ms } = await timed(() =>
      mcpError(
        toolset.resources.subscribe('srv', URI, () => {}),
        'timeout',
      ),
    );

    expect(ms).toBeLessThan(15_000);
    const [request] = server.received(era.subscribe);
    const [cancelled] = await server.waitFor('notifications/cancelled');
    expect(cancelled?.params.requestId).toBe(request?.id);
  });

  it('that is under way rejects with `closed` when the toolset is closed', async () => {
    const server = era.server([[]]);
    const { toolset } = await connect([server.config]);
    const pending = rejection(toolset.resources.subscribe('srv', URI, () => {}));
    await server.waitFor(era.subscribe);
    await toolset.close();

    expect(await pending).toMatchObject({ code: 'closed' });
  });

  it('that is under way rejects at once when the server dies', async () => {
    const server = era.server([[{ exit: 3 }]]);
    const { toolset } = await connect([server.config]);
    const { value, ms } = await timed(() =>
      mcpError(
        toolset.resources.subscribe('srv', URI, () => {}),
        'connection-lost',
      ),
    );

    expect(ms).toBeLessThan(15_000);
    expect(value.message).toContain('"srv"');
  });

  it('is taken up again in the next life of its server, and its listener is told of what it may have missed', async () => {
    const server = era.server([era.yes()], {
      on: { 'resources/list': [[{ reply: { resources: [] } }]] },
      calls: { t: [[{ exit: 1 }]] },
    });
    const { toolset } = await connect([server.config]);
    const heard: string[] = [];
    const off = await toolset.resources.subscribe('srv', URI, (uri) => void heard.push(uri));
    await mcpError(poke(toolset), 'connection-lost');
    expect(heard).toEqual([]);
    // What died is started again by the next request.
    await toolset.resources.list('srv');
    await until('what was missed', () => heard.length > 0);

    await server.waitFor(era.subscribe, 2);
    expect(server.starts()).toHaveLength(2);
    await off();
    await server.waitFor(era.end);
  });

  it('can be left while its server is dead, without starting it', async () => {
    const server = era.server([era.yes()], { calls: { t: [[{ exit: 1 }]] } });
    const { toolset } = await connect([server.config]);
    const off = await toolset.resources.subscribe('srv', URI, () => {});
    await mcpError(poke(toolset), 'connection-lost');
    await off();

    expect(server.starts()).toHaveLength(1);
  });
});

describe('a subscription of the stateless era', () => {
  const { server: serve, yes, update } = STATELESS;

  it('that the server does not honour rejects at once', async () => {
    const server = serve([acknowledging({})]);
    const { toolset } = await connect([server.config]);
    const { value, ms } = await timed(() =>
      mcpError(
        toolset.resources.subscribe('srv', URI, () => {}),
        'unavailable',
      ),
    );

    expect(ms).toBeLessThan(15_000);
    expect(value.message).toContain('"srv"');
    // It is of no use, and ended.
    const [request] = server.received('subscriptions/listen');
    const [cancelled] = await server.waitFor('notifications/cancelled');
    expect(cancelled?.params.requestId).toBe(request?.id);
  });

  it('is known by its id, whatever the server calls the resource', async () => {
    const server = serve([
      acknowledging({ resourceSubscriptions: ['FILE:///a'] }, update('FILE:///a'), update('file:///elsewhere')),
    ]);
    const { toolset } = await connect([server.config]);
    const heard: string[] = [];
    await toolset.resources.subscribe('srv', URI, (uri) => void heard.push(uri));
    await until('both', () => heard.length === 2);

    expect(heard).toEqual(['FILE:///a', 'file:///elsewhere']);
  });

  it.each<[string, Step]>([
    ['answered', { reply: { resultType: 'complete' } }],
    ['cancelled by the server', '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":$id}}'],
  ])('that is %s is opened again, and its listener is told of what it may have missed', async (_what, end) => {
    const server = serve([yes(end), yes({ wait: 20 }, update())]);
    const { toolset, diagnostics } = await connect([server.config]);
    const heard: string[] = [];
    const off = await toolset.resources.subscribe('srv', URI, (uri) => void heard.push(uri));
    const [first, second] = await server.waitFor('subscriptions/listen', 2);
    await until('the missed one and the new one', () => heard.length === 2);

    expect(second?.id).not.toBe(first?.id);
    expect(second?.params.notifications).toEqual(first?.params.notifications);
    await off();
    await until('the end of the second', () =>
      server.received('notifications/cancelled').some(({ params }) => params.requestId === second?.id),
    );
    expect(diagnostics).toEqual([]);
  });

  it('that cannot be opened again is told of, and can be asked for anew', async () => {
    const server = serve([
      yes({ reply: { resultType: 'complete' } }),
      [{ error: { code: -32_603, message: 'no more of that' } }],
      yes(update()),
    ]);
    const { toolset, of } = await connect([server.config]);
    const heard: string[] = [];
    await toolset.resources.subscribe('srv', `${URI}?secretive=1`, () => {});
    const [diagnostic] = await until('the diagnostic', () => {
      const found = of('connection-failure');
      return found.length > 0 && found;
    });

    expect(diagnostic).toMatchObject({ origin: 'srv', message: expect.stringContaining('no more of that') });
    expect(diagnostic?.message).toContain(URI);
    expect(diagnostic?.message).not.toContain('secretive');
    await toolset.resources.subscribe('srv', `${URI}?secretive=1`, (uri) => void heard.push(uri));
    await until('an update', () => heard.length > 0);
  });
});
