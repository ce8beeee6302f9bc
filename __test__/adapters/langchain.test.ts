// `espalier/langchain`, with the real class.

import { DynamicStructuredTool } from '@langchain/core/tools';
import { convertToOpenAITool } from '@langchain/core/utils/function_calling';
import { toLangChainTools } from 'espalier/langchain';
import { expect, it } from 'vitest';

import { connect } from '../helpers/connect.js';
import { scripted, toolEntry } from '../helpers/scripted.js';
import { echoServer } from '../helpers/servers.js';

it('gives tools of the framework, which call the server', async () => {
  const { toolset } = await connect([echoServer()]);
  const tools = toLangChainTools(toolset, DynamicStructuredTool);

  expect(tools.map(({ name }) => name)).toEqual(Object.keys(toolset.tools));
  expect(tools.every((tool) => tool instanceof DynamicStructuredTool)).toBe(true);
  const sum = tools.find(({ name }) => name === 'echo__sum');
  expect(sum?.description).toBe('Adds two numbers.');
  expect(await sum?.invoke({ a: 2, b: 40 })).toBe('42');
  expect(sum && convertToOpenAITool(sum)).toMatchObject({
    type: 'function',
    function: { name: 'echo__sum', parameters: { type: 'object', properties: { a: {}, b: {} } } },
  });
});

it('answers a call of a model with a message, and what is no text as JSON', async () => {
  const { toolset } = await connect([echoServer()]);
  const structured = toLangChainTools(toolset, DynamicStructuredTool).find(({ name }) => name === 'echo__structured');

  const message: unknown = await structured?.invoke({
    type: 'tool_call',
    id: 'call-1',
    name: 'echo__structured',
    args: {},
  });
  expect(message).toMatchObject({ tool_call_id: 'call-1', name: 'echo__structured' });
  const { content } = message as { content: string };
  expect(JSON.parse(content)).toEqual(await toolset.call('echo__structured'));
});

it('lets failures and aborts be those of the framework', async () => {
  const slow = scripted('slow', { tools: [toolEntry('wait')], calls: { wait: [[]] } });
  const { toolset } = await connect([echoServer(), slow.config]);
  const tools = toLangChainTools(toolset, DynamicStructuredTool);
  const named = (name: string) => tools.find((tool) => tool.name === name);

  await expect(named('echo__fail')?.invoke({})).rejects.toThrow('MCP tool error');
  const controller = new AbortController();
  const answered = named('slow__wait')?.invoke({}, { signal: controller.signal });
  await slow.waitFor('tools/call');
  controller.abort();
  await expect(answered).rejects.toThrow();
  await slow.waitFor('notifications/cancelled');
});

it('passes the session on to whoever gives credentials', async () => {
  const { toolset } = await connect([echoServer()]);
  const contexts: unknown[] = [];
  const tools = Object.fromEntries(
    Object.entries(toolset.tools).map(([name, tool]) => [
      name,
      { ...tool, execute: async (_args?: unknown, context?: unknown) => void contexts.push(context) },
    ]),
  );
  const [first] = toLangChainTools({ tools }, DynamicStructuredTool, { session: { user: 7 } });
  await first?.invoke({ text: 'x' });

  expect(contexts).toEqual([expect.objectContaining({ session: { user: 7 } })]);
});
