// Answers that are no answers, and answers in odd forms.

import { describe, expect, it } from 'vitest';

import { sessionServer, statelessServer } from '../fixtures/http/mcp.js';
import type { Exchange } from '../fixtures/http/peer.js';
import { connect } from '../helpers/connect.js';
import { rejection } from '../helpers/errors.js';
import { http, over, overBoth } from '../helpers/remote.js';
import { textResult } from '../helpers/scripted.js';
import { timed } from '../helpers/until.js';
import { McpError } from 'espalier/node';

const JSON_TYPE = { 'content-type': 'application/json' };

const bad: [what: string, answer: (exchange: Exchange) => void][] = [
  ['200 and text', (exchange) => exchange.send(200, 'all is well', { 'content-type': 'text/plain' })],
  ['200 and HTML', (exchange) => exchange.send(200, '<h1>Log in</h1>', { 'content-type': 'text/html' })],
  ['200 and no type', (exchange) => exchange.send(200, 'all is well')],
  ['200 and an empty body', (exchange) => exchange.send(200, '', JSON_TYPE)],
  ['200 and neither type nor body', (exchange) => exchange.send(200)],
  ['202', (exchange) => exchange.send(202)],
  ['204', (exchange) => exchange.send(204)],
  ['205', (exchange) => exchange.send(205)],
  ['206', (exchange) => exchange.send(206, '{"json', JSON_TYPE)],
  ['404 and HTML', (exchange) => exchange.send(404, '<h1>Not Found</h1>', { 'content-type': 'text/html' })],
  ['410', (exchange) => exchange.send(410)],
  ['418', (exchange) => exchange.send(418)],
  ['500 and HTML', (exchange) => exchange.send(500, '<h1>Oops</h1>', { 'content-type': 'text/html' })],
  ['500 and nothing', (exchange) => exchange.send(500)],
  ['502', (exchange) => exchange.send(502, 'bad gateway', { 'content-type': 'text/plain' })],
  ['504', (exchange) => exchange.send(504)],
  ['a status that does not exist', (exchange) => exchange.send(799)],
  ['half a JSON text', (exchange) => exchange.send(200, '{"jsonrpc":"2.0","id":1,"resu', JSON_TYPE)],
  [
    'something after the JSON text',
    (exchange) =>
      exchange.send(200, `${JSON.stringify({ jsonrpc: '2.0', id: exchange.message.id, result: {} })}}`, JSON_TYPE),
  ],
  ['a JSON text in UTF-16', (exchange) => exchange.send(200, Buffer.from('{"jsonrpc":"2.0"}', 'utf16le'), JSON_TYPE)],
  ['a number', (exchange) => exchange.send(200, '7', JSON_TYPE)],
  ['null', (exchange) => exchange.send(200, 'null', JSON_TYPE)],
  ['an empty list', (exchange) => exchange.send(200, '[]', JSON_TYPE)],
  ['an object that is no message', (exchange) => exchange.json(200, { hello: 'world' })],
  ['a notification', (exchange) => exchange.json(200, { jsonrpc: '2.0', method: 'notifications/message', params: {} })],
  ['a reply to something else', (exchange) => exchange.json(200, { jsonrpc: '2.0', id: 'nobody', result: {} })],
  ['a reply to nothing', (exchange) => exchange.json(200, { jsonrpc: '2.0', result: {} })],
  ['a reply without result and error', (exchange) => exchange.json(200, { jsonrpc: '2.0', id: exchange.message.id })],
  [
    'a body that is cut',
    (exchange) =>
      exchange
        .head(200, { ...JSON_TYPE, 'content-length': '5000' })
        .raw('{"jsonrpc"')
        .cut(),
  ],
  [
    'a body that is shorter than it says',
    (exchange) =>
      exchange
        .head(200, { ...JSON_TYPE, 'content-length': '5000' })
        .raw('{"jsonrpc"')
        .hangUp(),
  ],
  [
    'chunks that are cut',
    (exchange) =>
      exchange
        .head(200, { ...JSON_TYPE, 'transfer-encoding': 'chunked' })
        .chunk('{"jsonrpc"')
        .hangUp(),
  ],
  [
    'chunks of a size that is none',
    (exchange) => exchange.head(200, { ...JSON_TYPE, 'transfer-encoding': 'chunked' }).raw('zz\r\nabc\r\n'),
  ],
  ['a head that is cut', (exchange) => exchange.raw('HTTP/1.1 200 OK\r\ncontent-ty').hangUp()],
  ['no HTTP', (exchange) => exchange.raw('SSH-2.0-OpenSSH_9.9\r\n').hangUp()],
  ['nothing but the end', (exchange) => exchange.hangUp()],
  ['a broken connection', (exchange) => exchange.cut()],
  [
    'two lengths that differ',
    (exchange) =>
      exchange
        .raw('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}x')
        .hangUp(),
  ],
  ['a stream without an event', (exchange) => exchange.stream().end()],
  ['a stream of comments', (exchange) => exchange.stream().text(': hello\n\n: bye\n\n').end()],
  ['a stream with another reply', (exchange) => exchange.stream().message({ id: 'nobody', result: {} }).end()],
  ['a stream with half a message', (exchange) => exchange.stream().event({ data: '{"jsonrpc":"2.0","id"' }).end()],
  [
    'a stream that ends in the middle of an event',
    (exchange) =>
      exchange
        .stream()
        .text(`data: {"jsonrpc":"2.0","id":${JSON.stringify(exchange.message.id)},"result":{}}\n`)
        .end(),
  ],
  ['a stream that is cut', (exchange) => exchange.stream().text(': hello\n\n').cut()],
  [
    'a reply of another event type',
    (exchange) =>
      exchange
        .stream()
        .event({ event: 'other', data: { jsonrpc: '2.0', id: exchange.message.id, result: {} } })
        .end(),
  ],
];

overBoth((stack) => {
  describe.each(bad)('%s', (_what, answer) => {
    it('to a call is a failure of that call, at once', async () => {
      const server = await statelessServer({ tools: { echo: undefined, odd: ({ exchange }) => answer(exchange) } });
      const { toolset, of } = await connect([http(server.url)], over(stack));
      const { value: error, ms } = await timed(() => rejection(toolset.call('srv__odd', {})));

      expect(error).toBeInstanceOf(McpError);
      expect(ms).toBeLessThan(2000);
      expect(server.seen('tools/call')).toHaveLength(1);
      await expect(toolset.call('srv__echo', { fine: true })).resolves.toBe('{"fine":true}');
      expect(of('connection-failure')).toEqual([]);
    });

    it('to a handshake is a failure of that server, at once', async () => {
      const server = await sessionServer({
        before: (exchange) => {
          if (exchange.message.method !== 'initialize') return false;
          answer(exchange);
          return true;
        },
      });
      const other = await statelessServer();
      const { value, ms } = await timed(() =>
        connect([http(server.url), http(other.url, { name: 'other' })], { ...over(stack), protocol: 'auto' }),
      );

      expect(value.of('connection-failure')).toEqual([
        expect.objectContaining({ origin: 'srv', message: expect.stringContaining('srv') }),
      ]);
      expect(ms).toBeLessThan(3000);
      expect(server.seen('initialize')).toHaveLength(1);
      await expect(value.toolset.call('other__echo', {})).resolves.toBe('{}');
    });
  });

  describe('a reply', () => {
    const good = (exchange: Exchange, text = 'fine'): string =>
      JSON.stringify({
        jsonrpc: '2.0',
        id: exchange.message.id,
        result: { resultType: 'complete', ...textResult(text) },
      });
    const data = (exchange: Exchange): string => `data: ${good(exchange)}`;

    const informational: [string, (exchange: Exchange) => void][] = [
      [
        'after 100 and 103',
        (exchange) =>
          exchange
            .raw('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n')
            .send(200, good(exchange), JSON_TYPE),
      ],
    ];
    it.each<[string, (exchange: Exchange) => void]>([
      // Node's own `fetch` refuses such a reply by itself.
      ...(stack === 'native' ? informational : []),
      [
        'of the type `application/json;charset=utf-8`',
        (exchange) => exchange.send(200, good(exchange), { 'content-type': 'application/json;charset=utf-8' }),
      ],
      [
        'of the type `Application/JSON`',
        (exchange) => exchange.send(200, good(exchange), { 'Content-Type': 'Application/JSON ; charset="UTF-8"' }),
      ],
      ['with a byte order mark', (exchange) => exchange.send(200, `\uFEFF${good(exchange)}`, JSON_TYPE)],
      ['with white space around it', (exchange) => exchange.send(200, `\r\n  ${good(exchange)}\n\n`, JSON_TYPE)],
      [
        'without a length, up to the end of the connection',
        (exchange) =>
          exchange.raw('HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n').raw(good(exchange)).hangUp(),
      ],
      [
        'on a stream of the type `Text/Event-Stream; charset=utf-8`',
        (exchange) =>
          exchange
            .stream({ 'content-type': 'Text/Event-Stream; charset=utf-8' })
            .text(`${data(exchange)}\n\n`)
            .end(),
      ],
      [
        'on a stream that ends lines with CR, and stays open',
        (exchange) => void exchange.stream().text(`event: message\r${data(exchange)}\r\r`),
      ],
      [
        'on a stream that ends lines with CRLF, and stays open',
        (exchange) => void exchange.stream().text(`event: message\r\n${data(exchange)}\r\n\r\n`),
      ],
      [
        'on a stream that ends lines in all ways',
        (exchange) => void exchange.stream().text(`\uFEFF: hi\r\nevent: message\r${data(exchange)}\n\r\n`),
      ],
      ['on a stream that stays open', (exchange) => void exchange.stream().text(`${data(exchange)}\n\n`)],
      [
        'after an event that primes the stream',
        (exchange) =>
          exchange
            .stream()
            .text('id: s1-0\ndata:\n\n')
            .text(`${data(exchange)}\n\n`)
            .end(),
      ],
      [
        'after events of other kinds and comments',
        (exchange) =>
          exchange
            .stream()
            .text('event: ping\ndata: {}\n\n: hi\n\nretry: 10\n\nunknown: x\n\n')
            .text(`${data(exchange)}\n\n`)
            .end(),
      ],
      [
        'after a reply to nobody',
        (exchange) =>
          exchange
            .stream()
            .message({ id: 'nobody', result: {} })
            .text(`${data(exchange)}\n\n`)
            .end(),
      ],
      [
        'after something that is no JSON',
        (exchange) =>
          exchange
            .stream()
            .event({ data: 'hello' })
            .text(`${data(exchange)}\n\n`)
            .end(),
      ],
      [
        'twice',
        (exchange) =>
          exchange
            .stream()
            .text(`${data(exchange)}\n\n`)
            .text(`${data(exchange)}\n\n`)
            .end(),
      ],
      [
        'spread over lines of data',
        (exchange) =>
          exchange
            .stream()
            .text(`data: ${good(exchange).replace(',', ',\ndata: ')}\n\n`)
            .end(),
      ],
    ])('%s is taken', async (_what, answer) => {
      const server = await statelessServer({ tools: { odd: ({ exchange }) => answer(exchange) } });
      const { toolset } = await connect([http(server.url)], over(stack));
      const { value, ms } = await timed(() => toolset.call('srv__odd', {}));

      expect(value).toBe('fine');
      expect(ms).toBeLessThan(2000);
    });

    it('in a list of one, which this revision does not have, is told at once one way or the other', async () => {
      const server = await statelessServer({
        tools: { odd: ({ exchange }) => exchange.send(200, `[${good(exchange)}]`, JSON_TYPE) },
      });
      const { toolset } = await connect([http(server.url)], over(stack));
      const { ms } = await timed(() => Promise.allSettled([toolset.call('srv__odd', {})]));

      expect(ms).toBeLessThan(2000);
    });

    it('that comes one byte at a time keeps its characters', async () => {
      const text = '价格 — ✅ 🎉';
      const server = await statelessServer({
        tools: {
          json: async ({ exchange }) => {
            exchange.head(200, { ...JSON_TYPE, 'transfer-encoding': 'chunked' });
            for (const byte of Buffer.from(good(exchange, text))) exchange.chunk(Buffer.from([byte]));
            exchange.end();
          },
          events: async ({ exchange }) => {
            const stream = exchange.stream();
            for (const byte of Buffer.from(`data: ${good(exchange, text)}\n\n`)) {
              stream.text(Buffer.from([byte]));
              await new Promise((resolve) => setImmediate(resolve));
            }
            stream.end();
          },
        },
      });
      const { toolset } = await connect([http(server.url)], over(stack));

      await expect(toolset.call('srv__json', {})).resolves.toBe(text);
      await expect(toolset.call('srv__events', {})).resolves.toBe(text);
    });

    it('to each of many calls finds its own, in whatever order they come', async () => {
      const waiting: (() => void)[] = [];
      const server = await statelessServer({
        tools: {
          t: ({ args, text }) => {
            waiting.push(() => text(String(args.n)));
            if (waiting.length === 5) for (const answer of waiting.toReversed()) answer();
          },
        },
      });
      const { toolset } = await connect([http(server.url)], over(stack));

      await expect(Promise.all([1, 2, 3, 4, 5].map((n) => toolset.call('srv__t', { n })))).resolves.toEqual([
        '1',
        '2',
        '3',
        '4',
        '5',
      ]);
    });

    it('that is a JSON-RPC error keeps its code and data, whatever the status', async () => {
      for (const status of [200, 400, 404, 500]) {
        const server = await statelessServer({
          tools: {
            odd: ({ exchange }) =>
              exchange.error(status, { code: -32_602, message: 'no such port', data: { port: 1 } }),
          },
        });
        const { toolset } = await connect([http(server.url)], over(stack));

        await expect(toolset.call('srv__odd', {})).rejects.toMatchObject({
          code: 'server-error',
          data: { code: -32_602, message: 'no such port', data: { port: 1 } },
        });
      }
    });
  });

  it('a violation that a call survives is reported, once per kind', async () => {
    const server = await statelessServer({
      tools: {
        t: ({ exchange }) => {
          const stream = exchange.stream();
          for (let n = 0; n < 20; n += 1) stream.event({ data: 'hello' }).message({ id: `nobody-${n}`, result: {} });
          stream.result({ resultType: 'complete', ...textResult('fine') }).end();
        },
      },
    });
    const { toolset, of } = await connect([http(server.url)], over(stack));
    await expect(toolset.call('srv__t', {})).resolves.toBe('fine');

    const violations = of('protocol-violation').map(({ message }) => message);
    expect(violations.length).toBeGreaterThan(0);
    expect(violations).toEqual([...new Set(violations)]);
    expect(violations.length).toBeLessThanOrEqual(2);
  });

  it('a notification that is answered with anything is no failure of the connection', async () => {
    for (const status of [200, 202, 204, 400, 500]) {
      const server = await sessionServer({
        before: (exchange) => {
          if (exchange.message.method !== 'notifications/initialized') return false;
          exchange.send(status);
          return true;
        },
      });
      const { toolset } = await connect([http(server.url)], over(stack));

      await expect(toolset.call('srv__echo', {})).resolves.toBe('{}');
    }
  });
});
