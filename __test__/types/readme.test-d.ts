// The examples of README.md, word for word, so that they are compiled.

import { mcpTools } from 'espalier/node';

const toolset = await mcpTools(
  [
    { type: 'stdio', name: 'files', command: 'mcp-server-filesystem', args: ['.'] },
    { type: 'stdio', name: 'notes', command: 'node', args: ['notes.mjs'], env: { NOTES_FILE: 'notes.json' } },
  ],
  { timeoutMs: 20_000, onDiagnostic: ({ origin, message }) => console.warn(`${origin}: ${message}`) },
);

try {
  for (const tool of Object.values(toolset.tools)) {
    console.log(tool.name, tool.description, tool.input['~standard'].jsonSchema.input());
  }
  const listing = await toolset.tools['files__list_directory']?.execute(
    { path: '.' },
    { signal: AbortSignal.timeout(5_000) },
  );
  console.log(listing);
} finally {
  await toolset.close();
}

import { McpError, type McpToolset } from 'espalier/node';

export async function lookUp(mcp: McpToolset, query: string, signal: AbortSignal): Promise<unknown> {
  try {
    return await mcp.call('docs__search', { query }, { signal, timeoutMs: 10_000 });
  } catch (error) {
    if (error instanceof McpError && error.code === 'tool-error') return error.message;
    if (error instanceof McpError && error.code === 'timeout') return 'no answer; the search may still be running';
    throw error;
  }
}

import { createSqliteMcpConnectionStore, type McpServerConfig, rebuildMcpToolsFromStorage } from 'espalier';

export async function wake(servers: McpServerConfig[]) {
  const storage = createSqliteMcpConnectionStore('connections.sqlite');
  const woken = await rebuildMcpToolsFromStorage(servers, { storage }, { stdio: false });
  // `woken.tools` can be used at once; this is only to be sure of the latest listings.
  await woken.reconciled;
  return woken;
}

import type { PersistedTool, StdioServerConfig } from 'espalier/node';

/** Starts when it is called first, and stops after five minutes without a call. */
export function frugal(server: StdioServerConfig, tools: PersistedTool[]): StdioServerConfig {
  return { ...server, tools, lazy: true, idleStopMs: 300_000 };
}
