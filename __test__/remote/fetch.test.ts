import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo } from 'node:net';
import { Readable } from 'node:stream';

import { type McpFetch, mcpTools, type McpOptions, type McpServerConfig } from 'espalier/node';
import { describe, expect, it, onTestFinished } from 'vitest';

import { connect, tool } from '../helpers/connect.js';
import { mcpError, rejection } from '../helpers/errors.js';
import { timed, until } from '../helpers/until.js';

/** A message as the test servers read it. */
interface Asked {
  id?: number;
  method: string;
  params?: { name?: string; arguments?: Record<string, unknown> };
}

type Reply = (response: ServerResponse, asked: Asked, request: IncomingMessage) => void;

interface Peer {
  url: string;
  /** `METHOD path` of each request, in order. */
  seen: string[];
  headers: IncomingMessage['headers'][];
  server: Server;
}

async function listening(answer: (request: IncomingMessage, response: ServerResponse, body: string) => void) {
  const seen: string[] = [];
  const headers: IncomingMessage['headers'][] = [];
  const server = createServer((request, response) => {
    seen.push(`${request.method} ${request.url}`);
    headers.push(request.headers);
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (chunk: string) => (body += chunk));
    request.on('end', () => answer(request, response, body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/mcp`, seen, headers, server } satisfies Peer;
}

function result(id: number | undefined, value: unknown): string {
  return JSON.stringify({ jsonrpc: '2.0', id, result: value });
}

function text(value: string): unknown {
  return { content: [{ type: 'text', text: value }] };
}

function json(response: ServerResponse, body: string): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(body);
}

function opening(asked: Asked): string | undefined {
  if (asked.method === 'initialize') {
    const capabilities = { tools: {} };
    const serverInfo = { name: 'peer', version: '1' };
    return result(asked.id, { protocolVersion: '2025-06-18', capabilities, serverInfo });
  }
  if (asked.method === 'tools/list') {
    return result(asked.id, { tools: [{ name: 'ask', inputSchema: { type: 'object' } }] });
  }
  return undefined;
}

/** A server of the session era with one tool, `ask`, which `reply` answers. */
function peer(reply: Reply): Promise<Peer> {
  return listening((request, response, body) => {
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const asked = JSON.parse(body) as Asked;
    const opened = opening(asked);
    if (opened !== undefined) return json(response, opened);
    if (asked.id === undefined) return void response.writeHead(202).end();
    reply(response, asked, request);
  });
}

function remote(url: string, more: Partial<McpServerConfig> = {}): McpServerConfig {
  return { type: 'streamable-http', name: 'far', url, protocol: 'legacy', ...more } as McpServerConfig;
}

/** Connects through a `fetch`, and gives the tool. */
async function ask(url: string, fetch: McpFetch, options: McpOptions = {}) {
  const connected = await connect([remote(url)], { ...options, fetch });
  return { ...connected, call: (args?: unknown, how?: object) => connected.toolset.call('far__ask', args, how) };
}

/** Only calls of the tool go through `special`. */
function onCalls(special: McpFetch): McpFetch {
  return (url, init) => (init.body?.includes('"tools/call"') ? special(url, init) : fetch(url, init));
}

/** What is no `Response` to the compiler either. */
function fake(value: unknown): Promise<Response> {
  return Promise.resolve(value as Response);
}

describe('requests', () => {
  it('are made as promised, and JSON replies arrive', async () => {
    const server = await peer((response, asked) => json(response, result(asked.id, text('hello'))));
    const inits: Parameters<McpFetch>[] = [];
    const { toolset, call } = await ask(`${server.url}?key=v`, (url, init) => {
      inits.push([url, init]);
      return fetch(url, init);
    });

    expect(await call({ a: 'ü€😀' })).toBe('hello');
    await toolset.close();

    expect(inits.length).toBe(server.seen.length);
    for (const [url, init] of inits) {
      expect(url).toBeInstanceOf(URL);
      expect(url.href).toBe(`${server.url}?key=v`);
      expect(init.headers).toBeInstanceOf(Headers);
      expect(init.signal).toBeInstanceOf(AbortSignal);
      expect(init.redirect).toBe('manual');
      if (init.method !== 'POST') expect(init.body).toBeUndefined();
    }
    const [, init] = inits.find(([, { body }]) => body?.includes('tools/call')) ?? [];
    expect(init?.method).toBe('POST');
    expect(JSON.parse(init?.body ?? '')).toMatchObject({ params: { name: 'ask', arguments: { a: 'ü€😀' } } });
    expect(init?.headers.get('mcp-protocol-version')).toBe('2025-06-18');
  });

  it('carry configured headers byte by byte, and userinfo as a header only', async () => {
    const server = await peer((response, asked) => json(response, result(asked.id, text('x'))));
    const urls: string[] = [];
    const config = remote(server.url.replace('//', '//me:secret-word@'), { headers: { 'x-name': 'Jürgen' } });
    await connect([config], {
      fetch: (url, init) => {
        urls.push(url.href);
        expect(init.headers.get('authorization')).toBe(`Basic ${btoa('me:secret-word')}`);
        return fetch(url, init);
      },
    });

    expect(new Set(urls)).toEqual(new Set([server.url]));
    const name = Buffer.from(String(server.headers[0]?.['x-name']), 'latin1');
    expect([name.toString('latin1'), name.toString('utf8')]).toContain('Jürgen');
  });

  it('go through fetch over HTTP+SSE, too', async () => {
    let stream: ServerResponse | undefined;
    const server = await listening((request, response, body) => {
      if (request.method === 'GET') {
        stream = response.writeHead(200, { 'content-type': 'text/event-stream' });
        stream.write('event: endpoint\ndata: /messages?s=1\n\n');
        return;
      }
      const asked = JSON.parse(body) as Asked;
      response.writeHead(202).end();
      if (asked.id !== undefined) {
        stream?.write(`data: ${opening(asked) ?? result(asked.id, text('over sse'))}\n\n`);
      }
    });
    let made = 0;
    const { toolset } = await connect([{ type: 'sse', name: 'far', url: server.url }], {
      fetch: (url, init) => {
        made += 1;
        return fetch(url, init);
      },
    });

    expect(await toolset.call('far__ask', {})).toBe('over sse');
    expect(made).toBe(server.seen.length);
    const closed = new Promise<void>((resolve) => stream?.on('close', () => resolve()));
    await toolset.close();
    await closed;
  });

  it('are redirected by our rules', async () => {
    const target = await peer((response, asked) => json(response, result(asked.id, text('elsewhere'))));
    const server = await peer((response) => response.writeHead(307, { location: target.url }).end());
    const { call } = await ask(server.url, (url, init) => fetch(url, init));

    const error = await mcpError(call({ mine: 1 }), 'host-blocked');

    expect(error.message).toContain(new URL(target.url).host);
    expect(target.seen).toEqual([]);
  });

  it('may be redirected on the same origin', async () => {
    const server = await peer((response, asked, request) => {
      if (request.url === '/mcp') response.writeHead(308, { location: '/moved' }).end();
      else json(response, result(asked.id, text('moved')));
    });
    const { call } = await ask(server.url, (url, init) => fetch(url, init));

    expect(await call({})).toBe('moved');
    expect(server.seen.slice(-2)).toEqual(['POST /mcp', 'POST /moved']);
  });

  it('do not reach a host that is not allowed', async () => {
    let made = 0;
    const { of } = await connect([remote('http://blocked.example/mcp')], {
      allowedHosts: ['fine.example'],
      fetch: (url, init) => {
        made += 1;
        return fetch(url, init);
      },
    });

    expect(of('connection-failure')).toHaveLength(1);
    expect(made).toBe(0);
  });
});

describe('bodies', () => {
  it('arrive piece by piece', async () => {
    let finish = (): void => {};
    const server = await peer((response, asked) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const token = (asked.params as { _meta?: { progressToken?: unknown } })._meta?.progressToken;
      const params = { progressToken: token, progress: 1 };
      response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/progress', params })}\n\n`);
      finish = () => response.end(`data: ${result(asked.id, text('late'))}\n\n`);
    });
    const { call } = await ask(server.url, (url, init) => fetch(url, init));

    const heard: number[] = [];
    const called = call({}, { onProgress: ({ progress }: { progress: number }) => heard.push(progress) });
    await until('the first event', () => heard.length === 1);
    finish();
    expect(await called).toBe('late');
  });

  it('are read only as they are asked for', async () => {
    const server = await peer(() => {});
    let pulled = 0;
    let cancelled = false;
    const { call } = await ask(
      server.url,
      onCalls(() => {
        const body = new ReadableStream<Uint8Array>({
          pull(controller) {
            pulled += 1;
            controller.enqueue(new Uint8Array(64 * 1024).fill(32));
          },
          cancel() {
            cancelled = true;
          },
        });
        return fake(new Response(body, { headers: { 'content-type': 'application/json' } }));
      }),
      { maxMessageBytes: 1024 * 1024 },
    );

    await mcpError(call({}), 'too-large');

    expect(pulled).toBeLessThan(25);
    await until('the end of the reader', () => cancelled);
  });

  it('of 10 MB come whole, whatever their copied headers say', async () => {
    const long = 'ä'.repeat(5 * 1024 * 1024);
    const server = await peer((response, asked) => json(response, result(asked.id, text(long))));
    const { call } = await ask(server.url, async (url, init) => {
      const response = await fetch(url, init);
      const headers = new Headers(response.headers);
      headers.set('content-length', '3');
      headers.set('content-encoding', 'gzip');
      return new Response(response.body, { status: response.status, headers });
    });

    expect(await call({})).toBe(long);
  });

  it('are not read further than a little ahead, be their chunks empty or not', async () => {
    const server = await peer(() => {});
    for (const size of [0, 1, 1024 * 1024]) {
      let pulled = 0;
      const { call } = await ask(
        server.url,
        onCalls((_url, { signal }) => {
          const body = {
            async *[Symbol.asyncIterator]() {
              while (!signal.aborted) {
                pulled += 1;
                yield new Uint8Array(size);
              }
            },
          };
          return fake({ status: 503, headers: new Map([['retry-after', '1']]), body });
        }),
      );
      await mcpError(call({}, { timeoutMs: 300 }), 'timeout');
      expect(pulled).toBeLessThan(100);
    }
  });

  it('that break off right away lose nothing that came', async () => {
    const server = await peer((response, asked, request) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`data: ${result(asked.id, text('just in time'))}\n\n`, () => request.socket.destroy());
    });
    const { call } = await ask(server.url, (url, init) => fetch(url, init));

    for (let round = 0; round < 20; round += 1) {
      expect(await call({})).toBe('just in time');
    }
  });

  it('may be null, strings of a Node stream, or views', async () => {
    const server = await peer(() => {});
    const bodies = [
      (reply: string) => Readable.from([reply.slice(0, 9), reply.slice(9)]),
      (reply: string) => Readable.from([new DataView(new TextEncoder().encode(reply).buffer)]),
      (reply: string) => new Blob([reply]).stream(),
    ];
    let body = bodies[0];
    const { call } = await ask(
      server.url,
      onCalls((_url, init) => {
        const { id } = JSON.parse(init.body ?? '') as Asked;
        const headers = new Map([['content-type', 'application/json']]);
        return fake({ status: 200, headers, body: body?.(result(id, text('fine'))) ?? null });
      }),
    );

    for (body of bodies) expect(await call({})).toBe('fine');
    body = undefined;
    await mcpError(call({}), 'invalid-response');
  });

  it('that break off, or are none, fail their call', async () => {
    const server = await peer(() => {});
    const bodies: [unknown, RegExp][] = [
      ['text', /no stream/],
      [7, /no stream/],
      [Readable.from([{ not: 'bytes' }]), /instead of bytes/],
      [Readable.from([7]), /instead of bytes/],
      [
        new ReadableStream({
          start(controller) {
            controller.error(new Error('the cable was pulled'));
          },
        }),
        /the cable was pulled/,
      ],
    ];
    let body: unknown;
    const { call } = await ask(
      server.url,
      onCalls(() => fake({ status: 200, headers: new Headers({ 'content-type': 'application/json' }), body })),
    );

    for (const [given, expected] of bodies) {
      body = given;
      expect((await mcpError(call({}), 'connection-lost')).message).toMatch(expected);
    }
  });
});

describe('a fetch that fails', () => {
  const answers: [string, McpFetch, RegExp][] = [
    [
      'throws',
      () =>
        ((): never => {
          throw new Error('thrown at once');
        })(),
      /thrown at once/,
    ],
    [
      'rejects',
      () => Promise.reject(new Error('rejected later', { cause: new Error('the cause') })),
      /rejected later: the cause/,
    ],
    ['rejects with nothing', () => Promise.reject(undefined), /undefined/],
    ['rejects with what has no text', () => Promise.reject(Object.create(null) as Error), /no text/],
    ['gives undefined', () => fake(undefined), /no Response/],
    ['gives null', () => fake(null), /no Response/],
    ['gives a string', () => fake('200 OK'), /no Response/],
    ['gives an object', () => fake({}), /no Response/],
    ['gives no headers', () => fake({ status: 200 }), /no Response/],
    ['gives an odd status', () => fake({ status: 2e9, headers: [] }), /no Response/],
    ['gives a network error', () => fake(Response.error()), /status 0/],
    ['hides a redirect', () => fake({ type: 'opaqueredirect', status: 0, headers: [] }), /hid a redirect/],
    ['followed a redirect', () => fake({ redirected: true, status: 200, headers: [] }), /followed a redirect/],
    [
      'has a status that throws',
      () =>
        fake({
          get status() {
            throw new Error('a trap');
          },
        }),
      /a trap/,
    ],
  ];

  it.each(answers)('%s: its call fails, and nothing else', async (_what, broken, expected) => {
    const server = await peer((response, asked) => json(response, result(asked.id, text('well'))));
    let isBroken = true;
    const { call } = await ask(
      server.url,
      onCalls((url, init) => (isBroken ? broken(url, init) : fetch(url, init))),
    );

    const error = await mcpError(call({}), 'connection-lost');
    expect(error.message).toMatch(expected);
    expect(error.message).toContain(new URL(server.url).host);
    isBroken = false;
    expect(await call({})).toBe('well');
  });

  it('is a diagnostic while connecting', async () => {
    const { of, toolset } = await ask('http://far.example:81/mcp', () => Promise.reject(new Error('no way')));

    expect(of('connection-failure')[0]?.message).toMatch(/far\.example:81.*no way/);
    expect(toolset.tools).toEqual({});
  });

  it('tells no secret', async () => {
    const { diagnostics, toolset } = await connect(
      [
        remote('http://me:pass-of-mine@far.example/mcp?token=in-the-query&k=q2q2&enc=a%20encoded', {
          headers: { 'x-key': 'header-secret', authorization: 'Bearer bear-secret' },
        }),
      ],
      {
        fetch: (url, init) => {
          const { headers, body } = init;
          const told = [
            url.href,
            headers.get('x-key'),
            headers.get('authorization'),
            'https://u:pw1234@h.example/?z=zzzz',
          ];
          const cause = new Error(told.toReversed().join(' '));
          return Promise.reject(
            new Error(`failed: ${[...headers].join(' ')} ${url.search} ${body} a%20encoded`, { cause }),
          );
        },
      },
    );

    const told = JSON.stringify([diagnostics, toolset.servers()]);
    expect(diagnostics).toHaveLength(1);
    expect(told).toContain('failed:');
    expect(told).toContain('https://h.example/');
    expect(told).not.toMatch(/pass-of-mine|in-the-query|q2q2|header-secret|bear-secret|pw1234|zzzz|jsonrpc|encoded/);
  });

  it('never settles: the time limit ends it, and its signal fires', async () => {
    const server = await peer(() => {});
    const signals: AbortSignal[] = [];
    const { call } = await ask(
      server.url,
      onCalls((_url, { signal }) => {
        signals.push(signal);
        return new Promise(() => {});
      }),
    );

    const { ms } = await timed(() => mcpError(call({}, { timeoutMs: 200 }), 'timeout'));

    expect(ms).toBeLessThan(5000);
    await until('the signal', () => signals[0]?.aborted);
  });

  it('never settles while connecting: so does the time limit', async () => {
    const { of } = await ask('http://far.example/mcp', () => new Promise(() => {}), { timeoutMs: 200 });

    expect(of('connection-failure')).toHaveLength(1);
  });

  it('has a body that never goes on: so does the time limit, and its reader is cancelled', async () => {
    const server = await peer(() => {});
    let cancelled = false;
    const { call } = await ask(
      server.url,
      onCalls(() => {
        const cancel = (): void => void (cancelled = true);
        const headers = { 'content-type': 'text/event-stream' };
        return fake(new Response(new ReadableStream({ cancel }), { headers }));
      }),
    );

    await mcpError(call({}, { timeoutMs: 200 }), 'timeout');
    await until('the end of the reader', () => cancelled);
  });
});

describe('giving up', () => {
  it('by an abort closes the connection', async () => {
    let closed = false;
    let arrived = false;
    const server = await peer((response) => {
      arrived = true;
      response.on('close', () => (closed = true));
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': here\n\n');
    });
    const { toolset } = await ask(server.url, (url, init) => fetch(url, init));

    const controller = new AbortController();
    const called = rejection(tool(toolset, 'far__ask').execute({}, { signal: controller.signal }));
    await until('the call', () => arrived);
    controller.abort();

    expect(await called).toMatchObject({ name: 'AbortError' });
    await until('the end of the connection', () => closed);
  });

  it('cancels a body that comes too late from a fetch without ears', async () => {
    const server = await peer(() => {});
    let cancelled = false;
    let late = (): void => {};
    const { call } = await ask(
      server.url,
      onCalls(
        () =>
          new Promise((resolve) => {
            const cancel = (): void => void (cancelled = true);
            late = () => resolve(new Response(new ReadableStream({ cancel })));
          }),
      ),
    );

    await mcpError(call({}, { timeoutMs: 100 }), 'timeout');
    late();
    await until('the end of the body', () => cancelled);
  });

  it('by close() ends everything under way', async () => {
    const server = await peer(() => {});
    const signals: AbortSignal[] = [];
    const { call, toolset } = await ask(
      server.url,
      onCalls((_url, { signal }) => {
        signals.push(signal);
        return new Promise(() => {});
      }),
    );

    const calls = [mcpError(call({}), 'closed'), mcpError(call({}), 'closed')];
    await until('the calls', () => signals.length === 2);
    const { ms } = await timed(() => toolset.close());

    await Promise.all(calls);
    expect(ms).toBeLessThan(5000);
    expect(signals.map((signal) => signal.aborted)).toEqual([true, true]);
  });

  it('fires no signal of a call that is over', async () => {
    const server = await peer((response, asked) => json(response, result(asked.id, text('x'))));
    const signals: AbortSignal[] = [];
    const { call } = await ask(
      server.url,
      onCalls((url, init) => {
        signals.push(init.signal);
        return fetch(url, init);
      }),
    );

    await Promise.all(Array.from({ length: 200 }, () => call({})));

    expect(signals).toHaveLength(200);
    expect(signals.filter((signal) => signal.aborted)).toHaveLength(0);
  });
});

describe('the option', () => {
  it.each([
    [{ fetch: 'curl' }, 'fetch'],
    [{ fetch, blockPrivateAddresses: true }, 'blockPrivateAddresses'],
    [{ fetch, proxy: 'http://proxy.example:3128' }, 'proxy'],
    [{ fetch, proxy: 'env' }, 'proxy'],
    [{ fetch, ca: 'PEM' }, 'ca'],
  ])('is refused in %o', async (options, named) => {
    const error = await mcpError(mcpTools([], options as McpOptions), 'invalid-option');
    expect(error.message).toContain(named);
  });

  it('goes with proxy: none and blockPrivateAddresses: false', async () => {
    await connect([], { fetch, proxy: 'none', blockPrivateAddresses: false });
  });
});
