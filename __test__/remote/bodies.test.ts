// How much of an answer is read, in which coding, and as what.

import { brotliCompressSync, gzipSync } from 'node:zlib';

import { describe, expect, it } from 'vitest';

import { sessionServer, statelessServer, type Tool } from '../fixtures/http/mcp.js';
import type { Exchange } from '../fixtures/http/peer.js';
import { zstdRun } from '../fixtures/http/zstd.js';
import { connect } from '../helpers/connect.js';
import { mcpError } from '../helpers/errors.js';
import { http, over, overBoth, type Stack } from '../helpers/remote.js';
import { textResult } from '../helpers/scripted.js';
import { timed } from '../helpers/until.js';

const LIMIT = 256 * 1024;
const MEBIBYTE = 1024 * 1024;

/** `fetch` of Node 20 does not know the newest coding. */
function codings(stack: Stack): ('gzip' | 'br' | 'zstd')[] {
  return stack === 'native' ? ['gzip', 'br', 'zstd'] : ['gzip', 'br'];
}

/** A connection with a limit to a server whose tool `odd` answers in a way of its own, next to a plain `echo`. */
async function withOdd(stack: Stack, odd: (exchange: Exchange) => void) {
  const tools: Record<string, Tool | undefined> = { echo: undefined, odd: ({ exchange }) => odd(exchange) };
  const server = await statelessServer({ tools });
  return connect([http(server.url)], { ...over(stack), maxMessageBytes: LIMIT, timeoutMs: 10_000 });
}

/** A reply of about so many bytes. */
function reply(exchange: Exchange, size: number): string {
  const result = { resultType: 'complete', ...textResult('a'.repeat(size)) };
  return JSON.stringify({ jsonrpc: '2.0', id: exchange.message.id, result });
}

overBoth((stack) => {
  describe('a reply that is too large', () => {
    const json = { 'content-type': 'application/json' };
    it.each<[string, (exchange: Exchange) => void]>([
      ['with its length', (exchange) => exchange.send(200, reply(exchange, LIMIT), json)],
      [
        'in chunks',
        (exchange) => {
          exchange
            .head(200, { ...json, 'transfer-encoding': 'chunked' })
            .chunk(reply(exchange, LIMIT))
            .end();
        },
      ],
      [
        'until the connection ends',
        (exchange) =>
          exchange
            .head(200, { ...json, connection: 'close' })
            .raw(reply(exchange, LIMIT))
            .hangUp(),
      ],
      [
        'as an event',
        (exchange) =>
          exchange
            .stream()
            .event({ data: reply(exchange, LIMIT) })
            .end(),
      ],
      [
        'as an event in many lines',
        (exchange) => {
          const [start = '', ...rest] = reply(exchange, 1).split(',');
          exchange
            .stream()
            .text(`data: ${start},\n${'data: \n'.repeat(2 * LIMIT)}data: ${rest.join(',')}\n\n`)
            .end();
        },
      ],
      ['as an event without end', (exchange) => void exchange.stream().text(`data: ${'a'.repeat(2 * LIMIT)}`)],
      ['as a field name without end', (exchange) => void exchange.stream().text('a'.repeat(2 * LIMIT))],
    ])('%s fails that call only', async (_what, odd) => {
      const { toolset, of } = await withOdd(stack, odd);
      const { ms } = await timed(() => mcpError(toolset.call('srv__odd', {}), 'too-large'));

      expect(ms).toBeLessThan(3000);
      await expect(toolset.call('srv__echo', { fine: true })).resolves.toBe('{"fine":true}');
      expect(of('connection-failure')).toEqual([]);
    });

    it.each<[string, () => [string, Buffer]]>([
      ['gzip', () => ['gzip', gzipSync(Buffer.alloc(64 * MEBIBYTE, ' '))]],
      ['brotli', () => ['br', brotliCompressSync(Buffer.alloc(16 * MEBIBYTE, ' '))]],
    ])('once it is unpacked (%s) fails that call only, and is not unpacked to its end', async (_what, bomb) => {
      const [coding, bytes] = bomb();
      const { toolset } = await withOdd(stack, (exchange) =>
        exchange.send(200, bytes, { 'content-type': 'application/json', 'content-encoding': coding }),
      );
      const { ms } = await timed(() => mcpError(toolset.call('srv__odd', {}), 'too-large'));

      expect(ms).toBeLessThan(3000);
      await expect(toolset.call('srv__echo', {})).resolves.toBe('{}');
    });

    it('of a handshake is a failure of that server only', async () => {
      const server = await sessionServer({
        before: (exchange) => {
          if (exchange.message.method !== 'initialize') return false;
          exchange.send(200, reply(exchange, LIMIT), json);
          return true;
        },
      });
      const other = await statelessServer();
      const { toolset, of } = await connect([http(server.url), http(other.url, { name: 'other' })], {
        ...over(stack),
        maxMessageBytes: LIMIT,
      });

      expect(of('connection-failure')).toHaveLength(1);
      await expect(toolset.call('other__echo', {})).resolves.toBe('{}');
    });

    it('that is not too large is just a reply', async () => {
      const { toolset } = await withOdd(stack, (exchange) => exchange.send(200, reply(exchange, LIMIT - 1000), json));

      await expect(toolset.call('srv__odd', {})).resolves.toHaveLength(LIMIT - 1000);
    });

    it('in sum, in many events, is no matter', async () => {
      const { toolset } = await withOdd(stack, (exchange) => {
        const stream = exchange.stream();
        const noise = { method: 'notifications/message', params: { level: 'info', data: 'x'.repeat(1000) } };
        for (let n = 0; n < LIMIT / 500; n += 1) stream.message(noise);
        stream.text(`data: ${reply(exchange, 10)}\n\n`).end();
      });

      await expect(toolset.call('srv__odd', {})).resolves.toBe('a'.repeat(10));
    });
  });

  describe('a coding of the content', () => {
    it.each(codings(stack))('may be %s', async (coding) => {
      const { toolset } = await withOdd(stack, (exchange) => {
        const { id } = exchange.message;
        exchange.encoded(coding, {
          jsonrpc: '2.0',
          id,
          result: { resultType: 'complete', ...textResult('unpacked ✓') },
        });
      });

      await expect(toolset.call('srv__odd', {})).resolves.toBe('unpacked ✓');
    });

    it('may be that of an event stream, which is not held up by it', async () => {
      const { toolset } = await withOdd(stack, (exchange) => {
        // One member of gzip; the connection stays open behind it.
        exchange.stream({ 'content-encoding': 'gzip' }).text(gzipSync(`data: ${reply(exchange, 3)}\n\n`));
      });

      await expect(toolset.call('srv__odd', {})).resolves.toBe('aaa');
    });

    it('that is not what it says fails that call only', async () => {
      const { toolset } = await withOdd(stack, (exchange) =>
        exchange.send(200, reply(exchange, 3), { 'content-type': 'application/json', 'content-encoding': 'gzip' }),
      );
      const { ms } = await timed(() =>
        expect(toolset.call('srv__odd', {})).rejects.toMatchObject({ name: 'McpError' }),
      );

      expect(ms).toBeLessThan(3000);
      await expect(toolset.call('srv__echo', {})).resolves.toBe('{}');
    });
  });

  it('comments on a stream do not add up to an answer that is too long', async () => {
    const { toolset } = await withOdd(stack, (exchange) => {
      const stream = exchange.stream();
      for (let n = 0; n < 64; n += 1) stream.text(`: ${'-'.repeat(64 * 1024)}\n\n`);
      stream.message({ id: exchange.message.id, result: textResult('after all') }).end();
    });

    await expect(toolset.call('srv__odd', {})).resolves.toBe('after all');
  });

  it.each([
    [400, 'application/json'],
    [404, 'text/html'],
    [500, 'text/html'],
  ])('an error %i with a body of %s that never ends is told by its status', async (status, type) => {
    const { toolset } = await withOdd(stack, (exchange) => {
      exchange.head(status, { 'content-type': type, 'transfer-encoding': 'chunked' }).chunk('{"on and on');
    });
    const { ms } = await timed(() => expect(toolset.call('srv__odd', {})).rejects.toThrow(String(status)));

    expect(ms).toBeLessThan(5000);
    await expect(toolset.call('srv__echo', {})).resolves.toBe('{}');
  });
});

describe('over native', () => {
  it('a bomb of zstd fails that call only', async () => {
    const { toolset } = await withOdd('native', (exchange) =>
      exchange.send(200, zstdRun(1024 * MEBIBYTE), { 'content-type': 'application/json', 'content-encoding': 'zstd' }),
    );
    const { ms } = await timed(() => mcpError(toolset.call('srv__odd', {}), 'too-large'));

    expect(ms).toBeLessThan(3000);
  });

  it('says which codings it takes', async () => {
    const server = await statelessServer();
    await connect([http(server.url)]);

    const accepted = server.seen()[0]?.header('accept-encoding') ?? '';
    for (const coding of ['gzip', 'br', 'zstd']) expect(accepted).toContain(coding);
  });
});
