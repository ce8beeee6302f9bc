// The stateless era over stdio: how it is found out, and what is different there.

import { AbortError } from 'espalier/node';
import { describe, expect, it } from 'vitest';

import { connect } from '../helpers/connect.js';
import { mcpError, rejection } from '../helpers/errors.js';
import { scripted, toolEntry, type Step } from '../helpers/scripted.js';
import { discovered, NO_INITIALIZE, statelessChild } from '../helpers/stateless.js';
import { timed, until } from '../helpers/until.js';

const META = 'io.modelcontextprotocol/';
const STATELESS = { era: 'stateless', protocolVersion: '2026-07-28', state: 'ready' };

describe('a child that does not take `initialize`', () => {
  it.each<[string, Step]>([
    ['method not found', NO_INITIALIZE],
    ['invalid params', { error: { code: -32_602, message: 'Invalid params: _meta is missing' } }],
    [
      'unsupported version',
      { error: { code: -32_022, message: 'Unsupported protocol version', data: { supported: ['2026-07-28'] } } },
    ],
    ['anything', { error: { code: 7, message: 'whatever' } }],
    ['a version that has no handshake', { reply: { protocolVersion: '2026-07-28', capabilities: {} } }],
    ['a version that nobody knows', { reply: { protocolVersion: '2099-01-01', capabilities: {} } }],
    ['a result that is none', { reply: 'hello' }],
  ])('but answers %s is asked what it speaks, in the same process', async (_what, step) => {
    const server = statelessChild('srv', { tools: [toolEntry('t')], on: { initialize: [[step]] } });
    const { toolset, diagnostics } = await connect([server.config]);

    expect(toolset.servers()).toMatchObject([{ ...STATELESS, serverInfo: { name: 'stateless-child' }, tools: 1 }]);
    await expect(toolset.call('srv__t', { a: 1 })).resolves.toBe('{"tool":"t","arguments":{"a":1}}');
    expect(server.starts()).toHaveLength(1);
    expect(server.received().map(({ method }) => method)).toEqual([
      'initialize',
      'server/discover',
      'tools/list',
      'tools/call',
    ]);
    expect(diagnostics).toEqual([]);
  });

  it('gets with each request what that era says of itself, and never an id twice', async () => {
    const server = statelessChild('srv', { tools: [toolEntry('t')] });
    const { toolset } = await connect([server.config], { roots: [], elicitation: () => ({ action: 'cancel' }) });
    await toolset.call('srv__t');
    await toolset.close();

    const [opening, ...rest] = server.received();
    expect(opening?.params._meta).toBeUndefined();
    for (const { method, params } of rest) {
      expect([method, params._meta]).toEqual([
        method,
        expect.objectContaining({
          [`${META}protocolVersion`]: '2026-07-28',
          [`${META}clientCapabilities`]: { roots: {}, elicitation: { form: {}, url: {} } },
          [`${META}clientInfo`]: { name: 'espalier', version: expect.any(String) },
        }),
      ]);
    }
    const ids = server.received().map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it.each<[string, Step[]]>([
    ['an error of that era', [{ error: { code: -32_022, message: 'no', data: { supported: ['2031-01-01'] } } }]],
    ['an error of any kind', [{ error: { code: -32_601, message: 'no such method' } }]],
    ['a result that says nothing', [{ reply: {} }]],
    ['versions that have a handshake', [discovered({}, ['2025-11-25'])]],
    ['its end', [{ exit: 4 }]],
  ])('and answers `server/discover` with %s either is told of with what it said first', async (_what, steps) => {
    const refusal: Step = { error: { code: -32_000, message: 'set API_KEY first' } };
    const server = scripted('srv', { on: { initialize: [[refusal]], 'server/discover': [steps] } });
    const { value, ms } = await timed(() => connect([server.config]));

    expect(value.diagnostics).toEqual([
      expect.objectContaining({
        rule: 'connection-failure',
        origin: 'srv',
        message: expect.stringContaining('set API_KEY first'),
      }),
    ]);
    expect(ms).toBeLessThan(15_000);
    expect(server.starts()).toHaveLength(1);
  });

  it('and says nothing to `server/discover` is given up at the time limit', async () => {
    const server = scripted('srv', { on: { initialize: [[NO_INITIALIZE]], 'server/discover': [[]] } });
    const { value, ms } = await timed(() => connect([{ ...server.config, timeoutMs: 3000 }]));

    expect(value.of('connection-failure')).toEqual([
      expect.objectContaining({ message: expect.stringContaining('server/discover') }),
    ]);
    expect(ms).toBeLessThan(15_000);
  });

  it('that speaks a revision it refuses once is asked once more, and no oftener', async () => {
    const refusal: Step = { error: { code: -32_022, message: 'not yet', data: { supported: ['2026-07-28'] } } };
    const server = statelessChild('srv', { on: { 'server/discover': [[refusal], [discovered()]] } });
    const { toolset } = await connect([server.config]);
    expect(toolset.servers()).toMatchObject([STATELESS]);

    const never = statelessChild('srv', { on: { 'server/discover': [[refusal]] } });
    const { of } = await connect([never.config]);
    expect(of('connection-failure')).toHaveLength(1);
    expect(never.received('server/discover').length).toBeLessThanOrEqual(2);
  });
});

describe('a child that takes `initialize`', () => {
  it('is never asked what it speaks', async () => {
    const server = scripted('srv', { tools: [toolEntry('t')], on: { 'server/discover': [[discovered()]] } });
    const { toolset } = await connect([server.config]);

    expect(toolset.servers()).toMatchObject([{ era: 'session' }]);
    expect(server.received('server/discover')).toEqual([]);
  });

  it.each(['legacy', { pin: '2025-06-18' }] as const)('or refuses it is not, with `protocol: %j`', async (protocol) => {
    const server = statelessChild('srv');
    const { of } = await connect([{ ...server.config, protocol }]);

    expect(of('connection-failure')).toHaveLength(1);
    expect(server.received().map(({ method }) => method)).toEqual(['initialize']);
  });
});

describe('a pin of the stateless era', () => {
  it('goes there at once', async () => {
    const server = statelessChild('srv', { tools: [toolEntry('t')] });
    const { toolset } = await connect([{ ...server.config, protocol: { pin: '2026-07-28' } }]);

    expect(toolset.servers()).toMatchObject([STATELESS]);
    expect(server.received().map(({ method }) => method)).toEqual(['server/discover', 'tools/list']);
  });

  it('never falls back', async () => {
    const server = scripted('srv', { tools: [toolEntry('t')] });
    const { of } = await connect([{ ...server.config, protocol: { pin: '2026-07-28' } }]);

    expect(of('connection-failure')).toEqual([
      expect.objectContaining({ message: expect.stringContaining('2026-07-28') }),
    ]);
    expect(server.received('initialize')).toEqual([]);
  });
});

describe('a call of the stateless era over stdio', () => {
  it('that is aborted is cancelled by a notification, with its id and nothing else of ours', async () => {
    const server = statelessChild('srv', { tools: [toolEntry('t')], calls: { t: [[], [{ default: true }]] } });
    const { toolset } = await connect([server.config]);
    const controller = new AbortController();
    const pending = rejection(toolset.call('srv__t', {}, { signal: controller.signal }));
    const [call] = await server.waitFor('tools/call');
    controller.abort('secretive');

    expect(await pending).toBeInstanceOf(AbortError);
    const [cancelled] = await server.waitFor('notifications/cancelled');
    expect(cancelled?.params.requestId).toBe(call?.id);
    expect(JSON.stringify(cancelled)).not.toContain('secretive');
    await expect(toolset.call('srv__t')).resolves.toContain('"t"');
  });

  it('that takes too long is cancelled the same way', async () => {
    const server = statelessChild('srv', { tools: [toolEntry('t')], calls: { t: [[]] } });
    const { toolset } = await connect([server.config]);
    await mcpError(toolset.call('srv__t', {}, { timeoutMs: 200 }), 'timeout');

    const [cancelled] = await server.waitFor('notifications/cancelled');
    expect(cancelled?.params.requestId).toBe(server.received('tools/call')[0]?.id);
  });

  it('that needs input gets it from the handler, under a new id and with the state as it came', async () => {
    const asks: Step = {
      replyText: `{"resultType":"input_required","requestState":"s\\u00e9\\/","inputRequests":{"who":{"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string","default":"Ann"}}}}}}}`,
    };
    const server = statelessChild('srv', {
      tools: [toolEntry('t')],
      calls: { t: [[asks], [{ default: true }]] },
    });
    const asked: unknown[] = [];
    const { toolset } = await connect([server.config], {
      session: 'of the toolset',
      elicitation: (request, { session, server: name }) => {
        asked.push([name, session, request.mode]);
        return { action: 'accept' };
      },
    });
    await expect(toolset.call('srv__t', { a: 1 }, { session: 'of the call' })).resolves.toContain('"a":1');

    expect(asked).toEqual([['srv', 'of the call', 'form']]);
    const [first, second] = server.received('tools/call');
    expect(second?.id).not.toBe(first?.id);
    expect(second?.params).toMatchObject({
      name: 't',
      arguments: { a: 1 },
      inputResponses: { who: { action: 'accept', content: { name: 'Ann' } } },
      requestState: 'sé/',
    });
    expect(server.lines().find((line) => line.includes('inputResponses'))).toContain(String.raw`"s\u00e9\/"`);
    expect(first?.params).not.toHaveProperty('requestState');
  });
});

describe('a request of the server', () => {
  it.each(['ping', 'roots/list', 'sampling/createMessage'])(
    'does not exist in that era: %s is not answered, and told of',
    async (method) => {
      const server = statelessChild('srv', {
        tools: [toolEntry('t')],
        calls: { t: [[{ message: { id: 'mine', method, params: {} } }, { default: true }]] },
      });
      let asked = 0;
      const { toolset, of } = await connect([server.config], {
        roots: () => {
          asked += 1;
          return [];
        },
      });
      await toolset.call('srv__t');
      await toolset.call('srv__t');

      expect(server.received().filter(({ method: name }) => name === undefined)).toEqual([]);
      expect(of('protocol-violation')).toEqual([
        expect.objectContaining({ origin: 'srv', message: expect.stringContaining('stateless') }),
      ]);
      expect(asked).toBe(0);
    },
  );
});

describe('log messages', () => {
  it('are asked for with each request, and reach `onLog`', async () => {
    const server = statelessChild('srv', {
      tools: [toolEntry('t')],
      calls: {
        t: [
          [{ message: { method: 'notifications/message', params: { level: 'info', data: [1] } } }, { default: true }],
        ],
      },
    });
    const logs: unknown[] = [];
    const { toolset } = await connect([server.config], { onLog: (log) => void logs.push(log) });
    await toolset.call('srv__t');

    await until('the message', () => logs.length > 0);
    expect(logs).toEqual([{ server: 'srv', level: 'info', data: [1] }]);
    expect(server.received('tools/call')[0]?.params._meta[`${META}logLevel`]).toBe('debug');
    expect(server.received('logging/setLevel')).toEqual([]);
  });
});

describe('changes of lists', () => {
  it('are listened to, one subscription for all that are announced', async () => {
    const server = statelessChild('srv', {
      capabilities: { tools: { listChanged: true }, prompts: { listChanged: true }, resources: {} },
      on: {
        'subscriptions/listen': [
          [
            '{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{},"_meta":{}}}',
            { message: { method: 'notifications/prompts/list_changed' } },
          ],
        ],
      },
    });
    const changes: unknown[] = [];
    const { toolset } = await connect([server.config]);
    toolset.on('change', (change) => void changes.push(change));
    const [listen] = await server.waitFor('subscriptions/listen');

    expect(listen?.params.notifications).toEqual({ toolsListChanged: true, promptsListChanged: true });
    expect(server.received('subscriptions/listen')).toHaveLength(1);
    await toolset.close();
  });
});
