import { describe, expect, it } from 'vitest';

import { connect, tool } from '../helpers/connect.js';
import { mcpError } from '../helpers/errors.js';
import { scripted, toolEntry, type Scripted } from '../helpers/scripted.js';
import { vectors } from '../helpers/vectors.js';

function server(): Scripted {
  return scripted('srv', { tools: [toolEntry('t')] });
}

describe('the arguments of a call', () => {
  it.each([
    ...vectors.toolArguments.vectors.map((vector) => [vector.raw, vector.arguments]),
    [undefined, vectors.toolArguments.undefinedBecomes],
    [true, { value: true }],
    [{}, {}],
  ])('%j travel as the reference sends them', async (raw, expected) => {
    const peer = server();
    const { toolset } = await connect([peer.config]);

    await tool(toolset, 'srv__t').execute(raw);
    await toolset.call('srv__t', raw);
    const calls = await peer.waitFor('tools/call', 2);
    expect(calls.map((call) => call.params.arguments)).toEqual([expected, expected]);
  });

  it('without any are an empty object', async () => {
    const peer = server();
    const { toolset } = await connect([peer.config]);

    await tool(toolset, 'srv__t').execute();
    const [call] = await peer.waitFor('tools/call');
    expect(call?.params).toMatchObject({ name: 't', arguments: {} });
  });

  it.each<[string, () => unknown]>([
    ['frozen ones', () => Object.freeze({ a: Object.freeze([1]) })],
    ['ones without a prototype', () => Object.assign(Object.create(null) as object, { a: [1] })],
    ['a proxy', () => new Proxy({ a: [1] }, {})],
    [
      'an instance of a class',
      () =>
        new (class Options {
          a = [1];
        })(),
    ],
    ['members that JSON leaves out', () => ({ a: [1], b: undefined, c: () => 1, [Symbol('d')]: 1 })],
    ['a nested toJSON', () => ({ a: { toJSON: () => [1] } })],
  ])('may be %s', async (_what, make) => {
    const { toolset } = await connect([server().config]);

    await expect(toolset.call('srv__t', make())).resolves.toBe('{"tool":"t","arguments":{"a":[1]}}');
  });

  it('keep their order, their odd names and half surrogate pairs', async () => {
    const peer = server();
    const { toolset } = await connect([peer.config]);

    const text = '{"z":1,"a":"\\ud800","__proto__":{"x":1},"constructor":2,"é":"\\u2028"}';
    await toolset.call('srv__t', JSON.parse(text));
    const [call] = await peer.waitFor('tools/call');
    expect(JSON.stringify(call?.params.arguments)).toBe(JSON.stringify(JSON.parse(text)));
  });

  it('are sent on one line, whatever line ends they hold', async () => {
    const peer = server();
    const { toolset } = await connect([peer.config]);

    const given = { a: 'one\ntwo\r\nthree\u2028four' };
    await toolset.call('srv__t', given);
    const [call] = await peer.waitFor('tools/call');
    expect(call?.params.arguments).toEqual(given);
  });
});

describe('arguments that cannot be JSON', () => {
  function cycle(): unknown {
    const value: Record<string, unknown> = {};
    value['self'] = value;
    return value;
  }

  function deep(levels: number): unknown {
    let value: unknown = {};
    for (let level = 0; level < levels; level += 1) value = [value];
    return { value };
  }

  const wrong: [string, () => unknown][] = [
    ['a cycle', cycle],
    ['a BigInt', () => ({ n: 1n })],
    ['nothing but a BigInt', () => 5n],
    [
      'a getter that throws',
      () => ({
        get a() {
          throw new Error('from the getter');
        },
      }),
    ],
    [
      'a toJSON that throws',
      () => ({
        toJSON: () => {
          throw new Error('from toJSON');
        },
      }),
    ],
    [
      'a toJSON that throws an object without text',
      () => ({
        toJSON: () => {
          throw Object.create(null);
        },
      }),
    ],
    ['a toJSON that gives no object', () => ({ toJSON: () => 5 })],
    ['a toJSON that gives nothing', () => ({ toJSON: () => undefined })],
    ['a million levels', () => deep(1_000_000)],
    [
      'a proxy that throws',
      () =>
        new Proxy(
          {},
          {
            ownKeys() {
              throw new Error('from the proxy');
            },
          },
        ),
    ],
  ];

  it.each(wrong)('reject with `invalid-arguments`, naming the tool: %s', async (_what, make) => {
    const peer = server();
    const { toolset } = await connect([peer.config]);

    const error = await mcpError(tool(toolset, 'srv__t').execute(make()), 'invalid-arguments');
    expect(error.message).toContain('srv__t');
    // Nothing of it was sent, and the next call works.
    await toolset.call('srv__t', { fine: true });
    expect(peer.received('tools/call').map((call) => call.params.arguments)).toEqual([{ fine: true }]);
  });
});

it('a tool that was never published cannot be called', async () => {
  const { toolset } = await connect([server().config]);

  await expect(toolset.call('srv__other', {})).rejects.toThrow(/srv__other/);
  await expect(toolset.call('__proto__', {})).rejects.toThrow(/__proto__/);
});
