// The shapes of the server half: what it is given, what it gives back, and the host objects it takes by their shape.

import type { McpContent, McpElicitationResult, McpRoot, McpSamplingRequest, McpSamplingResult } from './client.js';

/** JSON Schema, of any draft; its root describes an object. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/**
 * A schema of a validation library that can say itself as JSON Schema: through `~standard.jsonSchema`, or as a schema of
 * Zod 4. Others are refused when their tool is registered.
 */
export interface StandardSchema {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly jsonSchema?: {
      readonly input: (options: never) => Record<string, unknown>;
      readonly output: (options: never) => Record<string, unknown>;
    };
  };
}

/** A value, or a promise of it. */
type Awaitable<T> = T | Promise<T>;

// What a host brings along, by shape.

/** Whatever tools, prompts, artifacts and files are projected from. Nothing in it is required. */
export interface RuntimeLike {
  /** The tools that are projected. Where it is absent or lists nothing, {@link RuntimeLike.toolRegistry} is asked. */
  readonly tools?: { list(): Awaitable<readonly ToolLike[]> };
  readonly toolRegistry?: { getTools(): Awaitable<readonly ToolLike[]> };
  /** Asked before a tool's own `execute` runs. Anything but nothing or `false` refuses the call, and so does throwing. */
  readonly plugins?: {
    collectApprovalFlow?(): { checkApprovalNeeded(call: ApprovalQuery): unknown } | null | undefined;
  };
  readonly prompts?: readonly PromptLike[] | { list(): Awaitable<readonly PromptLike[]> };
  readonly artifacts?: {
    list(query: { chatId?: string; tenantId?: string }): Promise<readonly ArtifactLike[]>;
    read(query: { chatId: string; artifactId: string; tenantId?: string }): Promise<HostContent>;
  };
  readonly sandbox?: {
    list(query: { chatId?: string; tenantId?: string }): Promise<readonly SandboxEntryLike[]>;
    read(query: { chatId: string; path: string; tenantId?: string }): Promise<HostContent>;
  };
}

/** What a host gives of an artifact or a file. A `blob` that is a string is base64. */
export type HostContent = { text: string } | { blob: Uint8Array | string };

/** A host's tool. Only its name, description and parameters reach the wire. */
export interface ToolLike {
  name: string;
  description?: string;
  /** Also accepted as `inputSchema` or `input`. */
  parameters?: JsonSchema | StandardSchema;
  execute?(args: Record<string, unknown>, context: ToolLikeContext): unknown;
  /** Anything but `false` refuses native execution. */
  requiresApproval?: boolean;
  /** The same; of a function, anything but the awaited value `false`. */
  needsApproval?: boolean | ((args: unknown, context: unknown) => unknown);
  /** Anything but `false` refuses native execution. */
  requiresGPU?: boolean;
  [metadata: string]: unknown;
}

/** What a tool's own `execute` is told. */
export interface ToolLikeContext {
  readonly toolCallId: string;
  readonly signal: AbortSignal;
  readonly tenantId?: string | undefined;
  readonly sessionId?: string | undefined;
}

/** A call that a host's approval flow is asked about. */
export interface ApprovalQuery {
  toolName: string;
  args: Record<string, unknown>;
  toolCallId: string;
  tenantId?: string;
  sessionId?: string;
}

/** An artifact as a host lists it. */
export interface ArtifactLike {
  chatId: string;
  artifactId: string;
  name?: string;
  description?: string;
  mimeType?: string;
  /** In bytes. */
  size?: number;
}

/** A sandbox file as a host lists it. */
export interface SandboxEntryLike {
  chatId: string;
  path: string;
  name?: string;
  mimeType?: string;
  /** In bytes. */
  size?: number;
}

/** A host's prompt. */
export interface PromptLike {
  name: string;
  title?: string;
  description?: string;
  arguments?: MCPPromptArgument[];
  render(args: Record<string, string>, context: HandlerContext): Awaitable<PromptResult | string>;
}

// What handlers are told.

/** Who calls, as a bearer token says. */
export interface AuthInfo {
  token: string;
  clientId?: string;
  subject?: string;
  scopes: string[];
  /** In seconds since 1970. */
  expiresAt?: number;
  extra?: Record<string, unknown>;
}

/** Whose request it is. Both are absent where the server has one user. */
export interface Caller {
  readonly tenantId: string | undefined;
  readonly sessionId: string | undefined;
}

/** How a question to the client is told from the others of its handler. */
export interface QuestionOptions {
  /**
   * In the stateless era (2026-07-28) a handler that asked is run again from its start once there are answers, and each
   * question finds its own by its key: by default its method and how many of that method came before it. Give a key where
   * runs may ask in another order. No two questions of one run may share a key.
   */
  key?: string;
}

/** What a server asks a user for: values for a flat schema, never secrets, or consent to open a URL. */
export type ElicitRequest =
  | { mode?: 'form'; message: string; requestedSchema: Record<string, unknown>; [member: string]: unknown }
  | { mode: 'url'; message: string; url: string; [member: string]: unknown };

/** What a handler of a tool, resource, prompt or completion is told of its request, and what it can do with its client. */
export interface HandlerContext extends Caller {
  /** The runtime that the request was routed to; absent where none is bound. */
  readonly runtime?: RuntimeLike | undefined;
  /**
   * Fires when the answer is not needed any more: the client cancelled, its connection ended, the time is up, the server
   * stops. A handler that does not heed it keeps its slot until it settles.
   */
  readonly signal: AbortSignal;
  readonly connectionId: string;
  /** A fresh id for each run of a handler. */
  readonly toolCallId: string;
  /** The revision that the client speaks; absent for calls in process. */
  readonly protocolVersion?: string | undefined;
  /** What the client says it can do. */
  readonly clientCapabilities: Readonly<Record<string, unknown>>;
  /** Where the transport has `auth`. */
  readonly auth?: AuthInfo | undefined;
  /** Tells the client how far the work is, where it wants to know. What does not grow is dropped. */
  progress(done: number, total?: number, message?: string): void;
  /**
   * Sends a log message to the client, where it wants those of this level. Throws `invalid-arguments` for data that JSON
   * cannot hold, and for a level that there is not.
   */
  log(level: LogLevel, data: unknown): void;
  /**
   * Asks the user. Rejects with a {@link MissingCapabilityError} where the client cannot ask.
   *
   * In the stateless era the handler is run again from its start when the answers are there, and this run's promise never
   * settles: whatever a handler does before its last question has to be repeatable.
   */
  elicit(request: ElicitRequest, options?: QuestionOptions): Promise<McpElicitationResult>;
  /** Asks the client for a message of its model, by the same rules. `tools` need the client's `sampling.tools`. */
  sample(request: McpSamplingRequest, options?: QuestionOptions): Promise<McpSamplingResult>;
  /** Asks the client for the folders it works in, by the same rules. */
  roots(options?: QuestionOptions): Promise<McpRoot[]>;
  /**
   * Closes the stream that carries this request while the request goes on: the client comes back for the rest after
   * `retryMs`. Does something in the session era on streams that can be resumed, and nothing elsewhere.
   */
  closeStream(retryMs?: number): void;
}

/** What a tool's handler is told. */
export type MCPToolContext = HandlerContext;

/** The levels of log messages, from the least to the most urgent. */
export type LogLevel = 'debug' | 'info' | 'notice' | 'warning' | 'error' | 'critical' | 'alert' | 'emergency';

// Tools.

/** When arguments are held against a tool's input schema before it runs, and how far. */
export type ArgumentValidation = 'none' | 'shallow' | 'full';

/** A tool: as it is registered, and as it is listed. */
export interface MCPToolDefinition {
  name: string;
  description?: string;
  inputSchema: JsonSchema | StandardSchema;
  /**
   * Runs the tool. A returned `{ success: false, error }` is a failure with that text, `{ success: true, output }` that
   * output, and anything else is output itself. What it throws is a failure, too. A tool without one goes to the server's
   * executor.
   */
  handler?(args: Record<string, unknown>, context: MCPToolContext): unknown;
  title?: string;
  /** Enforced: a result that does not fit it is a failure. */
  outputSchema?: JsonSchema | StandardSchema;
  annotations?: Record<string, unknown>;
  icons?: Record<string, unknown>[];
  _meta?: Record<string, unknown>;
  /** In place of {@link MCPServerConfig.validateArguments}. */
  validateArguments?: ArgumentValidation;
}

/** What a call in process resolves to. `code` is the one that JSON-RPC has for it, where it has one. */
export type MCPToolResult = { success: true; output: unknown } | { success: false; error: string; code?: number };

/**
 * Runs projected tools in place of their own `execute`: for authorization, audits, and tools that need an approval. What
 * it throws is a failure of the tool.
 */
export type HarnessToolExecutor = (
  name: string,
  args: Record<string, unknown>,
  context?: MCPToolContext,
) => Promise<{ success: true; output: unknown } | { success: false; error: string }>;

// Resources and prompts.

/** Whether an entry is there for a caller. Giving `false` or throwing hides it: it then answers like one that is not. */
export type VisibleTo = (caller: Caller) => unknown;

/** What a resource holds: text, bytes (a string is base64), or several parts. */
export type MCPResourceContent =
  | { text: string; mimeType?: string }
  | { blob: Uint8Array | string; mimeType?: string }
  | {
      contents: ({ uri?: string; mimeType?: string; _meta?: Record<string, unknown> } & (
        | { text: string }
        | { blob: Uint8Array | string }
      ))[];
    };

/** A resource, by its URI. */
export interface MCPResource {
  uri: string;
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
  /** In bytes. */
  size?: number;
  annotations?: Record<string, unknown>;
  icons?: Record<string, unknown>[];
  _meta?: Record<string, unknown>;
  visibleTo?: VisibleTo;
  /** Gives what the resource holds. Giving nothing says that there is no such resource. */
  handler(uri: string, context: HandlerContext): Awaitable<MCPResourceContent | null | undefined>;
}

/** Resources, by a template of RFC 6570. */
export interface MCPResourceTemplate {
  uriTemplate: string;
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
  annotations?: Record<string, unknown>;
  icons?: Record<string, unknown>[];
  _meta?: Record<string, unknown>;
  visibleTo?: VisibleTo;
  /** The same; an exploded variable is a list. */
  handler(
    uri: string,
    variables: Record<string, string | string[]>,
    context: HandlerContext,
  ): Awaitable<MCPResourceContent | null | undefined>;
}

/** An argument of a prompt. */
export interface MCPPromptArgument {
  name: string;
  title?: string;
  description?: string;
  required?: boolean;
}

/** What a prompt says. Content that is a string is a text block. */
export interface PromptResult {
  description?: string;
  messages: { role: 'user' | 'assistant'; content: McpContent | string }[];
}

/** A prompt. */
export interface MCPPrompt {
  name: string;
  title?: string;
  description?: string;
  arguments?: MCPPromptArgument[];
  icons?: Record<string, unknown>[];
  _meta?: Record<string, unknown>;
  visibleTo?: VisibleTo;
  /** Gives the messages, or one text that the user says. A missing required argument is refused before. */
  handler(args: Record<string, string>, context: HandlerContext): Awaitable<PromptResult | string>;
}

/** What a provider is told of the request it is called for. */
export interface ProviderContext extends Caller {
  /** The runtime that the request was routed to. */
  readonly runtime: RuntimeLike;
}

/** Gives resources, each time they are listed or read. */
export type MCPResourceProvider = (context?: ProviderContext) => Awaitable<readonly MCPResource[]>;

/** Gives prompts, each time they are listed or asked for. */
export type MCPPromptProvider = (context?: ProviderContext) => Awaitable<readonly MCPPrompt[]>;

/** How a provider is called. */
export interface ProviderOptions {
  /**
   * With the runtime, tenant and session of each request, so that each tenant sees its own; `false` by default. Where no
   * runtime is bound there is nothing to list, and the provider is not called.
   */
  perRequest?: boolean;
}

/**
 * Completes what a user types for an argument of a prompt or a variable of a template. Giving nothing leaves the question
 * to the completion that was registered next.
 */
export type MCPCompletion = (
  ref: { type: 'ref/prompt'; name: string } | { type: 'ref/resource'; uri: string },
  argument: { name: string; value: string },
  completionContext: { arguments?: Record<string, string> },
  context: HandlerContext,
) => Awaitable<readonly string[] | null | undefined>;

// The server.

/** Where a server writes what its operator should know. Never standard output. */
export interface ServerLogger {
  error(message: string): void;
  warn(message: string): void;
  info(message: string): void;
  debug(message: string): void;
}

/** The options of an `MCPServer`. */
export interface MCPServerConfig {
  /** `serverInfo.name`; `"mcp-server"` by default. */
  name?: string;
  /** `serverInfo.version`; `"0.0.0"` by default. */
  version?: string;
  /** Go into `serverInfo` for the revisions that have them. */
  title?: string;
  websiteUrl?: string;
  icons?: Record<string, unknown>[];
  /** Sent when a client opens. */
  instructions?: string;
  /** The runtime of every request of a server that has one user. Several tenants have theirs by `registerSession`. */
  runtime?: RuntimeLike;
  /** Whether a projected tool's own `execute` is run where no executor is given; `false` by default. */
  nativeExecution?: boolean;
  /** Decides the runtime of every request. Giving nothing refuses it. */
  resolveRuntime?: (request: {
    connectionId: string;
    tenantId: string | undefined;
    sessionId: string | undefined;
  }) => Awaitable<RuntimeLike | null | undefined>;
  /** Whether a session that was registered without a tenant may be reached by its id alone; `false` by default. */
  allowUntenantedSessions?: boolean;
  /** For all tools; by default `"shallow"` where a tool's own `execute` is run, and `"none"` elsewhere. */
  validateArguments?: ArgumentValidation;
  /** How many tools of one runtime are projected; 100 by default. A cut is logged once for each runtime. */
  maxTools?: number;
  /** How many entries a page of a list has; all of them by default. */
  pageSize?: number;
  /** How long lists may be used again (2026-07-28), in milliseconds; 0 by default. */
  cacheTtlMs?: number;
  /** Who may use them again; `"private"` by default. */
  cacheScope?: 'public' | 'private';
  /** Which revisions are spoken; all by default. */
  protocolVersions?: readonly string[];
  /** At least 32 bytes: signs what a 2026-07-28 client carries from one round to the next. Random by default, so that
   * processes which share their clients have to share it. */
  requestStateSecret?: Uint8Array;
  /** How much each tenant may take of the server, over all of its connections; no limits by default. `{}` alone has tenants
   * take turns and be told apart in `stats()`. */
  tenantLimits?: TenantLimits;
  /** Writes to standard error by default. */
  logger?: ServerLogger;
}

/** Each a positive integer, and without a limit where it is left out. Callers without a tenant count as one. */
export interface TenantLimits {
  /** How many requests are worked on at once. Further ones wait for others of their tenant, and hold up nobody else's. */
  maxConcurrentRequests?: number;
  /** How many requests may come in a second, and at once after a pause. `ping` is none of them. */
  maxRequestsPerSecond?: number;
  /** How many sessions over Streamable HTTP, streams of HTTP+SSE and WebSockets may be open. */
  maxConnections?: number;
  /** How many bytes of params may be under way, together with answers that are not written yet. One request alone is taken
   * whatever its size. */
  maxBytesInFlight?: number;
}

/** The options of `register`. */
export interface RegisterOptions {
  /** Hides the tool from callers without a tenant, and refuses it to them; `false` by default. */
  tenantScoped?: boolean;
}

/** A registered session. */
export interface RegisteredSession {
  sessionId: string;
  runtime: RuntimeLike;
  tenantId?: string;
}

/** The forms of `start` that make the transport themselves; `stdio` is for old code, and binds none. */
export type StartOptions =
  | { transport: 'stdio' }
  | ({ transport: 'sse' } & SSETransportOptions)
  | ({ transport: 'websocket' } & WebSocketTransportOptions);

/** Carries a server's messages. Made by one of the package's functions, and run by `start`. */
export interface MCPTransport {
  readonly type: 'stdio' | 'sse' | 'streamable-http' | 'websocket';
  /** Of a transport on a port: its number; of port `0`, the one that is bound while it runs. */
  readonly port?: number;
}

/** An HTTP request, as the functions of a transport see it. Of headers and query the first value of a name counts. */
export interface NetworkRequest {
  readonly method: string;
  /** The target as it was sent. */
  readonly url: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string | undefined>>;
  /** By names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly remoteAddress: string;
  /** What a verifier found out, where the transport has `auth`. */
  readonly auth?: AuthInfo;
}

/** Says whose a request is. What is no string, or an empty one, names nobody. */
export type IdExtractor = (request: NetworkRequest) => Awaitable<string | null | undefined>;

/** What every transport on a port takes. Limits are positive integers, and 0 where that is said. */
export interface NetworkTransportOptions {
  /** 0 for any that is free. */
  port: number;
  /** The address to listen on; `127.0.0.1` by default. Others need `auth`, tenants, or `allowUnauthenticated`. */
  host?: string;
  /** Host names that requests may be sent to, on any port. On a loopback bind its own names by default. */
  allowedHosts?: string[];
  /** Origins whose pages may send requests; `*` for all. None by default. */
  allowedOrigins?: string[];
  /** Pages that may read the replies as well. */
  cors?: { origins: string[]; maxAgeSeconds?: number };
  /** Asks for bearer tokens. Whoever sends none, or none that is good, is refused with 401 and told where to get one. */
  auth?: TransportAuth;
  /** Says whose connection it is; a request that it names nobody for is refused with 401. Makes the server one for many tenants. */
  tenantIdExtractor?: IdExtractor;
  /** Says which registered session a connection belongs to. */
  sessionIdExtractor?: IdExtractor;
  /** Makes the server one for many tenants; `false` by default. */
  multiTenant?: boolean;
  /** Accepts that anybody who can reach the port may call; `false` by default. */
  allowUnauthenticated?: boolean;
  /** Certificate chain and private key, both PEM. */
  tls?: { cert: string; key: string };
  /** How many may be connected; 10,000 by default. One more is answered 503. */
  maxConnections?: number;
  /** How many sessions may be open; 10,000 by default. One more is answered 503. */
  maxSessions?: number;
  /** The longest message; 4 MiB by default. A longer one is answered 413. */
  maxBodyBytes?: number;
  /** How deep JSON may nest; 128 by default. */
  maxJsonDepth?: number;
  /** How many requests of a connection are worked on at the same time; 64 by default. */
  maxConcurrentRequests?: number;
  /** How many more may wait; 256 by default. One more is answered "Server busy". */
  maxQueuedRequests?: number;
  /** How long a request may take; 60,000 by default, 0 for no limit. */
  requestTimeoutMs?: number;
  /** After how long without a message a session is let go; 300,000 by default, 0 for never. */
  idleTimeoutMs?: number;
  /** How often a quiet stream shows that it is there; 30,000 by default. */
  heartbeatIntervalMs?: number;
  /** How much may wait for a slow reader before it is let go; 1 MiB by default. */
  maxBufferedBytes?: number;
  /** How long headers, each gap in a body, and an extractor may take; 10,000 by default. */
  headerTimeoutMs?: number;
  /** How long `stop` lets running calls finish; 5,000 by default. */
  shutdownTimeoutMs?: number;
}

/** That a server is protected: it is a resource server of OAuth 2.1, and publishes its metadata (RFC 9728). */
export interface TransportAuth {
  /**
   * Says whose a token is; `undefined` for one that is not good. What throws lets nobody in, and is logged. A verifier of
   * its own must check that the token was issued for this server.
   */
  verify(token: string, request: NetworkRequest): Awaitable<AuthInfo | undefined>;
  /** The URL of the server, as clients know it. */
  resource: string;
  /** The issuers of its tokens: at least one. */
  authorizationServers: string[];
  /** What a token must allow for any request; published as `scopes_supported`. */
  scopes?: string[];
  /** More members of the metadata, as `resource_name`. */
  metadata?: Record<string, unknown>;
}

/** Whose tokens are good, and for whom. */
export interface JwtVerifierOptions {
  /** The authorization server, as `iss` names it. */
  issuer: string;
  /** This server, as `aud` names it; one of several is enough. */
  audience: string | string[];
  /** The keys: where they are (https; http for loopback), or a JWK set. */
  jwks: string | URL | { keys: object[] };
}

/** Judges a token; see `createJwtVerifier`. */
export type JwtVerifier = (token: string) => Promise<AuthInfo | undefined>;

/** The options of a transport for Streamable HTTP. */
export interface StreamableHttpTransportOptions extends NetworkTransportOptions {
  /** `/mcp` by default. */
  mcpPath?: string;
}

/** The options of a transport for HTTP+SSE. */
export interface SSETransportOptions extends NetworkTransportOptions {
  /** Where the stream is; `/sse` by default. */
  path?: string;
  /** Where messages go; `/messages` by default. */
  messagesPath?: string;
  /** Whether Streamable HTTP is served as well; `false` by default. */
  streamableHttp?: boolean;
  /** Where; `/mcp` by default. */
  mcpPath?: string;
}

/** The options of a transport for WebSocket. */
export interface WebSocketTransportOptions extends NetworkTransportOptions {
  /** `/ws` by default. */
  path?: string;
}

/** The limits of a stdio transport; positive integers, and 0 where that is said. */
export interface StdioTransportOptions {
  /** Where messages come from: a Node stream; the process's standard input by default. */
  input?: NodeJS.ReadableStream;
  /** Where messages go: a Node stream; the process's standard output by default. */
  output?: NodeJS.WritableStream;
  /** The longest line. A longer one is answered with one error. 4 MiB by default. */
  maxBodyBytes?: number;
  /** How deep JSON may nest; 128 by default. */
  maxJsonDepth?: number;
  /** How many requests are worked on at the same time; 64 by default. */
  maxConcurrentRequests?: number;
  /** How many more may wait; 256 by default. One more is answered "Server busy". */
  maxQueuedRequests?: number;
  /** How long a request may take; 60,000 by default, 0 for no limit. */
  requestTimeoutMs?: number;
  /** How much may wait to be read by the client before it counts as gone; 1 MiB by default. */
  maxBufferedBytes?: number;
  /** How long `stop` lets running calls finish; 5,000 by default. */
  shutdownTimeoutMs?: number;
}

/** What a server has done since it was made, and is doing now. */
export interface ServerStats {
  /** Open now. */
  connections: number;
  registeredSessions: number;
  /** Requests that are worked on, and that wait. */
  running: number;
  queued: number;
  /** What the program was asked for and has not answered. */
  jobs: number;
  subscriptions: number;
  cachedLists: number;
  requests: number;
  /** Answers that were errors. */
  errors: number;
  cancelled: number;
  timedOut: number;
  /** Of a transport on a port, open now: who is connected, and sessions over HTTP. */
  sockets: number;
  sessions: number;
  /**
   * Requests that found no slot, those and connections over the limits of their tenant, and messages that could not be
   * read; on a port also: connections and sessions that found
   * no room, bodies that were too long or came too slowly, `Host` or `Origin` that is not allowed, and callers that nobody
   * could be named for.
   */
  refused: {
    busy: number;
    tenantLimits: number;
    malformed: number;
    full: number;
    tooLarge: number;
    tooSlow: number;
    forbidden: number;
    unauthorized: number;
  };
  /** Of a port: what nobody used, what missed a heartbeat, and readers that did not keep up. */
  closed: { idle: number; silent: number; slowReaders: number };
  /** Of a server with `tenantLimits`: who takes something of it now; of more than 1000, those who take the most. */
  tenants: TenantStats[];
}

/** What one tenant takes of a server now. */
export interface TenantStats {
  /** Not there for what has no tenant. */
  tenantId?: string;
  /** Requests that are worked on, and that wait for others of their tenant. */
  running: number;
  queued: number;
  connections: number;
  bytesInFlight: number;
  /** Requests and connections that were over its limits, since it takes something without a pause. */
  refused: number;
}

// `McpRuntime`.

/** A tool for `McpRuntime`. What its handler gives is its output. */
export interface McpToolRegistration {
  kind: 'tool';
  name: string;
  description?: string;
  inputSchema: JsonSchema | StandardSchema;
  handler(input: unknown, context: MCPToolContext): unknown;
}

/** A resource for `McpRuntime`. Without a handler it stays in the ledger and is not listed. */
export interface McpResourceRegistration {
  kind: 'resource';
  name: string;
  uri: string;
  title?: string;
  description?: string;
  mimeType?: string;
  handler?(uri: string, context: HandlerContext): Awaitable<MCPResourceContent | null | undefined>;
}

/** A prompt for `McpRuntime`. Without a handler it stays in the ledger and is not listed. */
export interface McpPromptRegistration {
  kind: 'prompt';
  name: string;
  title?: string;
  description?: string;
  arguments?: MCPPromptArgument[];
  handler?(args: Record<string, string>, context: HandlerContext): Awaitable<PromptResult | string>;
}

/** What `McpRuntime` takes, told apart by `kind`. */
export type McpRegistration = McpToolRegistration | McpResourceRegistration | McpPromptRegistration;

// Adapters.

/** What the adapters of resources and prompts take. */
export interface AdapterOptions<Entry = never> {
  /** Given to the host with each listing and reading. */
  tenantId?: string;
  chatId?: string;
  /** Of the URIs; `pleach` by default. */
  scheme?: string;
  /** Asked first for the MIME type of an entry; giving nothing leaves it to what is known otherwise. */
  mimeTypeResolver?: MimeTypeResolver<Entry>;
}

/** What a MIME type is found by. */
export interface MimeTypeSubject {
  path?: string;
  name?: string;
  mimeType?: string;
}

/** Says the MIME type of an entry, or nothing. */
export type MimeTypeResolver<Entry> = (entry: Entry) => string | null | undefined;
