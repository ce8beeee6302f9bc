// The public names of `espalier`, each by name.

// Connecting servers and calling their tools.
export { mcpTools, rebuildMcpToolsFromStorage } from './dist/index.js';
export type {
  McpDisclosure,
  McpFetch,
  McpOptions,
  McpProtocol,
  McpServerConfig,
  McpServerStatus,
  McpToolCallOptions,
  McpToolset,
  RemoteServerConfig,
  StdioServerConfig,
} from './dist/index.js';

// Configuration files.
export { loadMcpConfig } from './dist/index.js';
export type { McpConfig, McpConfigOptions } from './dist/index.js';

// The projected tools.
export { isProviderLegalToolName, MCP_DESCRIBE_TOOL } from './dist/index.js';
export type { AnyTool, McpToolDenied, ToolContext, ToolInput } from './dist/index.js';

// What they cost, and how they read.
export {
  catalogTokens,
  composeMcpSystemPrompt,
  DEFAULT_DISCLOSURE_BUDGET_TOKENS,
  estimateTokens,
} from './dist/index.js';

// What is told beside results.
export type { Diagnostic, McpLog, McpProgress, McpToolsetEvents } from './dist/index.js';

// Resources and prompts.
export type {
  McpCompletion,
  McpListedPrompt,
  McpListedResource,
  McpListedResourceTemplate,
  McpPromptResult,
  McpPrompts,
  McpReadResult,
  McpResources,
} from './dist/index.js';

// What servers ask.
export type {
  McpContent,
  McpElicitationRequest,
  McpElicitationResult,
  McpHandlerContext,
  McpRoot,
  McpSamplingRequest,
  McpSamplingResult,
} from './dist/index.js';

// Errors.
export { AbortError, McpError } from './dist/index.js';
export type { McpErrorCode } from './dist/index.js';

// Stores.
export {
  createMemoryMcpConnectionStore,
  createSqliteMcpConnectionStore,
  retrustMcpServer,
  reviewMcpDrift,
} from './dist/index.js';
export type {
  McpConnectionStore,
  McpDriftReview,
  McpSqlStorage,
  PersistedServer,
  PersistedTool,
} from './dist/index.js';

// Serving.
export {
  createMcpServer,
  createPluggableStdioTransport,
  createSSETransport,
  createJwtVerifier,
  createStreamableHttpTransport,
  createWebSocketTransport,
  McpRuntime,
  MCPServer,
} from './dist/index.js';
export { MissingCapabilityError, NotImplementedError } from './dist/index.js';
export type {
  AdapterOptions,
  ApprovalQuery,
  ArgumentValidation,
  ArtifactLike,
  AuthInfo,
  Caller,
  ElicitRequest,
  HandlerContext,
  HarnessToolExecutor,
  HostContent,
  IdExtractor,
  JsonSchema,
  JwtVerifier,
  JwtVerifierOptions,
  LogLevel,
  MCPCompletion,
  MCPPrompt,
  MCPPromptArgument,
  MCPPromptProvider,
  McpPromptRegistration,
  McpRegistration,
  MCPResource,
  MCPResourceContent,
  MCPResourceProvider,
  McpResourceRegistration,
  MCPResourceTemplate,
  MCPServerConfig,
  MCPToolContext,
  MCPToolDefinition,
  McpToolRegistration,
  MCPToolResult,
  MCPTransport,
  MimeTypeResolver,
  MimeTypeSubject,
  NetworkRequest,
  NetworkTransportOptions,
  PromptLike,
  PromptResult,
  ProviderContext,
  ProviderOptions,
  QuestionOptions,
  RegisteredSession,
  RegisterOptions,
  RuntimeLike,
  SandboxEntryLike,
  ServerLogger,
  ServerStats,
  SSETransportOptions,
  StandardSchema,
  StartOptions,
  StdioTransportOptions,
  StreamableHttpTransportOptions,
  ToolLike,
  ToolLikeContext,
  TransportAuth,
  VisibleTo,
  WebSocketTransportOptions,
} from './dist/index.js';

// What a host brings along, as what can be served.
export {
  ADAPTER_RESOURCE_CACHE_MAX_KEYS,
  ADAPTER_RESOURCE_CACHE_TTL_MS,
  adaptHarnessArtifacts,
  adaptHarnessPrompts,
  adaptHarnessTools,
  adaptSandboxFiles,
  EXTENSION_MIME_TYPES,
  FALLBACK_MIME_TYPE,
  isTextMimeType,
  mimeTypeFromPath,
  projectToolDefinitionToMCP,
  refreshArtifactCache,
  refreshSandboxCache,
  resolveMimeType,
} from './dist/index.js';
