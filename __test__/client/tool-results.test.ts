import { describe, expect, it } from 'vitest';

import { connect } from '../helpers/connect.js';
import { mcpError } from '../helpers/errors.js';
import { scripted, toolEntry } from '../helpers/scripted.js';
import { vectors } from '../helpers/vectors.js';

/** Calls a tool whose server answers with `resultText`, JSON text as it stands. */
async function callFor(resultText: string, entry: Record<string, unknown> = {}): Promise<unknown> {
  const server = scripted('srv', { tools: [toolEntry('t', entry)], calls: { t: [[{ replyText: resultText }]] } });
  const { toolset } = await connect([server.config]);
  return toolset.call('srv__t', {});
}

describe('the value of a call', () => {
  const values = vectors.toolResults.filter((vector) => 'value' in vector);
  it.each(values.map(({ result, value }) => [JSON.stringify(result), value]))(
    'is what the reference gives for %s',
    async (resultText, value) => {
      expect(await callFor(resultText)).toEqual(value);
    },
  );

  it.each<[string, unknown]>([
    ['{"structuredContent":{"a":1}}', { a: 1 }],
    ['{"content":[],"structuredContent":{"a":1}}', { a: 1 }],
    ['{"content":null,"structuredContent":{"a":1}}', { a: 1 }],
    ['{"content":null}', null],
    ['{"content":[{"type":"text","text":"t"}],"structuredContent":null}', 't'],
    ['{"content":[{"type":"text","text":"t"}],"structuredContent":false}', false],
    ['{"content":[{"type":"text","text":"t"}],"structuredContent":0}', 0],
    ['{"content":[{"type":"text","text":"t"}],"structuredContent":""}', ''],
    ['{"content":[{"type":"text","text":"t"}],"structuredContent":[1,[2]]}', [1, [2]]],
    ['{"content":[{"type":"text","text":"t"}],"isError":false}', 't'],
    ['{"content":[{"type":"text","text":"t"}],"isError":null}', 't'],
  ])('is the structured content where there is any, and else the text: %s', async (resultText, value) => {
    expect(await callFor(resultText)).toEqual(value);
  });

  it('keeps content of kinds that nobody knows yet', async () => {
    const content = [
      { type: 'hologram', data: { depth: 3 }, _meta: { a: 1 } },
      { type: 'resource_link', uri: 'x://y', name: 'y' },
    ];

    expect(await callFor(JSON.stringify({ content }))).toEqual(content);
  });

  it.each([
    ['half a surrogate pair', '{"a":"\\ud800","\\udfff":1}'],
    ['a number beyond the range of a double', '{"a":1e400,"b":-1e400,"c":1e-400}'],
    [
      'integers that a double cannot hold',
      '{"a":9007199254740993,"b":-9007199254740993,"c":123456789012345678901234567890}',
    ],
    ['a member named __proto__', '{"__proto__":{"x":1},"constructor":2}'],
    ['a repeated member', '{"a":1,"a":2}'],
    ['integer-like keys', '{"b":1,"10":2,"2":3}'],
    ['NUL and other control characters', '{"a":"\\u0000\\u0001\\u2028\\u2029"}'],
    ['white space between the tokens', '{ "a" :\t[ 1 , 2 ] }'],
    ['300 levels of nesting', `{"a":${'['.repeat(300)}${']'.repeat(300)}}`],
  ])('is what JSON.parse gives for %s', async (_what, structured) => {
    const value = await callFor(`{"content":[],"structuredContent":${structured}}`);

    const expected: unknown = JSON.parse(structured);
    expect(value).toStrictEqual(expected);
    expect(JSON.stringify(value)).toBe(JSON.stringify(expected));
  });

  it('keeps text with half a surrogate pair, with characters beyond the BMP and with line separators', async () => {
    const text = 'a\ud800b — 价格 ✅ 😀 \u2028 \u0000';

    expect(await callFor(JSON.stringify({ content: [{ type: 'text', text }] }))).toBe(text);
  });

  it('does not end the process when it is nested 100,000 levels deep', async () => {
    const server = scripted('srv', {
      tools: [toolEntry('deep'), toolEntry('t')],
      calls: {
        deep: [[{ replyText: `{"content":[],"structuredContent":${'['.repeat(100_000)}${']'.repeat(100_000)}}` }]],
      },
    });
    const { toolset } = await connect([server.config]);

    await toolset.call('srv__deep', {}).catch(() => undefined);
    await expect(toolset.call('srv__t', { a: 1 })).resolves.toBe('{"tool":"t","arguments":{"a":1}}');
  });
});

describe('a result that reports an error', () => {
  it.each<[string, string]>([
    [
      '{"content":[{"type":"text","text":" bad "},{"type":"image","data":"AAAA","mimeType":"image/png"}],"isError":true}',
      'MCP tool error: bad',
    ],
    ['{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"isError":true}', 'MCP tool error: a\nb'],
    ['{"content":[{"type":"text","text":"a"}],"structuredContent":{"x":1},"isError":true}', 'MCP tool error: a'],
    ['{"content":[],"isError":true}', 'MCP tool returned an error result'],
    ['{"isError":true}', 'MCP tool returned an error result'],
    [
      '{"content":[{"type":"image","data":"AAAA","mimeType":"image/png"}],"isError":true}',
      'MCP tool returned an error result',
    ],
    ['{"content":[{"type":"text","text":"  \\n "}],"isError":true}', 'MCP tool returned an error result'],
  ])('rejects with `tool-error` and its text: %s', async (resultText, message) => {
    const error = await mcpError(callFor(resultText), 'tool-error');

    expect(error.message).toBe(message);
    expect(error.name).toBe('McpError');
  });
});

describe('a result that is none', () => {
  it.each(['null', '5', '"text"', '[]'])(
    'rejects with `invalid-response`, and the connection stays: %s',
    async (resultText) => {
      const server = scripted('srv', {
        tools: [toolEntry('t'), toolEntry('u')],
        calls: { t: [[{ replyText: resultText }]] },
      });
      const { toolset } = await connect([server.config]);

      await mcpError(toolset.call('srv__t', {}), 'invalid-response');
      await expect(toolset.call('srv__u', {})).resolves.toContain('"tool":"u"');
    },
  );
});

describe('an error reply', () => {
  it('rejects with `server-error` and carries code, message and data', async () => {
    const wire = { code: -32_602, message: 'Unknown tool: t', data: { hint: ['x', 1, null] } };
    const server = scripted('srv', { tools: [toolEntry('t')], calls: { t: [[{ error: wire }]] } });
    const { toolset } = await connect([server.config]);

    const error = await mcpError(toolset.call('srv__t', {}), 'server-error');
    expect(error.data).toEqual(wire);
    expect(error.message).toContain('Unknown tool: t');
  });

  it('without data has none', async () => {
    const server = scripted('srv', {
      tools: [toolEntry('t')],
      calls: { t: [[{ error: { code: 7, message: 'no' } }]] },
    });
    const { toolset } = await connect([server.config]);

    const error = await mcpError(toolset.call('srv__t', {}), 'server-error');
    expect(error.data).toMatchObject({ code: 7, message: 'no' });
    expect((error.data as { data?: unknown }).data).toBeUndefined();
  });

  it('leaves the server ready for the next call', async () => {
    const server = scripted('srv', {
      tools: [toolEntry('t')],
      calls: { t: [[{ error: { code: -32_603, message: 'once' } }], [{ default: true }]] },
    });
    const { toolset } = await connect([server.config]);

    await mcpError(toolset.call('srv__t', {}), 'server-error');
    await expect(toolset.call('srv__t', {})).resolves.toContain('"tool":"t"');
  });
});

describe('a result checked against the output schema of its tool', () => {
  const outputSchema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };

  it('passes when it fits', async () => {
    expect(await callFor('{"content":[],"structuredContent":{"n":1}}', { outputSchema })).toEqual({ n: 1 });
  });

  it('rejects with `output-schema` when it does not, and says so', async () => {
    const error = await mcpError(
      callFor('{"content":[],"structuredContent":{"n":"one"}}', { outputSchema }),
      'output-schema',
    );

    expect(error.message).toContain('output schema');
  });

  it('is not checked when it reports an error, or holds no structured content', async () => {
    const server = scripted('srv', {
      tools: [toolEntry('fails', { outputSchema }), toolEntry('plain', { outputSchema })],
      calls: {
        fails: [
          [{ reply: { content: [{ type: 'text', text: 'no' }], structuredContent: { n: 'one' }, isError: true } }],
        ],
        plain: [[{ reply: { content: [{ type: 'text', text: 'prose' }] } }]],
      },
    });
    const { toolset } = await connect([server.config]);

    await mcpError(toolset.call('srv__fails', {}), 'tool-error');
    await expect(toolset.call('srv__plain', {})).resolves.toBe('prose');
  });
});

describe('a reply that is none', () => {
  it.each([
    ['has neither a result nor an error', '{"jsonrpc":"2.0","id":$id}'],
    ['has an error of null', '{"jsonrpc":"2.0","id":$id,"error":null}'],
    ['has a result of null', '{"jsonrpc":"2.0","id":$id,"result":null}'],
    ['has a result of null and an error of null', '{"jsonrpc":"2.0","id":$id,"result":null,"error":null}'],
  ])('fails its call at once, with `invalid-response`: it %s', async (_what, line) => {
    const server = scripted('srv', { tools: [toolEntry('t')], calls: { t: [[line]] } });
    const { toolset } = await connect([server.config]);

    await mcpError(toolset.call('srv__t', {}, { timeoutMs: 5000 }), 'invalid-response');
  });
});

it('a reply with the id as text belongs to its call', async () => {
  const line = '{"jsonrpc":"2.0","id":"$id","result":{"content":[{"type":"text","text":"mine"}]}}';
  const server = scripted('srv', { tools: [toolEntry('t')], calls: { t: [[line]] } });
  const { toolset, diagnostics } = await connect([server.config]);

  await expect(toolset.call('srv__t', {}, { timeoutMs: 5000 })).resolves.toBe('mine');
  expect(diagnostics).toEqual([]);
});
