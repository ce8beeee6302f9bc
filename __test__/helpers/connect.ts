import {
  type AnyTool,
  type Diagnostic,
  mcpTools,
  type McpOptions,
  type McpServerConfig,
  type McpToolset,
} from 'espalier/node';
import { onTestFinished } from 'vitest';

/** A connected toolset and the diagnostics it has given so far. */
export interface Connected {
  toolset: McpToolset;
  diagnostics: Diagnostic[];
  /** The diagnostics of one rule. */
  of(rule: string): Diagnostic[];
}

/** `mcpTools`, with the diagnostics collected, closed when the running test has ended. */
export async function connect(servers: readonly McpServerConfig[], options: McpOptions = {}): Promise<Connected> {
  const diagnostics: Diagnostic[] = [];
  const toolset = await mcpTools(servers, {
    ...options,
    onDiagnostic(diagnostic) {
      diagnostics.push(diagnostic);
      options.onDiagnostic?.(diagnostic);
    },
  });
  onTestFinished(() => toolset.close());
  return { toolset, diagnostics, of: (rule) => diagnostics.filter((diagnostic) => diagnostic.rule === rule) };
}

/** The tool of a name; fails when it is not there. */
export function tool(toolset: McpToolset, name: string): AnyTool {
  const found = toolset.tools[name];
  if (found === undefined) throw new Error(`no tool ${name} among ${Object.keys(toolset.tools).join(', ')}`);
  return found;
}
