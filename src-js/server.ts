// The entry of the server half.

export {
  adaptHarnessArtifacts,
  adaptHarnessPrompts,
  adaptHarnessTools,
  adaptSandboxFiles,
  refreshArtifactCache,
  refreshSandboxCache,
} from './server/adapters.js';
export { createJwtVerifier } from './server/jwt.js';
export { McpRuntime } from './server/mcp-runtime.js';
export { createMcpServer, MCPServer } from './server/mcp-server.js';
export {
  EXTENSION_MIME_TYPES,
  FALLBACK_MIME_TYPE,
  isTextMimeType,
  mimeTypeFromPath,
  resolveMimeType,
} from './server/mime.js';
export { createSSETransport, createStreamableHttpTransport, createWebSocketTransport } from './server/network.js';
export { projectToolDefinitionToMCP } from './server/projection.js';
export { ADAPTER_RESOURCE_CACHE_MAX_KEYS, ADAPTER_RESOURCE_CACHE_TTL_MS } from './server/snapshots.js';
export { createPluggableStdioTransport } from './server/transports.js';
export { McpError, MissingCapabilityError, NotImplementedError } from './errors.js';
export type { McpErrorCode } from './errors.js';
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
  TenantLimits,
  TenantStats,
  ToolLike,
  ToolLikeContext,
  TransportAuth,
  VisibleTo,
  WebSocketTransportOptions,
} from './types/server.js';
