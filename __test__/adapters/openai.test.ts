// `espalier/openai`, through the official client against an API that is written out. It wants a newer Node than the package.

import { answerOpenAiChatCall, answerOpenAiResponsesCall } from 'espalier/openai';
import { describe, expect, it } from 'vitest';

import { connect } from '../helpers/connect.js';
import { underNewerNode } from '../helpers/newer-node.js';
import { scripted, toolEntry } from '../helpers/scripted.js';
import { echoServer } from '../helpers/servers.js';

const API = `
  import OpenAI from 'openai';
  import { mcpTools } from 'espalier/node';
  import {
    answerOpenAiChatCall, answerOpenAiResponsesCall, toOpenAiChatTools, toOpenAiResponsesTools,
  } from 'espalier/openai';
  const requests = [];
  const clientThatGets = (...answers) => new OpenAI({
    apiKey: 'none',
    fetch: async (url, init) => {
      requests.push(JSON.parse(init.body));
      return Response.json(answers[requests.length - 1]);
    },
  });
`;

it('serves chat completions: tools in, calls out, answers in', { timeout: 60_000 }, async (context) => {
  const result = await underNewerNode(
    context,
    `${API}
    const toolset = await mcpTools([input]);
    const call = (id, name, args) => ({ id, type: 'function', function: { name, arguments: JSON.stringify(args) } });
    const answer = (message) => ({ choices: [{ index: 0, message: { role: 'assistant', ...message } }] });
    const client = clientThatGets(
      answer({ content: null, tool_calls: [call('a', 'echo__echo', { text: 'hello' }), call('b', 'echo__sum', { a: 2, b: 3 })] }),
      answer({ content: 'done' }),
    );
    const messages = [{ role: 'user', content: 'go' }];
    for (;;) {
      const { choices: [{ message }] } = await client.chat.completions.create({ model: 'm', messages, tools: toOpenAiChatTools(toolset) });
      messages.push(message);
      if (!message.tool_calls) break;
      for (const one of message.tool_calls) messages.push(await answerOpenAiChatCall(toolset, one));
    }
    await toolset.close();
    say('result', { requests, last: messages.at(-1) });`,
    echoServer(),
  );

  expect(result).toMatchObject({
    last: { content: 'done' },
    requests: [
      {
        tools: expect.arrayContaining([
          {
            type: 'function',
            function: {
              name: 'echo__sum',
              description: 'Adds two numbers.',
              parameters: expect.objectContaining({ type: 'object', properties: expect.any(Object) }),
            },
          },
        ]),
      },
      {
        messages: [
          { role: 'user' },
          { role: 'assistant' },
          { role: 'tool', tool_call_id: 'a', content: 'hello' },
          { role: 'tool', tool_call_id: 'b', content: '5' },
        ],
      },
    ],
  });
});

it('serves responses the same way', { timeout: 60_000 }, async (context) => {
  const result = await underNewerNode(
    context,
    `${API}
    const toolset = await mcpTools([input]);
    const client = clientThatGets(
      { output: [{ type: 'function_call', id: 'x', call_id: 'a', name: 'echo__echo', arguments: '{"text":"hello"}' }] },
      { output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'done' }] }] },
    );
    const items = [{ role: 'user', content: 'go' }];
    for (;;) {
      const { output } = await client.responses.create({ model: 'm', input: items, tools: toOpenAiResponsesTools(toolset) });
      const calls = output.filter(({ type }) => type === 'function_call');
      items.push(...output);
      if (calls.length === 0) break;
      for (const one of calls) items.push(await answerOpenAiResponsesCall(toolset, one));
    }
    await toolset.close();
    say('result', requests);`,
    echoServer(),
  );

  expect(result).toMatchObject([
    {
      tools: expect.arrayContaining([expect.objectContaining({ type: 'function', name: 'echo__sum', strict: false })]),
    },
    { input: [{ role: 'user' }, { call_id: 'a' }, { type: 'function_call_output', call_id: 'a', output: 'hello' }] },
  ]);
});

describe('a call of a model', () => {
  const chat = (name: string, args: string) => ({
    id: 'x',
    type: 'function' as const,
    function: { name, arguments: args },
  });

  it.each([
    ['that fails', 'echo__fail', '{}', /^Error: MCP tool error/],
    ['whose arguments are not JSON', 'echo__echo', '{"text":', /^Error: the arguments are not JSON/],
    ['of a tool that there is not', 'echo__nothing', '{}', /^Error: there is no tool named echo__nothing$/],
    ['of a prototype', '__proto__', '{}', /^Error: there is no tool named __proto__$/],
    ['without arguments', 'echo__structured', '', /^\{/],
  ])('%s is answered with a text', async (_, name, args, text) => {
    const { toolset } = await connect([echoServer()]);

    expect((await answerOpenAiChatCall(toolset, chat(name, args))).content).toMatch(text);
    const call = { type: 'function_call' as const, call_id: 'x', name, arguments: args };
    expect((await answerOpenAiResponsesCall(toolset, call)).output).toMatch(text);
  });

  it('that is aborted rejects', async () => {
    const slow = scripted('slow', { tools: [toolEntry('wait')], calls: { wait: [[]] } });
    const { toolset } = await connect([slow.config]);
    const controller = new AbortController();
    const answered = answerOpenAiChatCall(toolset, chat('slow__wait', '{}'), { signal: controller.signal });
    await slow.waitFor('tools/call');
    controller.abort();

    await expect(answered).rejects.toMatchObject({ name: 'AbortError' });
  });
});
