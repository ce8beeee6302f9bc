// What a catalogue costs and how it reads as a text, for whoever writes a system prompt by hand.

import { native } from '../native.js';
import type { McpDisclosure } from '../types/client.js';

/** How many tokens the definitions of one server's tools may take before schemas are deferred: 20,000. */
export const DEFAULT_DISCLOSURE_BUDGET_TOKENS: number = native.NATIVE_DEFAULT_DISCLOSURE_BUDGET_TOKENS;

/** The name of the tool that gives the full schema of a deferred one: `mcp__describe_tool`. */
export const MCP_DESCRIBE_TOOL: string = native.NATIVE_MCP_DESCRIBE_TOOL;

/** The schema of a tool that has none. */
const NO_SCHEMA = { type: 'object' };

/**
 * The tools of a map as a text: of each its description and, on the next line, its input schema as compact JSON. The map
 * may hold other tools beside those of a toolset. What is deferred in the map is deferred in the text: `options` is
 * accepted and changes nothing.
 *
 * @example
 * const prompt = composeMcpSystemPrompt({ ...toolset.tools });
 */
export function composeMcpSystemPrompt(
  tools: Readonly<Record<string, unknown>>,
  _options?: { disclosure?: McpDisclosure },
): string {
  return Object.entries(tools)
    .map(([name, tool]) => {
      const { description, input } = isObject(tool) ? tool : {};
      return `${typeof description === 'string' ? description : name}\n${schemaText(input)}`;
    })
    .join('\n');
}

/**
 * What tools take at least, in tokens, with every schema deferred: names and descriptions are always seen.
 *
 * @example
 * const tokens = catalogTokens(Object.values(toolset.tools));
 */
export function catalogTokens(tools: readonly { name: string; description?: string | undefined }[]): number {
  return native.nativeCatalogTokens(tools.map(({ name, description }) => description ?? name));
}

function schemaText(input: unknown): string {
  return JSON.stringify(schemaOf(input) ?? NO_SCHEMA) ?? JSON.stringify(NO_SCHEMA);
}

function schemaOf(input: unknown): unknown {
  if (!isObject(input) || !isObject(input['~standard'])) return input;
  const { jsonSchema } = input['~standard'];
  if (!isObject(jsonSchema) || typeof jsonSchema['input'] !== 'function') return undefined;
  try {
    return (jsonSchema['input'] as (options: { target: string }) => unknown)({ target: 'draft-2020-12' });
  } catch {
    // Some libraries refuse what JSON Schema cannot say: then nothing is said.
    return undefined;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}
