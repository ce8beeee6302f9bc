// `espalier/ai-sdk`: the tools of a toolset for the AI SDK, version 7. The framework is not imported: its schemas are told by
// a symbol that every copy of it shares.

import type { AnyTool } from '../types/client.js';
import { type AdapterOptions, type ToolSource, isObject, objectSchema, textOf } from './common.js';

/** A tool as `generateText`, `streamText` and agents of the AI SDK take it. */
export interface AiSdkTool {
  type: 'dynamic';
  description: string;
  inputSchema: AiSdkSchema;
  execute(input: unknown, options: { toolCallId: string; abortSignal?: AbortSignal | undefined }): Promise<unknown>;
  toModelOutput(result: { output: unknown }): AiSdkOutput;
}

/** A schema that lets everything pass: the server is the authority on its tools. */
export interface AiSdkSchema {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => { value: unknown };
  };
}

/** What a model reads of a result. */
export type AiSdkOutput =
  | { type: 'text'; value: string }
  | { type: 'execution-denied'; reason: string }
  | { type: 'content'; value: (AiSdkText | AiSdkFile)[] };

interface AiSdkText {
  type: 'text';
  text: string;
}

interface AiSdkFile {
  type: 'file';
  mediaType: string;
  data: { type: 'data'; data: string };
}

/**
 * The tools of a toolset as the AI SDK takes them, as they are now: ask again for each turn, and what changed meanwhile is
 * seen.
 *
 * @example
 * const { text } = await generateText({ model, tools: toAiSdkTools(toolset), prompt });
 */
export function toAiSdkTools(toolset: ToolSource, options: AdapterOptions = {}): Record<string, AiSdkTool> {
  const tools = Object.create(null) as Record<string, AiSdkTool>;
  for (const [name, tool] of Object.entries(toolset.tools)) tools[name] = toAiSdkTool(tool, options);
  return tools;
}

function toAiSdkTool(tool: AnyTool, { session }: AdapterOptions): AiSdkTool {
  return {
    type: 'dynamic',
    description: tool.description,
    inputSchema: toSchema(tool),
    execute: (input, { toolCallId, abortSignal }) => tool.execute(input, { toolCallId, abortSignal, session }),
    toModelOutput: ({ output }) => toOutput(output),
  };
}

const SCHEMA = Symbol.for('vercel.ai.schema');
const PASSES = (value: unknown): { success: true; value: unknown } => ({ success: true, value });

// A schema of the AI SDK is taken as it is. From a Standard Schema, which this is as well, it would make a stricter one.
function toSchema(tool: AnyTool): AiSdkSchema {
  return Object.defineProperties(
    { '~standard': { version: 1, vendor: 'espalier', validate: (value: unknown) => ({ value }) } } as const,
    {
      [SCHEMA]: { value: true },
      validate: { value: PASSES },
      jsonSchema: { get: () => objectSchema(tool) },
    },
  );
}

function toOutput(output: unknown): AiSdkOutput {
  if (isObject(output) && output['__denied'] === true) {
    return { type: 'execution-denied', reason: String(output['message']) };
  }
  const files = Array.isArray(output) ? output.map(toContent) : [];
  return files.some((part) => part.type === 'file')
    ? { type: 'content', value: files }
    : { type: 'text', value: textOf(output) };
}

/** A content block of the protocol: images and sound are files, and the rest is text. */
function toContent(block: unknown): AiSdkText | AiSdkFile {
  if (isObject(block) && (block['type'] === 'image' || block['type'] === 'audio')) {
    const { data, mimeType } = block;
    if (typeof data === 'string' && typeof mimeType === 'string') {
      return { type: 'file', mediaType: mimeType, data: { type: 'data', data } };
    }
  }
  return { type: 'text', text: textOf(block) };
}
