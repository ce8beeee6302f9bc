// `espalier/openai`: the tools of a toolset for chat completions and for responses, and the answers to their calls. Plain
// objects as the API takes them: the framework is not imported.

import { type AdapterOptions, type ObjectSchema, type ToolSource, answerOf, objectSchema } from './common.js';

/** A function tool of chat completions. */
export interface OpenAiChatTool {
  type: 'function';
  function: { name: string; description: string; parameters: ObjectSchema };
}

/** A function tool of responses. */
export interface OpenAiResponsesTool {
  type: 'function';
  name: string;
  description: string;
  parameters: ObjectSchema;
  /** Not strict: the schemas are those of the servers. */
  strict: false;
}

/** A call as a message of chat completions holds it. */
export interface OpenAiChatCall {
  id: string;
  type: 'function';
  function: { name: string; arguments: string };
}

/** A call as the output of a response holds it. */
export interface OpenAiResponsesCall {
  type: 'function_call';
  call_id: string;
  name: string;
  arguments: string;
}

/** How a call is answered. */
export interface OpenAiCallOptions extends AdapterOptions {
  signal?: AbortSignal;
}

/**
 * The tools as `chat.completions.create` takes them, as they are now.
 *
 * @example
 * const completion = await client.chat.completions.create({ model, messages, tools: toOpenAiChatTools(toolset) });
 */
export function toOpenAiChatTools(toolset: ToolSource): OpenAiChatTool[] {
  return Object.values(toolset.tools).map((tool) => ({
    type: 'function',
    function: { name: tool.name, description: tool.description, parameters: objectSchema(tool) },
  }));
}

/**
 * The tools as `responses.create` takes them, as they are now.
 *
 * @example
 * const response = await client.responses.create({ model, input, tools: toOpenAiResponsesTools(toolset) });
 */
export function toOpenAiResponsesTools(toolset: ToolSource): OpenAiResponsesTool[] {
  return Object.values(toolset.tools).map((tool) => ({
    type: 'function',
    name: tool.name,
    description: tool.description,
    parameters: objectSchema(tool),
    strict: false,
  }));
}

/**
 * Makes a call of a chat completion, and gives the message that answers it. A failure is text in it, for the model to read;
 * only an abort rejects, with an `AbortError`.
 *
 * @example
 * messages.push(await answerOpenAiChatCall(toolset, call));
 */
export async function answerOpenAiChatCall(
  toolset: ToolSource,
  call: OpenAiChatCall,
  options: OpenAiCallOptions = {},
): Promise<{ role: 'tool'; tool_call_id: string; content: string }> {
  const { name, arguments: args } = call.function;
  const content = await answerOf(toolset, name, args, { ...options, toolCallId: call.id });
  return { role: 'tool', tool_call_id: call.id, content };
}

/**
 * Makes a call of a response, and gives the item that answers it, as {@link answerOpenAiChatCall} does.
 *
 * @example
 * input.push(await answerOpenAiResponsesCall(toolset, item));
 */
export async function answerOpenAiResponsesCall(
  toolset: ToolSource,
  call: OpenAiResponsesCall,
  options: OpenAiCallOptions = {},
): Promise<{ type: 'function_call_output'; call_id: string; output: string }> {
  const output = await answerOf(toolset, call.name, call.arguments, { ...options, toolCallId: call.call_id });
  return { type: 'function_call_output', call_id: call.call_id, output };
}
