// What the adapters share: where tools come from, the schemas that model providers accept, and results as text.

import { describe } from '../describe.js';
import { AbortError } from '../errors.js';
import type { AnyTool, ToolContext } from '../types/client.js';

/** A toolset, or whatever else has a map of tools. */
export interface ToolSource {
  readonly tools: Readonly<Record<string, AnyTool>>;
}

/** What calls are made with. */
export interface AdapterOptions {
  /** The session of the calls, where credentials are given by session; that of the toolset by default. */
  session?: unknown;
}

/** A JSON Schema of an object, with `properties`. */
export interface ObjectSchema {
  [keyword: string]: unknown;
  type: 'object';
  properties: Record<string, unknown>;
}

/**
 * The schema of a tool's input in the form that model providers ask for: that of an object, with an object `properties`.
 * Everything else in it stays. A provider refuses a whole request for one schema of another form.
 */
export function objectSchema(tool: AnyTool): ObjectSchema {
  const schema = tool.input['~standard'].jsonSchema.input();
  if (!isObject(schema)) return { type: 'object', properties: {} };
  const { properties } = schema;
  return { ...schema, type: 'object', properties: isObject(properties) ? properties : {} };
}

/** What a call gave, as text for a model. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? 'null');
}

/** Calls a tool for a model: a failure becomes text, which the model can act on; an abort stays one. */
export async function answerOf(source: ToolSource, name: string, args: string, context: ToolContext): Promise<string> {
  const tool = Object.hasOwn(source.tools, name) ? source.tools[name] : undefined;
  if (tool === undefined) return `Error: there is no tool named ${name}`;
  try {
    return textOf(await tool.execute(args.trim() === '' ? {} : JSON.parse(args), context));
  } catch (error) {
    if (error instanceof AbortError) throw error;
    return error instanceof SyntaxError
      ? `Error: the arguments are not JSON: ${error.message}`
      : `Error: ${describe(error)}`;
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
