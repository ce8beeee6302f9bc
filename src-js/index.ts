// The root entry: everything but the start of child processes, which `espalier/node` switches on.

import { native } from './native.js';

export { loadMcpConfig } from './client/config.js';
export { mcpTools, rebuildMcpToolsFromStorage, reviewMcpDrift } from './client/mcp-tools.js';
export {
  catalogTokens,
  composeMcpSystemPrompt,
  DEFAULT_DISCLOSURE_BUDGET_TOKENS,
  MCP_DESCRIBE_TOOL,
} from './client/prompt.js';
export { retrustMcpServer } from './client/rows.js';
export { createMemoryMcpConnectionStore, createSqliteMcpConnectionStore } from './client/stores.js';
export * from './server.js';
export { AbortError, McpError } from './errors.js';
export type { McpErrorCode } from './errors.js';
export type {
  AnyTool,
  Diagnostic,
  McpCompletion,
  McpConfig,
  McpConfigOptions,
  McpConnectionStore,
  McpContent,
  McpDisclosure,
  McpDriftReview,
  McpElicitationRequest,
  McpElicitationResult,
  McpFetch,
  McpHandlerContext,
  McpListedPrompt,
  McpListedResource,
  McpListedResourceTemplate,
  McpLog,
  McpOptions,
  McpProgress,
  McpPromptResult,
  McpPrompts,
  McpProtocol,
  McpReadResult,
  McpResources,
  McpRoot,
  McpSamplingRequest,
  McpSamplingResult,
  McpServerConfig,
  McpServerStatus,
  McpSqlStorage,
  McpToolCallOptions,
  McpToolDenied,
  McpToolset,
  McpToolsetEvents,
  PersistedListing,
  PersistedServer,
  PersistedTool,
  RemoteServerConfig,
  StdioServerConfig,
  ToolContext,
  ToolInput,
} from './types/client.js';

/**
 * The rough size of a text in tokens: four UTF-16 code units each, rounded up. An approximation on purpose, not a
 * tokenizer.
 *
 * @example
 * const tokens = estimateTokens('hello'); // 2
 */
export function estimateTokens(text: string): number {
  return native.nativeEstimateTokens(text);
}

/**
 * Whether model providers accept a tool name as it is: `^[a-zA-Z0-9_-]{1,64}$`.
 *
 * @example
 * const legal = isProviderLegalToolName('files__read'); // true
 */
export function isProviderLegalToolName(name: string): boolean {
  return native.nativeIsProviderLegalToolName(name);
}
