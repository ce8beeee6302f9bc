// Command lines that speak to a server on a port: the MCP Inspector and curl.

import { spawnSync } from 'node:child_process';

import { describe, expect, it, type TestContext } from 'vitest';

import { inspect } from '../helpers/inspector.js';
import { fullServer } from '../helpers/served.js';
import type { Answer, Json } from '../helpers/wire.js';

describe('the MCP Inspector', () => {
  it.for([
    ['http', 'legacy'],
    ['http', 'modern'],
    ['sse', 'legacy'],
  ] as const)(
    'lists and calls over %s with --protocol-era %s',
    { timeout: 180_000 },
    async ([transport, era], context) => {
      const target = await fullServer(transport);
      const url = 'url' in target ? target.url : 'sse' in target ? target.sse : '';
      const run = async (...args: string[]): Promise<unknown> =>
        inspect(context, '--protocol-era', era, '--transport', transport, '--server-url', url, ...args);

      expect(await run('--method', 'tools/list')).toMatchObject({
        tools: [{ name: 'echo' }, { name: 'sum' }, ...Array.from({ length: 16 }, () => ({}))],
      });
      expect(
        await run('--method', 'tools/call', '--tool-name', 'sum', '--tool-args-json', '{"a":2,"b":40}'),
      ).toMatchObject({ structuredContent: { sum: 42 } });
      expect(await run('--method', 'resources/read', '--uri', 'note://one')).toMatchObject({
        contents: [{ text: 'the text of note://one' }],
      });
    },
  );
});

describe('curl', () => {
  /** The status, the headers by lower-case name, and the body. */
  function curl(context: TestContext, url: string, headers: Record<string, string>, body: Json) {
    if (spawnSync('curl', ['--version']).status !== 0) context.skip('no curl on this system');
    const given = { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers };
    const args = Object.entries(given).flatMap(([name, value]) => ['--header', `${name}: ${value}`]);
    const run = spawnSync(
      'curl',
      ['--silent', '--include', '--max-time', '15', ...args, '--data', JSON.stringify(body), url],
      {
        encoding: 'utf8',
      },
    );
    const [head = '', text = ''] = run.stdout.split('\r\n\r\n');
    const [status = '', ...lines] = head.split('\r\n');
    return {
      status: Number(status.split(' ')[1]),
      headers: new Map(
        lines.map((line) => {
          const [name = '', ...value] = line.split(': ');
          return [name.toLowerCase(), value.join(': ')];
        }),
      ),
      text,
    };
  }

  it('opens a session and calls in it', async (context) => {
    const target = await fullServer('http');
    const url = 'url' in target ? target.url : '';
    const opened = curl(
      context,
      url,
      {},
      {
        jsonrpc: '2.0',
        id: 1,
        method: 'initialize',
        params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'curl', version: '1' } },
      },
    );
    expect(opened.status).toBe(200);
    const session = {
      'mcp-session-id': opened.headers.get('mcp-session-id') ?? '',
      'mcp-protocol-version': '2025-11-25',
    };
    expect(curl(context, url, session, { jsonrpc: '2.0', method: 'notifications/initialized' })).toMatchObject({
      status: 202,
      text: '',
    });
    const call = { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'echo', arguments: { text: '✅' } } };
    const called = curl(context, url, session, call);
    expect(called.headers.get('content-type')).toBe('application/json');
    expect((JSON.parse(called.text) as Answer).result).toEqual({ content: [{ type: 'text', text: '✅' }] });
    expect(curl(context, url, {}, call).status).toBe(400);
  });

  it('calls in one request without a session', async (context) => {
    const target = await fullServer('http');
    const url = 'url' in target ? target.url : '';
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'echo' };
    const called = curl(context, url, headers, {
      jsonrpc: '2.0',
      id: 'one',
      method: 'tools/call',
      params: {
        name: 'echo',
        arguments: { text: '✅' },
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientCapabilities': {},
        },
      },
    });
    expect(called).toMatchObject({ status: 200 });
    expect(called.headers.has('mcp-session-id')).toBe(false);
    expect(JSON.parse(called.text)).toMatchObject({ id: 'one', result: { content: [{ type: 'text', text: '✅' }] } });
  });
});
