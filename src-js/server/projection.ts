// From the tools of a host to those on the wire. Of what a host puts on a tool only name, description and input schema are
// shown; the tool itself is kept beside them, so that it can be run with all it has.

import { native } from '../native.js';
import { describe } from '../describe.js';
import type { MCPToolDefinition, RuntimeLike, ToolLike } from '../types/server.js';
import { type Bag, assertName, encodeData, isHost } from './check.js';
import { inputSchemaOf } from './schemas.js';

/** A projected tool: the host's, and what is shown of it as JSON texts. */
export interface Projected {
  readonly name: string;
  readonly tool: ToolLike;
  readonly runtime: RuntimeLike;
  readonly schema: string;
  readonly wire: string;
}

export type Projection = ReadonlyMap<string, Projected>;

export const DEFAULT_MAX_TOOLS: number = native.NATIVE_DEFAULT_PROJECTED_TOOLS;

/**
 * What reaches the wire of a host's tool: its name, description and input schema. The handler only says that it is a
 * placeholder; whoever registers the definition binds one that runs the tool.
 *
 * Throws a `TypeError` that names the tool, for one without a name, and for a schema that cannot become JSON Schema.
 *
 * @example
 * const { handler: _, ...shown } = projectToolDefinitionToMCP(tool);
 */
export function projectToolDefinitionToMCP(tool: ToolLike): MCPToolDefinition {
  return {
    ...definitionOf(tool),
    handler: () => ({ success: false, error: 'this tool was projected and has no handler yet' }),
  };
}

function definitionOf(tool: ToolLike): { name: string; description?: string; inputSchema: Bag } {
  if (!isHost(tool)) throw new TypeError('a tool must be an object');
  const { name, description } = tool;
  assertName('the name of a tool', name);
  return {
    name,
    ...(typeof description === 'string' ? { description } : {}),
    inputSchema: ofTool(name, () => inputSchemaOf(schemaOf(tool))),
  };
}

/** Runs what may object to a tool; the objection names the tool. */
export function ofTool<T>(name: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    throw new TypeError(`a schema of the tool ${JSON.stringify(name)} cannot be used: ${describe(cause)}`, { cause });
  }
}

function schemaOf(tool: ToolLike): unknown {
  return tool.parameters ?? tool['inputSchema'] ?? tool['input'] ?? undefined;
}

/** Who hears of what is left out. */
export interface ProjectionLog {
  /** A tool that cannot be shown costs itself. */
  odd(message: string): void;
  cut(message: string): void;
}

/** Projects the tools of a runtime; none where it has none. Rejects with what listing them throws. */
export async function project(runtime: RuntimeLike, maxTools: number, log: ProjectionLog): Promise<Projection> {
  const projection = new Map<string, Projected>();
  const tools = await toolsOf(runtime);
  for (const [index, tool] of tools.entries()) {
    const projected = attempt(tool, runtime, index, log);
    if (projected === undefined) continue;
    const { name } = projected;
    if (projection.has(name)) {
      log.odd(`the runtime has two tools named ${JSON.stringify(name)}: the later one counts`);
    } else if (projection.size === maxTools) {
      log.cut(`the runtime has ${tools.length} tools, and maxTools lets ${maxTools} of them be projected`);
      break;
    }
    projection.set(name, projected);
  }
  return projection;
}

async function toolsOf(runtime: RuntimeLike): Promise<readonly ToolLike[]> {
  const listed = list('runtime.tools.list()', await runtime.tools?.list());
  if (listed.length > 0) return listed;
  return list('runtime.toolRegistry.getTools()', await runtime.toolRegistry?.getTools());
}

function list(what: string, tools: readonly ToolLike[] | null | undefined): readonly ToolLike[] {
  if (tools == null) return [];
  if (!Array.isArray(tools)) throw new TypeError(`${what} gave no array`);
  return tools as readonly ToolLike[];
}

function attempt(tool: ToolLike, runtime: RuntimeLike, index: number, log: ProjectionLog): Projected | undefined {
  try {
    const definition = definitionOf(tool);
    const { name, description, inputSchema } = definition;
    const schema = ofTool(name, () => encodeData('the input schema', inputSchema));
    const shown = description === undefined ? '' : `"description":${JSON.stringify(description)},`;
    const wire = `{"name":${JSON.stringify(name)},${shown}"inputSchema":${schema}}`;
    return { name, tool, runtime, schema, wire };
  } catch (error) {
    log.odd(`tool ${index} of the runtime is left out: ${describe(error)}`);
    return undefined;
  }
}
