// The public names that README.md lists in tables, held against the types: a name that one side has and the other lacks
// does not compile here, or fails the test of the README.

import type { McpError, McpOptions, McpServerConfig, McpToolset } from 'espalier/node';
import type {
  MCPServer,
  MCPServerConfig,
  SSETransportOptions,
  StdioTransportOptions,
  StreamableHttpTransportOptions,
  WebSocketTransportOptions,
} from 'espalier/server';
import type { IsolationOptions, TestedTenant } from 'espalier/testing';

type StdioServer = Extract<McpServerConfig, { type: 'stdio' }>;

export const serverFields: string[] = Object.keys({
  name: true,
  command: true,
  args: true,
  env: true,
  cwd: true,
  cwdRoot: true,
  pluginRoot: true,
  pluginDataRoot: true,
  timeoutMs: true,
  protocol: true,
  lazy: true,
  idleStopMs: true,
  tools: true,
} satisfies Record<Exclude<keyof StdioServer, 'type'>, true>);

export const options: string[] = Object.keys({
  timeoutMs: true,
  resetTimeoutOnProgress: true,
  maxTotalTimeoutMs: true,
  maxParallelConnects: true,
  maxTools: true,
  maxCatalogBytes: true,
  maxMessageBytes: true,
  tools: true,
  protocol: true,
  allowedHosts: true,
  auth: true,
  blockPrivateAddresses: true,
  proxy: true,
  ca: true,
  fetch: true,
  fs: true,
  disclosure: true,
  onListChanged: true,
  lazy: true,
  idleStopMs: true,
  storage: true,
  session: true,
  signal: true,
  onDiagnostic: true,
  onProgress: true,
  onStderr: true,
  onLog: true,
  sampling: true,
  elicitation: true,
  roots: true,
} satisfies Record<keyof McpOptions, true>);

export const toolsetMembers: string[] = Object.keys({
  tools: true,
  call: true,
  servers: true,
  resources: true,
  prompts: true,
  on: true,
  reconciled: true,
  unref: true,
  close: true,
} satisfies Record<Exclude<keyof McpToolset, symbol>, true>);

export const errorCodes: string[] = Object.keys({
  'connection-lost': true,
  timeout: true,
  'server-error': true,
  'tool-error': true,
  unavailable: true,
  closed: true,
  'invalid-arguments': true,
  'invalid-option': true,
  'invalid-response': true,
  store: true,
  'output-schema': true,
  'not-published': true,
  unauthorized: true,
  'host-blocked': true,
  'too-large': true,
} satisfies Record<McpError['code'], true>);

export const serverOptions: string[] = Object.keys({
  name: true,
  version: true,
  title: true,
  websiteUrl: true,
  icons: true,
  instructions: true,
  runtime: true,
  nativeExecution: true,
  resolveRuntime: true,
  allowUntenantedSessions: true,
  validateArguments: true,
  maxTools: true,
  pageSize: true,
  cacheTtlMs: true,
  cacheScope: true,
  protocolVersions: true,
  requestStateSecret: true,
  tenantLimits: true,
  logger: true,
} satisfies Record<keyof MCPServerConfig, true>);

export const serverMembers: string[] = Object.keys({
  register: true,
  registerTool: true,
  unregister: true,
  registerResource: true,
  registerResources: true,
  registerResourceTemplate: true,
  registerPrompt: true,
  registerPrompts: true,
  registerCompletion: true,
  registerSession: true,
  getSession: true,
  listSessions: true,
  unregisterSession: true,
  invalidateToolCache: true,
  notifyResourceUpdated: true,
  start: true,
  stop: true,
  isStarted: true,
  getTransport: true,
  listTools: true,
  callTool: true,
  stats: true,
} satisfies Record<Exclude<keyof MCPServer, symbol>, true>);

export const stdioLimits: string[] = Object.keys({
  maxBodyBytes: true,
  maxJsonDepth: true,
  maxConcurrentRequests: true,
  maxQueuedRequests: true,
  requestTimeoutMs: true,
  maxBufferedBytes: true,
  shutdownTimeoutMs: true,
} satisfies Record<Exclude<keyof StdioTransportOptions, 'input' | 'output'>, true>);

export const networkOptions: string[] = Object.keys({
  port: true,
  host: true,
  path: true,
  messagesPath: true,
  streamableHttp: true,
  mcpPath: true,
  cors: true,
  allowedHosts: true,
  allowedOrigins: true,
  auth: true,
  tenantIdExtractor: true,
  sessionIdExtractor: true,
  multiTenant: true,
  allowUnauthenticated: true,
  tls: true,
  maxConnections: true,
  maxSessions: true,
  maxBodyBytes: true,
  maxJsonDepth: true,
  maxConcurrentRequests: true,
  maxQueuedRequests: true,
  requestTimeoutMs: true,
  idleTimeoutMs: true,
  heartbeatIntervalMs: true,
  maxBufferedBytes: true,
  headerTimeoutMs: true,
  shutdownTimeoutMs: true,
} satisfies Record<
  keyof SSETransportOptions | keyof StreamableHttpTransportOptions | keyof WebSocketTransportOptions,
  true
>);

export const testedFields: string[] = Object.keys({
  id: true,
  headers: true,
  markers: true,
  calls: true,
  reads: true,
  prompts: true,
  completions: true,
  slowCall: true,
} satisfies Record<keyof TestedTenant, true>);

export const isolationOptions: string[] = Object.keys({
  stir: true,
  strangers: true,
  ca: true,
  requestTimeoutMs: true,
  timeoutMs: true,
  settleMs: true,
} satisfies Record<keyof IsolationOptions, true>);
