// What becomes of `notifications/tools/list_changed`.

import { describe, expect, it } from 'vitest';

import { changing, LIST_CHANGED, poke, POKE } from '../helpers/changing.js';
import { connect, tool } from '../helpers/connect.js';
import { mcpError } from '../helpers/errors.js';
import { scripted, toolEntry } from '../helpers/scripted.js';
import { until } from '../helpers/until.js';

const OLD = toolEntry('t', { description: 'Old.' });
const NEW = toolEntry('t', { description: 'New.', inputSchema: { type: 'object', title: 'new' } });

describe("`onListChanged: 'apply'`", () => {
  it('shows what the server lists now, in the same map and in its order', async () => {
    const server = changing('b', [
      [OLD, toolEntry('gone')],
      [toolEntry('first'), NEW, toolEntry('9'), toolEntry('10')],
    ]);
    const servers = [
      scripted('a', { tools: [toolEntry('z')] }).config,
      server.config,
      scripted('c', { tools: [OLD] }).config,
    ];
    const { toolset, diagnostics } = await connect(servers, { onListChanged: 'apply' });
    const { tools } = toolset;
    const before = { ...tools };
    await poke(toolset, 'b');

    expect(toolset.tools).toBe(tools);
    expect(Object.keys(tools)).toEqual(['a__z', 'b__poke', 'b__first', 'b__t', 'b__9', 'b__10', 'c__t']);
    expect(tool(toolset, 'b__t').description).toBe('New.');
    expect(tool(toolset, 'b__t').input['~standard'].jsonSchema.input()).toEqual(NEW['inputSchema']);
    expect(await toolset.call('b__first')).toContain('first');
    expect(toolset.servers().map(({ tools: count }) => count)).toEqual([1, 5, 1]);
    expect(diagnostics).toEqual([]);
    // What stayed as it was is the same tool, and a copy of the map keeps what it had.
    expect(tools['c__t']).toBe(before['c__t']);
    expect(before['b__t']?.description).toBe('Old.');
    await mcpError(toolset.call('b__gone'), 'not-published');
  });

  it('chooses the tier anew', async () => {
    const long = toolEntry('long', {
      description: 'word '.repeat(50),
      inputSchema: { type: 'object', title: 'x'.repeat(999) },
    });
    const server = changing('s', [[], [long], []]);
    const { toolset } = await connect([server.config], { onListChanged: 'apply', disclosure: { budget: 200 } });
    await poke(toolset, 's');

    expect(toolset.servers()[0]?.disclosure.tier).toBe('names');
    expect(Object.keys(toolset.tools)).toEqual(['s__poke', 's__long', 'mcp__describe_tool']);
    await poke(toolset, 's');
    expect(Object.keys(toolset.tools)).toEqual(['s__poke']);
  });
});

it("`onListChanged: 'ignore'` lists nothing again", async () => {
  const ignored = changing('s', [[OLD], [NEW]]);
  const heard = changing('s', [[OLD], [NEW]]);
  const { toolset } = await connect([ignored.config], { onListChanged: 'ignore' });
  const { toolset: other } = await connect([heard.config], { onListChanged: 'apply' });
  await toolset.call('s__poke');
  // By the time that the other toolset has done it, this one would have as well.
  await poke(other, 's');
  await toolset.call('s__poke');

  expect(ignored.received('tools/list')).toHaveLength(1);
  expect(tool(toolset, 's__t').description).toBe('Old.');
});

it('any other `onListChanged` is refused', async () => {
  const error = await mcpError(connect([], { onListChanged: 'reload' as never }), 'invalid-option');
  expect(error.message).toContain('onListChanged');
});

describe('the change event', () => {
  it('names the server and what changed, and says nothing when nothing did', async () => {
    const server = changing('s', [[OLD], [OLD], [NEW]]);
    const { toolset } = await connect([server.config], { onListChanged: 'apply' });
    const events: unknown[] = [];
    toolset.on('change', (event) => events.push(event));
    await toolset.call('s__poke');
    await server.waitFor('tools/list', 2);
    await poke(toolset, 's');

    expect(events).toEqual([{ server: 's', what: 'tools' }]);
    expect(server.received('tools/list')).toHaveLength(3);
  });
});

describe('a burst', () => {
  it('is one listing and one to follow, and the last change is not missed', async () => {
    const reply = (tools: unknown[]): { reply: unknown } => ({ reply: { tools: [POKE, ...tools] } });
    const server = scripted('s', {
      on: {
        'tools/list': [
          [reply([OLD])],
          // While it is under way, and right after its answer, the list changes again.
          [{ repeat: [LIST_CHANGED], times: 100 }, reply([OLD]), LIST_CHANGED],
          [reply([toolEntry('last')])],
        ],
      },
      calls: { poke: [[{ repeat: [LIST_CHANGED], times: 200 }, { default: true }]] },
    });
    const { toolset } = await connect([server.config], { onListChanged: 'apply' });
    await poke(toolset, 's');

    expect(Object.keys(toolset.tools)).toEqual(['s__poke', 's__last']);
    expect(server.received('tools/list')).toHaveLength(3);
  });

  it('during connecting is heard afterwards', async () => {
    const server = scripted('s', {
      on: {
        'tools/list': [
          [{ repeat: [LIST_CHANGED], times: 3 }, { reply: { tools: [OLD] } }],
          [{ reply: { tools: [NEW] } }],
        ],
      },
    });
    const { toolset } = await connect([server.config], { onListChanged: 'apply' });

    await until('the new tool', () => tool(toolset, 's__t').description === 'New.');
    expect(server.received('tools/list')).toHaveLength(2);
  });
});

describe('a server that cannot be listed again', () => {
  it.each([
    ['answers with an error', [{ error: { code: -32_603, message: 'out of order' } }], 'out of order'],
    ['answers with what is no listing', [{ reply: { tools: 'none' } }], 'tools'],
    ['never answers', [], 'did not answer `tools/list` within'],
  ])('because it %s keeps its tools, and that is told', async (_, steps, words) => {
    const server = changing('s', [[OLD]], {
      on: { 'tools/list': [[{ reply: { tools: [POKE, OLD] } }], steps, [{ reply: { tools: [POKE, NEW] } }]] },
    });
    const { toolset, of } = await connect([{ ...server.config, ...(steps.length === 0 ? { timeoutMs: 5_000 } : {}) }], {
      onListChanged: 'apply',
    });
    await toolset.call('s__poke');

    const [told] = await until('a diagnostic', () => of('connection-failure').length > 0 && of('connection-failure'));
    expect(told).toMatchObject({ origin: 's', message: expect.stringContaining(words) });
    expect(tool(toolset, 's__t').description).toBe('Old.');
    // And the next time it can.
    await poke(toolset, 's');
    expect(tool(toolset, 's__t').description).toBe('New.');
  });

  it('because the toolset is closed leaves nothing behind', async () => {
    const server = changing('s', [[OLD]], { on: { 'tools/list': [[{ reply: { tools: [POKE, OLD] } }], []] } });
    const { toolset, diagnostics } = await connect([server.config]);
    await toolset.call('s__poke');
    await server.waitFor('tools/list', 2);
    await toolset.close();

    expect(diagnostics).toEqual([]);
  });
});
