// Lines that no proper client writes: each is answered at most once, by the code that says what is wrong, and the next one
// is served.

import { PassThrough } from 'node:stream';

import { createPluggableStdioTransport, MCPServer, type MCPServerConfig, type ToolLike } from 'espalier/server';
import { describe, expect, it, onTestFinished } from 'vitest';

import { until } from '../helpers/until.js';
import { type Json, quiet } from '../helpers/wire.js';

interface Lines {
  server: MCPServer;
  /** Everything that was written, in order. */
  written: Json[];
  /** Writes a line. */
  line(text: string | Buffer): void;
  send(message: Json): void;
  /** Writes a request, and gives what was written from then on up to its answer. */
  until(id: unknown, message: Json): Promise<Json[]>;
}

async function opened(
  config: MCPServerConfig = {},
  set: (server: MCPServer) => void = () => {},
  { revision = '2025-11-25', limits = {} }: { revision?: string | undefined; limits?: Json } = {},
): Promise<Lines> {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const server = new MCPServer({ logger: quiet(), runtime: {}, ...config });
  server.register({ name: 'echo', inputSchema: { type: 'object' }, handler: (args) => JSON.stringify(args) });
  set(server);
  const written: Json[] = [];
  let rest = '';
  output.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const one of lines) written.push(JSON.parse(one) as Json);
  });
  await server.start(createPluggableStdioTransport({ input, output, ...limits }));
  onTestFinished(async () => server.stop());
  const line = (text: string | Buffer): void => {
    input.write(Buffer.concat([Buffer.from(text), Buffer.from('\n')]));
  };
  const send = (message: Json): void => line(JSON.stringify({ jsonrpc: '2.0', ...message }));
  const answered = async (id: unknown, message: Json): Promise<Json[]> => {
    const from = written.length;
    send({ id, ...message });
    await until(`the answer to ${String(id)}`, () => written.slice(from).some((one) => one['id'] === id));
    return written.slice(from);
  };
  if (revision !== 'none') {
    await answered('open', {
      method: 'initialize',
      params: { protocolVersion: revision, capabilities: {}, clientInfo: { name: 'lines', version: '1' } },
    });
    send({ method: 'notifications/initialized' });
    written.length = 0;
  }
  return { server, written, line, send, until: answered };
}

const PING = { method: 'ping' };
const PONG = { jsonrpc: '2.0', id: 'next', result: {} };
const request = (more: string): string => `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":${more}}`;
const nested = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`;

describe('a line', () => {
  it.each<[string, string | Buffer, number, unknown?]>([
    ['that is no JSON', '{oops', -32_700],
    ['that is half of a message', '{"jsonrpc":"2.0","id":7,"method":"pi', -32_700],
    ['that is no UTF-8', Buffer.from([0x7b, 0xff, 0xfe, 0x7d]), -32_700],
    ['with a NUL', '{"jsonrpc":"2.0",\0"id":7,"method":"ping"}', -32_700],
    ['that is a scalar', '5', -32_600],
    ['that is an empty object', '{}', -32_600],
    ['with an id of null', '{"jsonrpc":"2.0","id":null,"method":"ping"}', -32_600],
    ['with a fractional id', '{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32_600],
    ['with an id that is a boolean', '{"jsonrpc":"2.0","id":true,"method":"ping"}', -32_600],
    ['with an id that is an object', '{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}', -32_600],
    ['with an id that is an array', '{"jsonrpc":"2.0","id":[1],"method":"ping"}', -32_600],
    ['of another JSON-RPC', '{"jsonrpc":"1.0","id":7,"method":"ping"}', -32_600, 7],
    ['without a method', '{"jsonrpc":"2.0","id":7}', -32_600, 7],
    ['whose method is a number', '{"jsonrpc":"2.0","id":7,"method":7}', -32_600, 7],
    ['whose params are an array', '{"jsonrpc":"2.0","id":7,"method":"ping","params":[]}', -32_600, 7],
    ['with a method that there is not', '{"jsonrpc":"2.0","id":7,"method":"no/such"}', -32_601, 7],
    ['with the method __proto__', '{"jsonrpc":"2.0","id":7,"method":"__proto__"}', -32_601, 7],
    ['that is a batch', '[{"jsonrpc":"2.0","id":7,"method":"ping"}]', -32_600],
    ['that is an empty batch', '[]', -32_600],
    ['that is 10,000 levels deep', nested(10_000), -32_700],
    [
      'whose arguments are 10,000 levels deep',
      request(`{"name":"echo","arguments":{"a":${nested(10_000)}}}`),
      -32_700,
      7,
    ],
    ['whose tool has no name', request('{}'), -32_602, 7],
    ['whose tool has a number for a name', request('{"name":7}'), -32_602, 7],
    ['whose arguments are an array', request('{"name":"echo","arguments":[]}'), -32_602, 7],
    ['whose arguments are a text', request('{"name":"echo","arguments":"{}"}'), -32_602, 7],
    ['for the tool __proto__', request('{"name":"__proto__"}'), -32_602, 7],
    ['for the tool constructor', request('{"name":"constructor"}'), -32_602, 7],
  ])('%s', async (_, text, code, id = null) => {
    const lines = await opened();
    lines.line(text);
    await lines.until('next', PING);
    await until('the answer', () => lines.written.length > 1);
    // What can be answered at once does not wait for what cannot.
    const answer = lines.written.find((one) => 'error' in one);

    expect(answer).toMatchObject({ jsonrpc: '2.0', error: { code, message: expect.any(String) as string } });
    expect(answer?.['id'] ?? null).toEqual(id);
    expect(lines.written.filter((one) => one !== answer)).toEqual([PONG]);
  });

  it.each([
    ['that is empty', '\r'],
    ['that is a notification that there is not', '{"jsonrpc":"2.0","method":"notifications/no-such"}'],
    ['that is a wrong notification', '{"jsonrpc":"2.0","method":"notifications/cancelled","params":[]}'],
    [
      'that cancels what is not there',
      '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}',
    ],
    ['that cancels nothing', '{"jsonrpc":"2.0","method":"notifications/cancelled"}'],
    ['that answers what nobody asked', '{"jsonrpc":"2.0","id":1,"result":{}}'],
    ['that refuses what nobody asked', '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}'],
  ])('%s is not answered', async (_, text) => {
    const lines = await opened();
    lines.line(text);

    expect(await lines.until('next', PING)).toEqual([PONG]);
  });

  it('longer than is taken is refused once, however long it is, and one right at the limit is served', async () => {
    const maxBodyBytes = 100_000;
    const lines = await opened({}, undefined, { limits: { maxBodyBytes } });
    lines.line('x'.repeat(5 * 1024 * 1024));
    const [answer, next] = await lines.until('next', PING);
    expect(answer).toMatchObject({ error: { code: -32_600, message: expect.stringContaining('100000') as string } });
    expect(next).toEqual(PONG);

    const bare = request('{"name":"echo","arguments":{"a":""}}');
    const longest = bare.replace('"a":""', `"a":"${'x'.repeat(maxBodyBytes - bare.length)}"`);
    lines.written.length = 0;
    lines.line(longest);
    await until('its answer', () => lines.written.length > 0);
    expect(lines.written[0]).toMatchObject({ id: 7, result: { content: [{ type: 'text' }] } });
    lines.line(`${longest} `);
    expect((await lines.until('next', PING)).at(-2)).toMatchObject({ error: { code: -32_600 } });
  });

  it('of 4 MiB carries a call by default', async () => {
    const lines = await opened();
    const [answer] = await lines.until(7, {
      method: 'tools/call',
      params: { name: 'echo', arguments: { a: 'x'.repeat(4_000_000) } },
    });
    expect(answer).toMatchObject({
      result: { content: [{ text: expect.stringMatching(/^\{"a":"x+"\}$/) as string }] },
    });
  });
});

describe('an argument', () => {
  it.each(['__proto__', 'constructor', 'toString'])('named %s is one like any other', async (name) => {
    const seen: string[][] = [];
    const lines = await opened({}, (server) => {
      server.register({
        name: 'keys',
        inputSchema: { type: 'object' },
        handler: (args) => {
          seen.push(Object.keys(args));
          return Object.getPrototypeOf(args) === Object.prototype;
        },
      });
    });
    lines.line(request(`{"name":"keys","arguments":{"${name}":{"polluted":true}}}`));
    await lines.until('next', PING);
    await until('the answer', () => lines.written.some(({ id }) => id === 7));

    expect(lines.written.find(({ id }) => id === 7)).toMatchObject({ result: { content: [{ text: 'true' }] } });
    expect(seen).toEqual([[name]]);
    expect('polluted' in {}).toBe(false);
  });
});

describe('an id', () => {
  it('that is still in flight is refused, and the first is not disturbed', async () => {
    let finish: (text: string) => void = () => {};
    const lines = await opened({}, (server) => {
      server.register({
        name: 'wait',
        inputSchema: { type: 'object' },
        handler: () => new Promise<string>((resolve) => (finish = resolve)),
      });
    });
    lines.line(request('{"name":"wait"}'));
    await until('the call', () => lines.server.stats().jobs === 1);
    // The same number, spelt otherwise.
    lines.line(request('{"name":"echo"}').replace('"id":7', '"id":7.0'));
    await until('the refusal', () => lines.written.length > 0);
    expect(lines.written).toMatchObject([{ id: 7, error: { code: -32_600 } }]);
    finish('done');
    await until('the answer', () => lines.written.length > 1);
    expect(lines.written[1]).toMatchObject({ id: 7, result: { content: [{ text: 'done' }] } });
    // It may be used again.
    lines.line(request('{"name":"echo"}'));
    await until('the next answer', () => lines.written.length > 2);
    expect(lines.written[2]).toMatchObject({ id: 7, result: { content: [{ text: '{}' }] } });
  });

  it.each(['""', '"7"', '0', '-1', '1e3', '9007199254740993', '"\\u0000"'])('%s comes back as it was', async (id) => {
    const lines = await opened();
    lines.line(`{"jsonrpc":"2.0","id":${id},"method":"ping"}`);
    await lines.until('next', PING);

    expect(lines.written[0]).toEqual(JSON.parse(`{"jsonrpc":"2.0","id":${id},"result":{}}`));
  });
});

describe('a batch', () => {
  const ping = (id: number): Json => ({ jsonrpc: '2.0', id, method: 'ping' });

  it('is taken in the revision that has it: what is right in it is answered, and what is wrong as well', async () => {
    const lines = await opened({}, undefined, { revision: '2025-03-26' });
    lines.line(JSON.stringify([ping(1), { jsonrpc: '2.0', method: 'notifications/no-such' }, 5, [ping(2)], ping(3)]));
    await until('its answer', () => lines.written.length > 0);
    const [answers] = lines.written as unknown as Json[][];

    expect(answers?.map(({ id, error }) => [id ?? null, (error as Json | undefined)?.['code']])).toEqual([
      [1, undefined],
      [null, -32_600],
      [null, -32_600],
      [3, undefined],
    ]);
    lines.line(JSON.stringify([{ jsonrpc: '2.0', method: 'notifications/no-such' }]));
    lines.written.length = 0;
    expect(await lines.until('next', PING)).toEqual([PONG]);
  });

  it('holds a hundred messages', async () => {
    const lines = await opened({}, undefined, { revision: '2025-03-26' });
    lines.line(JSON.stringify(Array.from({ length: 100 }, (_, id) => ping(id))));
    lines.line(JSON.stringify(Array.from({ length: 101 }, (_, id) => ping(id))));
    await until('both answers', () => lines.written.length === 2);

    expect(lines.written.find((one) => Array.isArray(one))).toHaveLength(100);
    expect(lines.written.find((one) => !Array.isArray(one))).toMatchObject({ error: { code: -32_600 } });
  });
});

describe('what a host does meanwhile', () => {
  it('a request before the handshake is answered, and so is the handshake after it', async () => {
    const lines = await opened({}, undefined, { revision: 'none' });
    const [answer] = await lines.until(1, { method: 'tools/call', params: { name: 'echo' } });
    expect(answer).toMatchObject({ result: { content: [{ text: '{}' }] } });
    const initialize = {
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'late', version: '1' } },
    };
    expect(await lines.until(2, initialize)).toMatchObject([{ result: { protocolVersion: '2025-11-25' } }]);
    expect(await lines.until(3, initialize)).toMatchObject([{ error: { code: expect.any(Number) as number } }]);
    expect(await lines.until('next', PING)).toEqual([PONG]);
  });

  it('a provider that hangs costs its own list, in its time', async () => {
    const lines = await opened(
      {},
      (server) => {
        server.registerResources(() => new Promise(() => {}));
        server.registerPrompt({ name: 'p', handler: () => 'text' });
      },
      { limits: { requestTimeoutMs: 200 } },
    );
    lines.send({ id: 1, method: 'resources/list' });
    lines.send({ id: 2, method: 'resources/read', params: { uri: 'a://b' } });
    expect(await lines.until(3, { method: 'prompts/list' })).toMatchObject([
      { id: 3, result: { prompts: [{ name: 'p' }] } },
    ]);
    await until('both refusals', () => lines.written.length === 3);
    for (const id of [1, 2]) {
      expect(lines.written.find((one) => one['id'] === id)).toMatchObject({
        error: { code: -32_001, message: 'Request timed out' },
      });
    }
  });

  it('tools that are replaced while their list is asked for are not served from then on', async () => {
    const asked: ((tools: ToolLike[]) => void)[] = [];
    const runtime = { tools: { list: () => new Promise<ToolLike[]>((resolve) => asked.push(resolve)) } };
    const lines = await opened({ runtime });
    const names = ([answer]: Json[]): unknown =>
      (answer as unknown as { result: { tools: Json[] } }).result.tools
        .map(({ name }) => name)
        .filter((name) => name !== 'echo');
    const answer = async (id: number): Promise<Json[]> => {
      await until(`the answer to ${id}`, () => lines.written.some((one) => one['id'] === id));
      return lines.written.filter((one) => one['id'] === id);
    };
    lines.send({ id: 1, method: 'tools/list' });
    await until('the question', () => asked.length === 1);
    lines.server.invalidateToolCache(runtime);
    lines.send({ id: 2, method: 'tools/list' });
    await until('the second question', () => asked.length === 2);
    asked[1]?.([{ name: 'new' }]);
    expect(names(await answer(2))).toEqual(['new']);
    asked[0]?.([{ name: 'old' }]);
    await answer(1);
    lines.send({ id: 3, method: 'tools/list' });
    expect(names(await answer(3))).toEqual(['new']);
  });

  it.each([
    'files:///a/../b',
    'files:///%2e%2e%2fetc',
    'files:///a%00b',
    'files:///a\0b',
    'files:///a%2Fb',
    'files:///',
    '',
    'no uri',
    '__proto__',
  ])('the URI %j is taken as it is, or is unknown', async (uri) => {
    const seen: string[] = [];
    const lines = await opened({}, (server) => {
      server.registerResourceTemplate({
        uriTemplate: 'files:///{name}',
        name: 'files',
        handler: (_uri, { name }) => {
          seen.push(String(name));
          return { text: String(name) };
        },
      });
    });
    const [answer] = await lines.until(7, { method: 'resources/read', params: { uri } });

    const { result, error } = answer as { result?: Json; error?: { code: number } };
    // A variable of this kind has no bare slash in it; what was encoded is decoded once.
    if (error === undefined) expect(result).toMatchObject({ contents: [{ uri, text: seen[0] }] });
    else expect([-32_002, -32_602]).toContain(error.code);
    expect(await lines.until('next', PING)).toEqual([PONG]);
  });
});
