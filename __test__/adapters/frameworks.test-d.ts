// What the adapters give fits the types of the frameworks. Compiled only.

import { DynamicStructuredTool } from '@langchain/core/tools';
import { generateText, type LanguageModel, type ToolSet } from 'ai';
import { toAiSdkTools } from 'espalier/ai-sdk';
import { toLangChainTools } from 'espalier/langchain';
import type { McpToolset } from 'espalier/node';
import {
  answerOpenAiChatCall,
  answerOpenAiResponsesCall,
  toOpenAiChatTools,
  toOpenAiResponsesTools,
} from 'espalier/openai';
import type OpenAI from 'openai';
import type {
  ChatCompletionMessageFunctionToolCall,
  ChatCompletionTool,
  ChatCompletionToolMessageParam,
} from 'openai/resources/chat/completions';
import type { FunctionTool, ResponseFunctionToolCall, ResponseInputItem } from 'openai/resources/responses/responses';

export async function aiSdk(toolset: McpToolset, model: LanguageModel): Promise<string> {
  const tools: ToolSet = toAiSdkTools(toolset);
  await generateText({ model, prompt: 'go', tools });
  return (await generateText({ model, prompt: 'go', tools: toAiSdkTools(toolset, { session: 'a' }) })).text;
}

export async function openAi(
  toolset: McpToolset,
  client: OpenAI,
  chatCall: ChatCompletionMessageFunctionToolCall,
  call: ResponseFunctionToolCall,
): Promise<void> {
  const tools: ChatCompletionTool[] = toOpenAiChatTools(toolset);
  const messages: ChatCompletionToolMessageParam[] = [await answerOpenAiChatCall(toolset, chatCall)];
  await client.chat.completions.create({ model: 'm', messages, tools });
  const functions: FunctionTool[] = toOpenAiResponsesTools(toolset);
  const input: ResponseInputItem[] = [await answerOpenAiResponsesCall(toolset, call)];
  await client.responses.create({ model: 'm', input, tools: functions });
}

export function langChain(toolset: McpToolset): DynamicStructuredTool[] {
  return toLangChainTools(toolset, DynamicStructuredTool);
}
