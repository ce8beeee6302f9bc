import { McpError, mcpTools, type McpOptions, type McpServerConfig } from 'espalier/node';
import { describe, expect, it } from 'vitest';

import { connect } from '../helpers/connect.js';
import { mcpError, rejection } from '../helpers/errors.js';
import { scripted, toolEntry, type Scripted } from '../helpers/scripted.js';
import { echoServer } from '../helpers/servers.js';

/** `mcpTools` as a caller without types may call it. */
const untyped = mcpTools as (servers?: unknown, options?: unknown) => Promise<unknown>;

function cyclic(): Record<string, unknown> {
  const value: Record<string, unknown> = {};
  value['self'] = value;
  return value;
}

function holed(first: unknown, last: unknown): unknown[] {
  const list: unknown[] = [first];
  list[2] = last;
  return list;
}

/** A server that must not be started: it stands first, so that whoever starts servers one by one starts it. */
function bystander(): Scripted {
  return scripted('bystander', { tools: [toolEntry('t')] });
}

describe('servers that are none', () => {
  it.each<[string, unknown]>([
    ['undefined', undefined],
    ['null', null],
    ['an object', {}],
    ['text', 'echo'],
    ['a number', 5],
  ])('reject with `invalid-option`, naming `servers`: %s', async (_what, servers) => {
    const error = await mcpError(untyped(servers), 'invalid-option');

    expect(error.message).toContain('servers');
  });

  it('reject when the list has a hole', async () => {
    const peer = bystander();
    const error = await mcpError(untyped(holed(peer.config, peer.config)), 'invalid-option');

    expect(error.message).toMatch(/servers.*1/);
    expect(peer.starts()).toEqual([]);
  });
});

describe('a wrong configuration', () => {
  const right = echoServer('wrong');
  it.each<[string, unknown, RegExp]>([
    ['null', null, /servers/],
    ['text', 'echo', /servers/],
    ['no name', { ...right, name: undefined }, /name/],
    ['an empty name', { ...right, name: '' }, /name/],
    ['a name that is a number', { ...right, name: 5 }, /name/],
    ['no type', { ...right, type: undefined }, /type/],
    ['an unknown type', { ...right, type: 'carrier-pigeon' }, /type.*carrier-pigeon|carrier-pigeon.*type/],
    ['a type by prototype', { ...right, type: 'constructor' }, /type/],
    ['no command', { ...right, command: undefined }, /command/],
    ['an empty command', { ...right, command: '' }, /command/],
    ['a command that is a list', { ...right, command: ['node'] }, /command/],
    ['arguments that are text', { ...right, args: '-e 1' }, /args/],
    ['an argument that is a number', { ...right, args: ['-e', 5] }, /args/],
    ['arguments with a hole', { ...right, args: holed('a', 'b') }, /args/],
    ['an environment that is a list', { ...right, env: ['A=b'] }, /env/],
    ['an environment variable that is a number', { ...right, env: { PORT: 80 } }, /env/],
    ['an environment that holds itself', { ...right, env: cyclic() }, /servers|env/],
    ['arguments that hold themselves', { ...right, args: [cyclic()] }, /servers|args/],
    ['a configuration that holds itself', cyclic(), /servers|type/],
    ['a working directory that is a number', { ...right, cwd: 5 }, /cwd/],
    ['half a surrogate pair in the name', { ...right, name: 'a\ud800b' }, /name/],
    ['half a surrogate pair in an argument', { ...right, args: ['a\ud800b'] }, /args/],
    ['an equals sign in the name of a variable', { ...right, env: { 'A=B': 'c' } }, /env/],
    ['a timeout of zero', { ...right, timeoutMs: 0 }, /timeoutMs/],
    ['a negative timeout', { ...right, timeoutMs: -1 }, /timeoutMs/],
    ['a timeout that is no number', { ...right, timeoutMs: Number.NaN }, /timeoutMs/],
    ['a timeout that is text', { ...right, timeoutMs: '5' }, /timeoutMs/],
    ['a timeout that is a number as text', { ...right, timeoutMs: 'Infinity' }, /timeoutMs/],
    ['an environment that is a map', { ...right, env: new Map([['A', 'b']]) }, /env/],
    ['arguments that are a set', { ...right, args: new Set(['-e']) }, /args/],
    ['no url', { type: 'streamable-http', name: 'wrong' }, /url/],
    ['a url that is a number', { type: 'sse', name: 'wrong', url: 5 }, /url/],
  ])('rejects with `invalid-option` before anything is started: %s', async (_what, wrong, culprit) => {
    const peer = bystander();
    const error = await mcpError(untyped([peer.config, wrong]), 'invalid-option');

    expect(error.message).toMatch(culprit);
    expect(peer.starts()).toEqual([]);
  });

  it('is named by its place and its name', async () => {
    const wrong = { ...right, name: 'the-culprit', timeoutMs: -1 };
    const error = await mcpError(untyped([bystander().config, wrong]), 'invalid-option');

    expect(error.message).toMatch(/the-culprit|servers\[1\]/);
  });

  it('does not show its arguments or its environment', async () => {
    const error = await mcpError(
      untyped([{ ...right, args: ['correct-horse', 5], env: { KEY: 'battery-staple' } }]),
      'invalid-option',
    );

    expect(error.message).not.toMatch(/correct-horse|battery-staple/);
  });

  it('with a getter that throws rejects, and starts nothing', async () => {
    const peer = bystander();
    const wrong = {
      ...right,
      get command(): string {
        throw new Error('from the getter');
      },
    };

    expect(await rejection(untyped([peer.config, wrong]))).toBeInstanceOf(Error);
    expect(peer.starts()).toEqual([]);
  });
});

describe('wrong options', () => {
  it.each<[string, unknown, RegExp]>([
    ['text', 'fast', /options/],
    ['a timeout of zero', { timeoutMs: 0 }, /timeoutMs/],
    ['a negative timeout', { timeoutMs: -1 }, /timeoutMs/],
    ['a timeout that is no number', { timeoutMs: Number.NaN }, /timeoutMs/],
    ['a timeout that is text', { timeoutMs: '60000' }, /timeoutMs/],
    ['a timeout that is a number as text', { timeoutMs: 'Infinity' }, /timeoutMs/],
    ['a timeout that is a BigInt', { timeoutMs: 60_000n }, /timeoutMs/],
    ['a negative ceiling', { maxTotalTimeoutMs: -5 }, /maxTotalTimeoutMs/],
    ['a flag that is text', { resetTimeoutOnProgress: 'yes' }, /resetTimeoutOnProgress/],
    ['no parallel connects', { maxParallelConnects: 0 }, /maxParallelConnects/],
    ['half a parallel connect', { maxParallelConnects: 1.5 }, /maxParallelConnects/],
    ['no tools', { maxTools: 0 }, /maxTools/],
    ['a negative catalogue', { maxCatalogBytes: -1 }, /maxCatalogBytes/],
    ['messages of no size', { maxMessageBytes: Number.NaN }, /maxMessageBytes/],
    ['a filter that is a list', { tools: ['a'] }, /tools/],
    ['a filter with a misspelt member', { tools: { allowed: [] } }, /allowed/],
    ['a filter with a member too many', { tools: { allow: [], blocked: [] } }, /blocked/],
    ['a filter that is a map', { tools: new Map([['allow', []]]) }, /tools/],
    ['a filter that allows text', { tools: { allow: 'a' } }, /allow/],
    ['a filter that blocks numbers', { tools: { block: [1] } }, /block/],
    ['a store that is none', { storage: {} }, /storage/],
    ['a signal that is none', { signal: {} }, /signal/],
    ['an onDiagnostic that is none', { onDiagnostic: 'log' }, /onDiagnostic/],
    ['an onProgress that is none', { onProgress: {} }, /onProgress/],
    ['an onStderr that is none', { onStderr: 5 }, /onStderr/],
  ])('reject with `invalid-option` before anything is started: %s', async (_what, options, culprit) => {
    const peer = bystander();
    const error = await mcpError(untyped([peer.config], options), 'invalid-option');

    expect(error.message).toMatch(culprit);
    expect(peer.starts()).toEqual([]);
  });

  it('both `allow` and `block` reject, and the message says to set one of them', async () => {
    const peer = bystander();
    const error = await mcpError(untyped([peer.config], { tools: { allow: ['a'], block: ['b'] } }), 'invalid-option');

    expect(error.message).toMatch(/either "allow" or "block"/);
    expect(peer.starts()).toEqual([]);
  });

  it.each<[string, unknown, RegExp]>([
    ['a signal that is none', { signal: 5 }, /signal/],
    ['a timeout that is text', { timeoutMs: '5' }, /timeoutMs/],
    ['an onProgress that is none', { onProgress: 5 }, /onProgress/],
  ])('of one call reject that call alone: %s', async (_what, options, culprit) => {
    const { toolset } = await connect([echoServer()]);

    const call = toolset.call as (name: string, args: unknown, options: unknown) => Promise<unknown>;
    const error = await mcpError(call.call(toolset, 'echo__echo', { text: 'x' }, options), 'invalid-option');
    expect(error.message).toMatch(culprit);
    await expect(toolset.call('echo__echo', { text: 'fine' })).resolves.toBe('fine');
  });
});

it.each([[5], [undefined], [null], [{}], [Symbol('x')]])(
  'a tool name that is no text rejects with an error of ours: %s',
  async (name) => {
    const { toolset } = await connect([echoServer()]);

    const call = toolset.call as (name: unknown) => Promise<unknown>;
    expect(await rejection(call.call(toolset, name))).toBeInstanceOf(McpError);
  },
);

describe('odd but right', () => {
  it('is an option that is undefined, which counts as absent', async () => {
    const { toolset } = await connect(
      [{ ...echoServer(), cwd: undefined, env: undefined, timeoutMs: undefined } as unknown as McpServerConfig],
      {
        timeoutMs: undefined,
        tools: undefined,
        signal: undefined,
        storage: undefined,
        maxTools: undefined,
      } as unknown as McpOptions,
    );

    expect(Object.keys(toolset.tools)).toContain('echo__echo');
  });

  it('are frozen configurations, proxies and objects without a prototype', async () => {
    const bare = Object.assign(Object.create(null) as object, echoServer('bare')) as McpServerConfig;
    const { toolset } = await connect([Object.freeze(echoServer('frozen')), new Proxy(echoServer('proxy'), {}), bare]);

    expect(Object.keys(toolset.tools)).toEqual(expect.arrayContaining(['frozen__echo', 'proxy__echo', 'bare__echo']));
  });

  it('is a configuration that changes after the call', async () => {
    const config = echoServer('before');
    const connecting = connect([config]);
    config.name = 'after';
    config.command = 'no-such-command';
    const { toolset } = await connecting;

    expect(Object.keys(toolset.tools)).toContain('before__echo');
  });
});
