// `espalier/langchain`: the tools of a toolset for LangChain. The caller hands over the class: so the framework is not
// imported here, and the tools are of the very copy of it that their agent checks them against.

import { type AdapterOptions, type ObjectSchema, type ToolSource, objectSchema, textOf } from './common.js';

/** What a `DynamicStructuredTool` is made of. */
export interface LangChainToolFields {
  name: string;
  description: string;
  schema: ObjectSchema;
  func: (input: unknown, runManager?: unknown, config?: LangChainConfig) => Promise<string>;
}

/** What the framework hands to a tool of its run. */
export interface LangChainConfig {
  signal?: AbortSignal | undefined;
  toolCall?: { id?: string | undefined } | undefined;
}

/**
 * The tools of a toolset as tools of LangChain, as they are now. The framework holds arguments against the schema by
 * itself; results are text.
 *
 * @example
 * const tools = toLangChainTools(toolset, DynamicStructuredTool);
 */
export function toLangChainTools<Tool>(
  toolset: ToolSource,
  DynamicStructuredTool: new (fields: LangChainToolFields) => Tool,
  { session }: AdapterOptions = {},
): Tool[] {
  return Object.values(toolset.tools).map(
    (tool) =>
      new DynamicStructuredTool({
        name: tool.name,
        description: tool.description,
        schema: objectSchema(tool),
        func: async (input, _runManager, config) => {
          const { signal, toolCall } = config ?? {};
          return textOf(await tool.execute(input, { signal, toolCallId: toolCall?.id, session }));
        },
      }),
  );
}
