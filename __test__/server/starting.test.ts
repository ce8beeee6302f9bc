// From start to stop.

import { PassThrough } from 'node:stream';

import { createMcpServer, createPluggableStdioTransport, MCPServer } from 'espalier/server';
import { describe, expect, it } from 'vitest';

import { until } from '../helpers/until.js';
import { quiet, WireClient } from '../helpers/wire.js';

const streams = () => ({ input: new PassThrough(), output: new PassThrough() });

describe('start', () => {
  it('runs a transport until stop, and both can be done again', async () => {
    const server = createMcpServer();
    expect([server.isStarted(), server.getTransport()]).toEqual([false, undefined]);
    for (let round = 0; round < 3; round += 1) {
      const transport = createPluggableStdioTransport(streams());
      await server.start(transport);
      expect([server.isStarted(), server.getTransport()]).toEqual([true, transport]);
      expect(transport.type).toBe('stdio');
      await server.stop();
      expect([server.isStarted(), server.getTransport()]).toEqual([false, undefined]);
    }
  });

  it('is shared while one is under way, and throws afterwards', async () => {
    const server = new MCPServer();
    const transport = createPluggableStdioTransport(streams());
    const first = server.start(transport);
    expect(server.start(createPluggableStdioTransport(streams()))).toBe(first);
    await first;
    expect(server.getTransport()).toBe(transport);
    await expect(server.start(createPluggableStdioTransport(streams()))).rejects.toThrow(/started/);
    expect(server.isStarted()).toBe(true);
    await server.stop();
  });

  it.each([undefined, null, 1, 'stdio', {}, { transport: 'carrier pigeon' }, { transport: 'stdio', port: 1 }])(
    'takes no %j for a transport, and can be called again',
    async (given) => {
      const server = new MCPServer();
      await expect(server.start(given as never)).rejects.toThrow(TypeError);
      expect(server.isStarted()).toBe(false);
      await server.start(createPluggableStdioTransport(streams()));
      await server.stop();
    },
  );

  it('binds no transport in its old form', async () => {
    const server = new MCPServer();
    await server.start({ transport: 'stdio' });
    expect([server.isStarted(), server.getTransport()]).toEqual([true, undefined]);
    await server.stop();
    expect(server.isStarted()).toBe(false);
  });

  it('refuses a transport that runs already, and does not disturb it', async () => {
    const other = new MCPServer();
    const server = new MCPServer();
    const client = await new WireClient().open(server);
    const transport = server.getTransport();
    await expect(other.start(transport!)).rejects.toThrow(/runs already/);
    expect([other.isStarted(), server.isStarted()]).toEqual([false, true]);
    expect(await client.ask('ping')).toEqual({});
    await other.start(createPluggableStdioTransport(streams()));
    await other.stop();
  });

  it('has not happened before it is done', async () => {
    const server = new MCPServer();
    const started = server.start(createPluggableStdioTransport(streams()));
    expect([server.isStarted(), server.getTransport()]).toEqual([false, undefined]);
    await started;
    expect(server.isStarted()).toBe(true);
    await server.stop();
  });
});

describe('stop', () => {
  it('is idempotent, before a start, during one, and after a stop', async () => {
    const server = new MCPServer();
    await server.stop();
    const started = server.start(createPluggableStdioTransport(streams()));
    const stopped = server.stop();
    expect(server.stop()).toBe(stopped);
    await Promise.all([started, stopped]);
    expect(server.isStarted()).toBe(false);
    await server.stop();
    await server[Symbol.asyncDispose]();
  });

  it('lets calls finish that are under way', async () => {
    const server = new MCPServer();
    let finish = (_output: string): void => {};
    server.register({
      name: 'slow',
      inputSchema: { type: 'object' },
      handler: () => new Promise<string>((resolve) => (finish = resolve)),
    });
    const client = await new WireClient().open(server);
    const called = client.call('slow');
    await until('the call', () => server.stats().jobs === 1);
    const stopped = server.stop();
    finish('done');
    await stopped;
    expect(await called).toMatchObject({ content: [{ text: 'done' }] });
  });

  it('leaves the streams to their owner', async () => {
    const { input, output } = streams();
    const server = new MCPServer();
    await server.start(createPluggableStdioTransport({ input, output }));
    await server.stop();
    expect([input.destroyed, output.destroyed, output.writableEnded]).toEqual([false, false, false]);
    expect(['data', 'end', 'error', 'close'].map((event) => input.listenerCount(event))).toEqual(
      ['data', 'end', 'error', 'close'].map((event) => new PassThrough().listenerCount(event)),
    );
  });
});

describe('the end of a stream', () => {
  it('stops the server when the input ends', async () => {
    const server = new MCPServer();
    const client = await new WireClient().open(server);
    client.input.end();
    await until('the end', () => !server.isStarted());
    expect(server.getTransport()).toBeUndefined();
    await server.stop();
  });

  it('stops the server when the input has ended before', async () => {
    const { input, output } = streams();
    input.end();
    input.resume();
    await until('the end of the input', () => input.readableEnded);
    const server = new MCPServer();
    await server.start(createPluggableStdioTransport({ input, output }));
    await until('the end', () => !server.isStarted());
  });

  it.each([
    ['the input fails', ({ input }: ReturnType<typeof streams>) => input.destroy(new Error('broken'))],
    ['the output fails', ({ output }: ReturnType<typeof streams>) => output.destroy(new Error('broken'))],
    ['the output is closed', ({ output }: ReturnType<typeof streams>) => output.destroy()],
  ])('stops the server when %s', async (_, breaks) => {
    const logger = quiet();
    const server = new MCPServer({ logger });
    const given = streams();
    await server.start(createPluggableStdioTransport(given));
    breaks(given);
    await until('the end', () => !server.isStarted());
    expect(logger.lines.join('\n')).toMatch(/warn: the transport ended/);
  });
});

describe('a stream', () => {
  it('may cut messages anywhere, and may carry text', async () => {
    const server = new MCPServer();
    const { input, output } = streams();
    const lines: string[] = [];
    output.setEncoding('utf8').on('data', (text: string) => lines.push(text));
    server.register({ name: 'echo', inputSchema: { type: 'object' }, handler: ({ text }) => text });
    await server.start(createPluggableStdioTransport({ input, output }));
    const call = { jsonrpc: '2.0', id: 1, method: 'ping' };
    for (const byte of Buffer.from(`${JSON.stringify({ ...call, params: { _meta: { a: '价格 — ✅' } } })}\r\n\n`)) {
      input.write(Buffer.of(byte));
    }
    await until('the answer', () => lines.length === 1);
    input.setEncoding('utf8');
    input.write(`${JSON.stringify({ ...call, id: 2 })}\n`);
    await until('the answer', () => lines.length === 2);
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      { jsonrpc: '2.0', id: 1, result: {} },
      { jsonrpc: '2.0', id: 2, result: {} },
    ]);
    await server.stop();
  });

  it('is written to only while it has room', async () => {
    const server = new MCPServer();
    server.register({ name: 'big', inputSchema: { type: 'object' }, handler: () => 'x'.repeat(100_000) });
    const { input, output } = streams();
    await server.start(createPluggableStdioTransport({ input, output, maxBufferedBytes: 200_000 }));
    for (let id = 0; id < 100; id += 1) {
      input.write(`${JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'big' } })}\n`);
    }
    await until('a full output', () => output.writableNeedDrain || output.readableLength > 100_000);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(output.readableLength + output.writableLength).toBeLessThan(1_000_000);
    let bytes = 0;
    output.on('data', (chunk: Buffer) => (bytes += chunk.length));
    await until('everything', () => bytes > 100 * 100_000);
    await server.stop();
  });
});

describe('createPluggableStdioTransport', () => {
  it.each([
    ['maxBodyBytes', 0],
    ['maxBodyBytes', 1.5],
    ['maxBodyBytes', Number.NaN],
    ['maxBodyBytes', '1'],
    ['maxBodyBytes', null],
    ['maxBodyBytes', 1n],
    ['requestTimeoutMs', -1],
    ['maxConcurrentRequests', Number.POSITIVE_INFINITY],
    ['maxConnections', 1],
    ['maxbodybytes', 1],
    ['port', 1],
    ['input', 1],
    ['output', {}],
  ])('refuses %s: %s by name', (name, value) => {
    const make = (): unknown => createPluggableStdioTransport({ [name]: value });
    expect(make).toThrow(TypeError);
    expect(make).toThrow(name);
  });

  it('refuses what are no options', () => {
    expect(() => createPluggableStdioTransport(null as never)).toThrow(TypeError);
    expect(() => createPluggableStdioTransport([] as never)).toThrow(TypeError);
  });

  it('takes 0 for no time limit', () => {
    expect(createPluggableStdioTransport({ ...streams(), requestTimeoutMs: 0 }).type).toBe('stdio');
  });
});
