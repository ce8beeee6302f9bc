// From the core's catalogue to the tools that an agent holds.

import { describe } from '../describe.js';
import { McpError } from '../errors.js';
import type { AnyTool, ToolContext, ToolInput } from '../types/client.js';

/** One entry of the catalogue that the core made. */
export interface CatalogEntry {
  name: string;
  /** The configured name of the server. */
  server: string;
  /** Whether it is reached by URL, and so by credentials. */
  remote: boolean;
  description: string;
  inputSchema: unknown;
}

/** Calls a tool by name; the signal and the call id come from the framework's context. */
export type Invoke = (name: string, args: unknown, context: ToolContext | undefined) => Promise<unknown>;

/** The map of tools. It has no prototype, so that a tool may have any name. */
export function buildTools(catalog: CatalogEntry[], invoke: Invoke): Record<string, AnyTool> {
  const tools = Object.create(null) as Record<string, AnyTool>;
  for (const entry of catalog) tools[entry.name] = buildTool(entry, invoke);
  return tools;
}

/** Arguments as the protocol has them: an object. */
function toArguments(value: unknown): Record<string, unknown> {
  if (value === undefined) return {};
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject ? (value as Record<string, unknown>) : { value };
}

/** Arguments as JSON text. Throws `invalid-arguments` for what has no JSON form, or one that is no object. */
export function encodeArguments(tool: string, value: unknown): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(toArguments(value));
  } catch (cause) {
    throw new McpError('invalid-arguments', `the arguments of ${tool} cannot be written as JSON: ${describe(cause)}`, {
      cause,
    });
  }
  if (!text?.startsWith('{')) {
    throw new McpError('invalid-arguments', `the arguments of ${tool} do not become a JSON object`);
  }
  return text;
}

function buildTool(entry: CatalogEntry, invoke: Invoke): AnyTool {
  const { name, description } = entry;
  return {
    name,
    description,
    input: buildInput(entry.inputSchema),
    replay: true,
    execute: (args, context) => invoke(name, args, context),
  };
}

function buildInput(schema: unknown): ToolInput {
  const copy = (): unknown => structuredClone(schema);
  return {
    '~standard': {
      version: 1,
      vendor: 'espalier',
      validate: (value) => ({ value: toArguments(value) }),
      jsonSchema: { input: copy, output: copy },
    },
  };
}
