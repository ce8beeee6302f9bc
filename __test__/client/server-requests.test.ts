import { describe, expect, it } from 'vitest';

import { connect } from '../helpers/connect.js';
import { scripted, textResult, toolEntry, type Scripted } from '../helpers/scripted.js';

/** A server that sends lines of its own during a call of `t`, which it answers after that. */
function sends(...lines: string[]): Scripted {
  return scripted('srv', { tools: [toolEntry('t')], calls: { t: [[...lines, { reply: textResult('ok') }]] } });
}

describe('a ping of the server', () => {
  it.each(['"a string"', '""', '0', '1', '-7', '9007199254740991', '"1"'])(
    'is answered with an empty result and the same id, %s',
    async (id) => {
      const peer = sends(`{"jsonrpc":"2.0","id":${id},"method":"ping"}`);
      const { toolset } = await connect([peer.config]);
      await toolset.call('srv__t', {});

      const reply = await peer.replyTo(JSON.parse(id) as string | number);
      expect(reply).toEqual({ jsonrpc: '2.0', id: JSON.parse(id) as unknown, result: {} });
    },
  );

  it('keeps an id to the digit that no double holds', async () => {
    const peer = sends('{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}');
    const { toolset } = await connect([peer.config]);
    await toolset.call('srv__t', {});
    await peer.replyTo(Number('9007199254740993'));

    expect(peer.lines().filter((line) => line.includes('9007199254740993'))).toHaveLength(1);
  });

  it('is answered while the server keeps the answer to `initialize` back', async () => {
    const peer = scripted('srv', {
      tools: [toolEntry('t')],
      on: {
        initialize: [
          [{ message: { id: 'first', method: 'ping' } }, { waitFor: { reply: 'first' } }, { default: true }],
        ],
      },
    });
    const { toolset } = await connect([peer.config], { timeoutMs: 10_000 });

    expect(Object.keys(toolset.tools)).toEqual(['srv__t']);
  });

  it('is answered while a call waits, and is not taken for the answer to it', async () => {
    // The server numbers its own requests, and takes the very id of the call.
    const peer = scripted('srv', {
      tools: [toolEntry('t')],
      calls: {
        t: [['{"jsonrpc":"2.0","id":$id,"method":"ping"}', { waitFor: { method: 'ping' } }]],
        u: [[]],
      },
      on: {},
    });
    const { toolset } = await connect([peer.config]);
    const call = toolset.call('srv__t', {}, { timeoutMs: 1000 }).catch((error: unknown) => error);
    const [request] = await peer.waitFor('tools/call');
    const reply = await peer.replyTo(request?.id ?? '');

    expect(reply).toEqual({ jsonrpc: '2.0', id: request?.id, result: {} });
    expect(await call).toMatchObject({ code: 'timeout' });
  });

  it('is answered many times over', async () => {
    const pings = Array.from({ length: 200 }, (_, n) => `{"jsonrpc":"2.0","id":"p${n}","method":"ping"}`);
    const peer = sends(...pings);
    const { toolset } = await connect([peer.config]);
    await toolset.call('srv__t', {});
    await peer.replyTo('p199');

    const replies = peer.received().filter(({ method }) => method === undefined);
    expect(replies.map(({ id }) => id)).toEqual(Array.from({ length: 200 }, (_, n) => `p${n}`));
  });
});

describe('another request of the server', () => {
  it.each([
    'sampling/createMessage',
    'elicitation/create',
    'roots/list',
    'tools/call',
    'no/such/method',
    '',
    '__proto__',
  ])('is refused with -32601 and the same id: %s', async (method) => {
    const ask = (id: string | number) => JSON.stringify({ jsonrpc: '2.0', id, method, params: {} });
    const peer = sends(ask('text'), ask(42));
    const { toolset } = await connect([peer.config]);
    await toolset.call('srv__t', {});

    for (const id of ['text', 42]) {
      const reply = await peer.replyTo(id);
      expect(reply).toMatchObject({ jsonrpc: '2.0', id, error: { code: -32_601, message: expect.any(String) } });
      expect(reply).not.toHaveProperty('result');
    }
  });
});

describe('a notification of the server', () => {
  it('is never answered, known or not', async () => {
    const notifications = [
      'notifications/message',
      'notifications/progress',
      'notifications/cancelled',
      'notifications/tools/list_changed',
      'notifications/resources/updated',
      'notifications/no/such/thing',
      'ping',
      'sampling/createMessage',
    ];
    const peer = sends(
      ...notifications.map((method) => JSON.stringify({ jsonrpc: '2.0', method, params: {} })),
      ...notifications.map((method) => JSON.stringify({ jsonrpc: '2.0', method })),
    );
    const { toolset } = await connect([peer.config]);

    await expect(toolset.call('srv__t', {})).resolves.toBe('ok');
    await toolset.call('srv__t', {});
    expect(peer.received().filter(({ method }) => method === undefined)).toEqual([]);
  });
});
