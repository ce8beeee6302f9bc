// The era without sessions: what each request carries, and what comes back.

import { describe, expect, it } from 'vitest';

import { decoded, statelessServer } from '../fixtures/http/mcp.js';
import { connect } from '../helpers/connect.js';
import { mcpError, rejection } from '../helpers/errors.js';
import { http, over, overBoth } from '../helpers/remote.js';
import { textResult, toolEntry } from '../helpers/scripted.js';
import { timed, until } from '../helpers/until.js';

const META = 'io.modelcontextprotocol/';

/** A tool whose arguments of these names are mirrored. */
function mirroring(name: string, properties: Record<string, unknown>): Record<string, unknown> {
  return toolEntry(name, { inputSchema: { type: 'object', properties } });
}

overBoth((stack) => {
  describe('every request', () => {
    it('states revision, method and capabilities, and no session', async () => {
      const server = await statelessServer();
      const { toolset } = await connect([http(server.url)], over(stack));
      await toolset.call('srv__echo', { a: 1 });
      await toolset.close();

      expect(server.seen().map(({ method }) => method)).toEqual(server.seen().map(() => 'POST'));
      for (const request of server.seen()) {
        expect(request.header('mcp-protocol-version')).toBe('2026-07-28');
        expect(request.header('mcp-method')).toBe(request.message.method);
        expect(request.header('mcp-session-id')).toBeUndefined();
        expect(request.message.params._meta).toMatchObject({
          [`${META}protocolVersion`]: '2026-07-28',
          [`${META}clientCapabilities`]: {},
          [`${META}clientInfo`]: { name: 'espalier', version: expect.any(String) },
        });
      }
      const ids = server.seen().map(({ message }) => message.id);
      expect(new Set(ids).size).toBe(ids.length);
    });

    it('never takes on a session that the server gives out all the same', async () => {
      const server = await statelessServer({
        before: (exchange) => {
          exchange.raw('');
          return false;
        },
        tools: {
          t: ({ exchange, id }) =>
            exchange.json(200, { jsonrpc: '2.0', id, result: textResult('x') }, { 'mcp-session-id': 'planted' }),
        },
      });
      const { toolset } = await connect([http(server.url)], over(stack));
      await toolset.call('srv__t', {});
      await toolset.call('srv__t', {});
      await toolset.close();

      expect(server.bytes()).not.toContain('planted');
      expect(server.seen('DELETE')).toEqual([]);
    });

    it.each(['plain', 'with space', ' outer space ', 'größe', '工具', '=?base64?eA==?=', 'a\tb', 'dots.and/slashes'])(
      'names the tool "%s" in a header that can be read back',
      async (name) => {
        const server = await statelessServer({ tools: { [name]: undefined } });
        const { toolset } = await connect([http(server.url)], over(stack));
        const [projected = ''] = Object.keys(toolset.tools);

        await expect(toolset.call(projected, { a: 1 })).resolves.toBe('{"a":1}');
        const header = server.seen('tools/call')[0]?.header('mcp-name') ?? '';
        expect(decoded(header)).toBe(name);
        expect(header).toMatch(/^[\x20-\x7e]+$/);
      },
    );
  });

  describe('an argument that the tool wants mirrored', () => {
    const properties = {
      port: { type: 'string', 'x-mcp-header': 'Port' },
      level: { type: 'integer', 'x-mcp-header': 'Level' },
      dry: { type: 'boolean', 'x-mcp-header': 'Dry-Run' },
      where: { type: 'object', properties: { dock: { type: 'string', 'x-mcp-header': 'Dock' } } },
      plain: { type: 'string' },
    };

    it.each<[string, Record<string, unknown>, Record<string, string | undefined>]>([
      ['is sent as it is', { port: 'Brest' }, { port: 'Brest' }],
      ['may have blanks inside', { port: 'Le Havre' }, { port: 'Le Havre' }],
      ['may be empty', { port: '' }, { port: '' }],
      ['is wrapped when it is not ASCII', { port: 'Zürich' }, { port: '=?base64?WsO8cmljaA==?=' }],
      ['is wrapped when it begins with a blank', { where: { dock: ' dock 7' } }, { dock: '=?base64?IGRvY2sgNw==?=' }],
      ['is wrapped when it ends with a blank', { port: 'a ' }, { port: '=?base64?YSA=?=' }],
      ['is wrapped when it holds a line break', { port: 'a\nb' }, { port: '=?base64?YQpi?=' }],
      ['is wrapped when it looks wrapped', { port: '=?base64?x?=' }, { port: '=?base64?PT9iYXNlNjQ/eD89?=' }],
      ['is not wrapped when it half looks wrapped', { port: '=?base64?x' }, { port: '=?base64?x' }],
      ['may be a number without a fraction', { level: -7 }, { level: '-7' }],
      ['may be a boolean', { dry: false }, { 'dry-run': 'false' }],
      ['is left out when it is null', { port: null, level: 1 }, { port: undefined, level: '1' }],
      ['is left out when it is not there', { plain: 'x' }, { port: undefined, plain: undefined }],
    ])('%s', async (_what, args, headers) => {
      const server = await statelessServer({ listing: [mirroring('t', properties)] });
      const { toolset } = await connect([http(server.url)], over(stack));

      await expect(toolset.call('srv__t', args)).resolves.toBe(JSON.stringify(args));
      const [call] = server.seen('tools/call');
      for (const [name, value] of Object.entries(headers)) expect(call?.header(`mcp-param-${name}`)).toBe(value);
    });

    it.each<[string, Record<string, unknown>]>([
      ['an empty name', { a: { type: 'string', 'x-mcp-header': '' } }],
      ['a name with a blank', { a: { type: 'string', 'x-mcp-header': 'a b' } }],
      ['a name with a colon', { a: { type: 'string', 'x-mcp-header': 'a:b' } }],
      ['a name beyond ASCII', { a: { type: 'string', 'x-mcp-header': 'größe' } }],
      ['a name with a line break', { a: { type: 'string', 'x-mcp-header': 'a\r\nX: 1' } }],
      ['a name that is no text', { a: { type: 'string', 'x-mcp-header': 7 } }],
      ['a name twice', { a: { type: 'string', 'x-mcp-header': 'A' }, b: { type: 'string', 'x-mcp-header': 'a' } }],
      ['a number', { a: { type: 'number', 'x-mcp-header': 'A' } }],
      ['an object', { a: { type: 'object', 'x-mcp-header': 'A' } }],
      ['a list', { a: { type: 'array', items: { type: 'string' }, 'x-mcp-header': 'A' } }],
      ['the items of a list', { a: { type: 'array', items: { type: 'string', 'x-mcp-header': 'A' } } }],
      ['one of several', { a: { oneOf: [{ type: 'string', 'x-mcp-header': 'A' }] } }],
    ])('by %s makes its tool unusable, and only that', async (_what, wrong) => {
      const server = await statelessServer({ listing: [mirroring('wrong', wrong), mirroring('right', properties)] });
      const { toolset, of } = await connect([http(server.url)], over(stack));

      expect(Object.keys(toolset.tools)).toEqual(['srv__right']);
      expect(of('header-ignored')).toEqual([expect.objectContaining({ message: expect.stringContaining('wrong') })]);
    });
  });

  describe('a result', () => {
    it.each([undefined, 'complete'])('of the type %s is taken', async (resultType) => {
      const server = await statelessServer({
        tools: {
          t: ({ exchange, id }) =>
            exchange.json(200, { jsonrpc: '2.0', id, result: { resultType, ...textResult('fine') } }),
        },
      });
      const { toolset } = await connect([http(server.url)], over(stack));

      await expect(toolset.call('srv__t', {})).resolves.toBe('fine');
      expect(server.seen('tools/call')).toHaveLength(1);
    });

    it.each(['task', 'whatever', '', 7])('of the type %j is invalid', async (resultType) => {
      const server = await statelessServer({
        tools: { t: ({ result }) => result({ resultType, ...textResult('x') }) },
      });
      const { toolset } = await connect([http(server.url)], over(stack));

      await mcpError(toolset.call('srv__t', {}), 'invalid-response');
    });

    it('may follow progress on a stream', async () => {
      const server = await statelessServer({
        tools: {
          t: ({ exchange, params }) => {
            const { progressToken } = params._meta;
            exchange
              .stream()
              .message({
                method: 'notifications/progress',
                params: { progressToken, progress: 1, total: 2, message: 'half' },
              })
              .result({ resultType: 'complete', ...textResult('done') })
              .end();
          },
        },
      });
      const seen: unknown[] = [];
      const { toolset } = await connect([http(server.url)], over(stack));

      await expect(
        toolset.call(
          'srv__t',
          {},
          { onProgress: ({ progress, total, message }) => void seen.push([progress, total, message]) },
        ),
      ).resolves.toBe('done');
      expect(seen).toEqual([[1, 2, 'half']]);
    });

    it('may follow a request of the server, which is not answered', async () => {
      const server = await statelessServer({
        tools: {
          t: ({ exchange }) =>
            exchange
              .stream()
              .message({ id: 'server-1', method: 'ping' })
              .result({ resultType: 'complete', ...textResult('done') })
              .end(),
        },
      });
      const { toolset } = await connect([http(server.url)], over(stack));

      await expect(toolset.call('srv__t', {})).resolves.toBe('done');
      await toolset.call('srv__t', {});
      expect(server.seen('POST').filter(({ message }) => message.method === undefined)).toEqual([]);
    });
  });

  describe('a call that needs more input', () => {
    const question = {
      method: 'elicitation/create',
      params: {
        mode: 'form',
        message: 'Which?',
        requestedSchema: { type: 'object', properties: { berth: { type: 'integer' } } },
      },
    };

    it('asks the handler, and is sent again with the answer, the state and a new id', async () => {
      const state = 'v1.c2VhbGVk "quoted" ✓';
      const server = await statelessServer({
        tools: {
          book: ({ count, params, result, text }) => {
            if (count === 1)
              result({ resultType: 'input_required', requestState: state, inputRequests: { berth: question } });
            else text(JSON.stringify([params.inputResponses, params.requestState, params.arguments]));
          },
        },
      });
      const asked: unknown[] = [];
      const { toolset } = await connect([http(server.url)], {
        ...over(stack),
        elicitation: (request, { server: name }) => {
          asked.push([request.message, name]);
          return { action: 'accept', content: { berth: 12 } };
        },
      });

      const result = JSON.parse(String(await toolset.call('srv__book', { port: 'Brest' }))) as unknown;
      expect(result).toEqual([{ berth: { action: 'accept', content: { berth: 12 } } }, state, { port: 'Brest' }]);
      expect(asked).toEqual([['Which?', 'srv']]);
      const [first, second] = server.seen('tools/call');
      expect(second?.message.id).not.toBe(first?.message.id);
      expect(first?.message.params._meta[`${META}clientCapabilities`]).toMatchObject({
        elicitation: expect.any(Object),
      });
      expect(first?.message.params).not.toHaveProperty('requestState');
    });

    it('gathers all that is asked before it is sent again', async () => {
      const server = await statelessServer({
        tools: {
          t: ({ count, params, result, text }) => {
            const inputRequests = {
              a: question,
              b: {
                method: 'sampling/createMessage',
                params: { messages: [{ role: 'user', content: { type: 'text', text: 'hi' } }], maxTokens: 10 },
              },
              c: { method: 'roots/list' },
            };
            if (count === 1) result({ resultType: 'input_required', inputRequests });
            else text(JSON.stringify([params.inputResponses, 'requestState' in params]));
          },
        },
      });
      const { toolset } = await connect([http(server.url)], {
        ...over(stack),
        elicitation: () => ({ action: 'decline' }),
        sampling: () => ({ role: 'assistant', model: 'm', content: { type: 'text', text: 'hello' } }),
        roots: [{ uri: 'file:///work', name: 'work' }],
      });

      const [answers, hasState] = JSON.parse(String(await toolset.call('srv__t', {}))) as [
        Record<string, unknown>,
        boolean,
      ];
      expect(answers).toMatchObject({
        a: { action: 'decline' },
        b: { role: 'assistant', model: 'm', content: { type: 'text', text: 'hello' } },
        c: { roots: [{ uri: 'file:///work', name: 'work' }] },
      });
      expect(hasState).toBe(false);
      expect(server.seen('tools/call')).toHaveLength(2);
    });

    it('with nothing to ask is sent again at once, with the state alone', async () => {
      const server = await statelessServer({
        tools: {
          t: ({ count, params, result, text }) => {
            if (count < 3) result({ resultType: 'input_required', requestState: `s${count}` });
            else text(params.requestState as string);
          },
        },
      });
      const { toolset } = await connect([http(server.url)], over(stack));

      await expect(toolset.call('srv__t', {})).resolves.toBe('s2');
    });

    it('without end is given up', async () => {
      const server = await statelessServer({
        tools: { t: ({ result }) => result({ resultType: 'input_required', requestState: 'again' }) },
      });
      const { toolset } = await connect([http(server.url)], over(stack));
      const { ms } = await timed(() => mcpError(toolset.call('srv__t', {}), 'invalid-response'));

      expect(ms).toBeLessThan(5000);
      expect(server.seen('tools/call').length).toBeLessThanOrEqual(20);
    });

    it.each<[string, unknown]>([
      ['what there is no handler for', { a: question }],
      ['what nobody knows', { a: { method: 'shell/run', params: {} } }],
    ])('is an error when it asks for %s', async (_what, inputRequests) => {
      const server = await statelessServer({
        tools: { t: ({ result }) => result({ resultType: 'input_required', inputRequests }) },
      });
      const { toolset } = await connect([http(server.url)], over(stack));

      expect(await rejection(toolset.call('srv__t', {}))).toMatchObject({ name: 'McpError' });
      expect(server.seen('tools/call')).toHaveLength(1);
      expect(server.seen('tools/call')[0]?.message.params._meta[`${META}clientCapabilities`]).toEqual({});
    });

    it('ends when it is aborted while the handler thinks', async () => {
      const server = await statelessServer({
        tools: { t: ({ result }) => result({ resultType: 'input_required', inputRequests: { a: question } }) },
      });
      const controller = new AbortController();
      let heard = false;
      const { toolset } = await connect([http(server.url)], {
        ...over(stack),
        elicitation: (_request, { signal }) => {
          signal.addEventListener('abort', () => (heard = true));
          controller.abort();
          return new Promise(() => {});
        },
      });

      expect(await rejection(toolset.call('srv__t', {}, { signal: controller.signal }))).toMatchObject({
        name: 'AbortError',
      });
      await until('the handler to hear of it', () => heard);
      expect(server.seen('tools/call')).toHaveLength(1);
    });
  });
});
