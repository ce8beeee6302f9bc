// From the core's catalogue to the tools that an agent holds.

import { describe } from '../describe.js';
import { McpError } from '../errors.js';
import { MCP_DESCRIBE_TOOL } from './prompt.js';
import type { AnyTool, ToolContext, ToolInput } from '../types/client.js';

/** One tool of the catalogue that the core made. */
export interface CatalogEntry {
  readonly name: string;
  /** The configured name of the server. */
  readonly server: string;
  /** Whether a call of it needs a credential, where there are any. */
  readonly credentials: boolean;
  readonly description: string;
  /** The JSON text of its schema. */
  readonly schema: string;
}

/** Calls a tool by name; the signal and the call id come from the framework's context. */
export type Invoke = (name: string, args: unknown, context: ToolContext | undefined) => Promise<unknown>;

/**
 * Reads the core's text: a line of JSON with the entries, and behind it the texts of their schemas, one after the other.
 * They stay texts until somebody looks at one: they are most of a catalogue, and few of them are ever looked at here.
 */
export function readCatalog(text: string): CatalogEntry[] {
  const end = text.indexOf('\n');
  let at = end + 1;
  const entries = JSON.parse(text.slice(0, end)) as (Omit<CatalogEntry, 'schema'> & { schema: number })[];
  const catalog: CatalogEntry[] = [];
  for (const { name, server, credentials, description, schema } of entries) {
    catalog.push({ name, server, credentials, description, schema: text.slice(at, at + schema) });
    at += schema;
  }
  return catalog;
}

/** A map of tools. It has no prototype, so that a tool may have any name. */
export function emptyTools(): Record<string, AnyTool> {
  return Object.create(null) as Record<string, AnyTool>;
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

export function buildTool(entry: CatalogEntry, invoke: Invoke): AnyTool {
  const { name, description, schema } = entry;
  return {
    name,
    description,
    input: buildInput(schema),
    // The tool that describes tools asks no server: there is nothing to be played back.
    replay: name !== MCP_DESCRIBE_TOOL,
    execute: (args, context) => invoke(name, args, context),
  };
}

function buildInput(schema: string): ToolInput {
  const read = (): unknown => JSON.parse(schema);
  return {
    '~standard': {
      version: 1,
      vendor: 'espalier',
      validate: (value) => ({ value: toArguments(value) }),
      jsonSchema: { input: read, output: read },
    },
  };
}
