// Tools listed and called by the program itself.

import { MCPServer, MissingCapabilityError, type RuntimeLike } from 'espalier/server';
import { describe, expect, it } from 'vitest';

import { quiet } from '../helpers/wire.js';

const object = { type: 'object' };

describe('callTool', () => {
  it('gives the output as the tool gave it', async () => {
    const output = { date: new Date(0) };
    const server = new MCPServer();
    server.register({ name: 'a', inputSchema: object, handler: () => ({ success: true, output }) });
    const result = await server.callTool('a');
    expect(result).toEqual({ success: true, output });
    expect(result.success && result.output).toBe(output);
  });

  it('gives an error where no tool matches, or no runtime is bound', async () => {
    expect(await new MCPServer().callTool('a')).toEqual({ success: false, error: 'No runtime bound' });
    expect(await new MCPServer({ runtime: {} }).callTool('a')).toEqual({
      success: false,
      error: 'Unknown tool: "a"',
      code: -32602,
    });
  });

  it.each([
    ['a name that is none', [1 as never]],
    ['arguments that are none', ['a', 1 as never]],
    ['arguments that are a list', ['a', [] as never]],
    ['arguments that JSON cannot hold', ['a', { a: 1n }]],
    ['a signal that is none', ['a', {}, {} as never]],
  ] as [string, Parameters<MCPServer['callTool']>][])('gives an error for %s', async (_, given) => {
    const server = new MCPServer({ logger: quiet() });
    server.register({ name: 'a', inputSchema: object, handler: () => 'ran' });
    expect(await server.callTool(...given)).toEqual({ success: false, error: expect.any(String) as string });
  });

  it.each([
    ['an error', new Error('broken'), 'broken'],
    ['nothing', undefined, 'undefined'],
    ['a symbol', Symbol('s'), 'Symbol(s)'],
  ])('gives an error where the tool throws %s, and logs it', async (_, thrown, error) => {
    const logger = quiet();
    const server = new MCPServer({ logger });
    server.register({ name: 'a', inputSchema: object, handler: () => Promise.reject(thrown) });
    expect(await server.callTool('a')).toEqual({ success: false, error });
    expect(logger.lines).toEqual([expect.stringMatching(/^error: call "a" failed \(ref /)]);
  });

  it('gives an error where the tool asks a client, of which there is none', async () => {
    const server = new MCPServer();
    server.register({ name: 'a', inputSchema: object, handler: (_args, context) => context.roots() });
    expect(await server.callTool('a')).toEqual({
      success: false,
      error: expect.stringContaining('roots') as string,
      code: -32021,
    });
    expect(new MissingCapabilityError({ roots: {} }).name).toBe('MissingCapabilityError');
  });

  it('takes progress and log messages, which nobody hears', async () => {
    const server = new MCPServer();
    server.register({
      name: 'a',
      inputSchema: object,
      handler: (_args, { progress, log, closeStream, connectionId, protocolVersion }) => {
        progress(1);
        log('info', 'x');
        closeStream();
        return { connectionId, protocolVersion };
      },
    });
    expect(await server.callTool('a')).toEqual({
      success: true,
      output: { connectionId: 'in-process', protocolVersion: undefined },
    });
  });

  it('ends at once when its signal fires, and aborts the tool', async () => {
    const controller = new AbortController();
    let inner: AbortSignal | undefined;
    const server = new MCPServer();
    server.register({
      name: 'a',
      inputSchema: object,
      handler: (_args, { signal }) => {
        inner = signal;
        controller.abort();
        return new Promise<never>(() => {});
      },
    });
    expect(await server.callTool('a', {}, controller.signal)).toMatchObject({ success: false });
    expect(inner?.aborted).toBe(true);
    let ran = 0;
    server.register({ name: 'b', inputSchema: object, handler: () => (ran += 1) });
    expect(await server.callTool('b', {}, AbortSignal.abort())).toMatchObject({ success: false });
    await new Promise(setImmediate);
    expect(ran).toBe(0);
  });

  it('gives the tool a copy of the arguments', async () => {
    const args = { list: [1] };
    const server = new MCPServer();
    server.register({ name: 'a', inputSchema: object, handler: ({ list }) => (list as number[]).push(2) });
    expect(await server.callTool('a', args)).toEqual({ success: true, output: 2 });
    expect(args).toEqual({ list: [1] });
  });
});

describe('listTools', () => {
  it('gives what is projected and what is registered for everybody', async () => {
    const runtime: RuntimeLike = { tools: { list: async () => [{ name: 'projected' }] } };
    const server = new MCPServer({ runtime });
    server.register({ name: 'registered', title: 'T', inputSchema: object, handler: () => 1 });
    const tools = await server.listTools();
    expect(tools.toSorted((a, b) => a.name.localeCompare(b.name))).toEqual([
      { name: 'projected', inputSchema: object },
      { name: 'registered', title: 'T', inputSchema: object },
    ]);
  });

  it('rejects with a reference where the runtime cannot list', async () => {
    const logger = quiet();
    const runtime: RuntimeLike = {
      tools: {
        list: () => {
          throw new Error('hunter2');
        },
      },
    };
    await expect(new MCPServer({ runtime, logger }).listTools()).rejects.toThrow(/ref/);
    expect(logger.lines.join()).toContain('hunter2');
  });
});
