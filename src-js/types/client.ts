// The shapes of the client's options and results.

/** A server that is started as a child process and spoken to over its standard input and output. */
export interface StdioServerConfig {
  type: 'stdio';
  /** Prefixes the projected tool names. Two servers of one name are both projected under a suffixed name. */
  name: string;
  /** The program: a path, or a name that is looked for through `PATH`. */
  command: string;
  args?: string[];
  /**
   * Variables of the child. Its environment starts empty but for `PATH`, `HOME`, `TMPDIR`, `LANG` and `LC_ALL` of the
   * host (on Windows also `SystemRoot`, `PATHEXT` and `APPDATA`).
   */
  env?: Record<string, string>;
  /** The working directory; the host's by default. */
  cwd?: string;
  /** Which root of a plugin `cwd` was declared against: `PLUGIN_ROOT` or `PLUGIN_DATA`. */
  cwdRoot?: 'PLUGIN_ROOT' | 'PLUGIN_DATA' | (string & {});
  /**
   * The folder of the plugin that brought the server along. The server is told of it as `PLUGIN_ROOT`, and starts only when
   * `command`, unless it is a bare name, and `cwd` lie in the plugin once links are followed.
   */
  pluginRoot?: string;
  /** The folder for the plugin's own data. It is made and tried out, and the server is told of it as `PLUGIN_DATA`. */
  pluginDataRoot?: string;
  /** In place of {@link McpOptions.timeoutMs} for this server and its calls. */
  timeoutMs?: number;
  /** In place of {@link McpOptions.protocol} for this server. */
  protocol?: McpProtocol;
  /** In place of {@link McpOptions.lazy} for this server. */
  lazy?: boolean;
  /** In place of {@link McpOptions.idleStopMs} for this server. */
  idleStopMs?: number;
  /** What the server lists, by your word: a lazy server is shown with it, and held to it, before it was ever started. */
  tools?: PersistedTool[];
}

/** A server that is reached by URL, over Streamable HTTP or the older HTTP+SSE, which is always of the session era. */
export interface RemoteServerConfig {
  type: 'streamable-http' | 'sse';
  /** Prefixes the projected tool names. */
  name: string;
  /** An http or https URL. A user and a password in it are sent as Basic credentials, and are never shown. */
  url: string;
  /** Sent with each request, and to no other origin. Those that the protocol sets itself are ignored, with a diagnostic. */
  headers?: Record<string, string>;
  /** In place of {@link McpOptions.timeoutMs} for this server and its calls. */
  timeoutMs?: number;
  /** In place of {@link McpOptions.protocol} for this server. */
  protocol?: McpProtocol;
  /** In place of {@link McpOptions.lazy} for this server. */
  lazy?: boolean;
  /** What the server lists, by your word: a lazy server is shown with it, and held to it, before it was ever asked. */
  tools?: PersistedTool[];
}

/**
 * Which era a server is spoken to in: found out (`auto`), the session era without asking (`legacy`), or one revision and no
 * other.
 */
export type McpProtocol = 'auto' | 'legacy' | { pin: string };

/** One server, told apart by `type`. */
export type McpServerConfig = StdioServerConfig | RemoteServerConfig;

/** What `loadMcpConfig` may be told. */
export interface McpConfigOptions {
  /** The variables that are filled in; by default those of the process. */
  env?: Readonly<Record<string, string | undefined>>;
  /** The folder that the file is about: relative paths begin there. By default that of the file. */
  baseDir?: string;
  /** What `${input:id}` stands for, for files that have an editor ask for it. */
  inputs?: Readonly<Record<string, string>>;
}

/** What a configuration file comes to. */
export interface McpConfig {
  servers: McpServerConfig[];
  /** What is wrong with the file, each with its place in it, and without the value of anything. */
  diagnostics: Diagnostic[];
}

/** What a server reported about a call under way. */
export interface McpProgress {
  /** The configured name of the server. */
  server: string;
  /** The projected name of the tool. */
  tool: string;
  /** As the call's context gave it. */
  toolCallId?: string;
  progress: number;
  total?: number;
  message?: string;
}

/** What a server logged. */
export interface McpLog {
  /** The configured name of the server. */
  server: string;
  /** As the protocol has it, from `debug` to `emergency`. */
  level: 'debug' | 'info' | 'notice' | 'warning' | 'error' | 'critical' | 'alert' | 'emergency';
  logger?: string;
  /** Any JSON value. */
  data: unknown;
}

/** What a handler is told of the question it answers. */
export interface McpHandlerContext {
  /** The configured name of the server that asks. */
  server: string;
  /** Fires when the answer is not needed any more: the server took the question back, or its call or connection is over. */
  signal: AbortSignal;
  /** Of the call that the question is part of, where that is known and has one; else the toolset's. */
  session?: unknown;
}

/** A content block of the protocol. */
export interface McpContent {
  type: string;
  [member: string]: unknown;
}

/** A message of a model that a server asks for: the params of `sampling/createMessage`, as sent. Tools are not declared. */
export interface McpSamplingRequest {
  messages: { role: 'user' | 'assistant'; content: McpContent | McpContent[] }[];
  /** Never to be exceeded. */
  maxTokens: number;
  systemPrompt?: string;
  modelPreferences?: {
    hints?: { name?: string }[];
    costPriority?: number;
    speedPriority?: number;
    intelligencePriority?: number;
  };
  temperature?: number;
  stopSequences?: string[];
  includeContext?: 'none' | 'thisServer' | 'allServers';
  metadata?: Record<string, unknown>;
  [member: string]: unknown;
}

/** The protocol's `CreateMessageResult`. */
export interface McpSamplingResult {
  role: 'user' | 'assistant';
  content: McpContent | McpContent[];
  model: string;
  stopReason?: string;
  [member: string]: unknown;
}

/**
 * What a server asks of a user. A form wants values for a flat schema, never secrets. A URL wants the user's consent to open
 * it: show it in full, and neither open nor fetch it without that consent.
 */
export type McpElicitationRequest =
  | { mode: 'form'; message: string; requestedSchema: Record<string, unknown>; [member: string]: unknown }
  | { mode: 'url'; message: string; url: string; [member: string]: unknown };

/** What the user said. What an accepted form leaves out gets the defaults of the schema. */
export interface McpElicitationResult {
  action: 'accept' | 'decline' | 'cancel';
  content?: Record<string, string | number | boolean | string[]>;
}

/** A folder that a server may work in. */
export interface McpRoot {
  /** Begins with `file://`. */
  uri: string;
  name?: string;
}

/** The events of a toolset, and what their listeners get. */
export interface McpToolsetEvents {
  /** What a server, by its projected name, offers is another. */
  change: { server: string; what: 'tools' | 'prompts' | 'resources' };
  /** The state of a server is another. */
  status: McpServerStatus;
}

/** Something that happened beside results and errors: a server that failed, a tool that was skipped. Never secret. */
export interface Diagnostic {
  /** The section of the Agent Plugins text that the rule is filed under. */
  section: string;
  /**
   * `connection-failure`, `unsupported-transport`, `server-name-collision`, `server-entry-invalid`, `listing-limited`,
   * `disclosure-budget-exceeded`, `tool-drift`, `protocol-violation`, `header-ignored` or `cross-origin-headers-withheld`.
   */
  rule: string;
  /** The configured server name for what happens while connecting, the projected one for listings. */
  origin: string;
  message: string;
}

/**
 * Makes one HTTP request. The global `fetch` is one; so is a function around it. Whatever it resolves to needs `status`,
 * `headers` and `body` as a `Response` has them. It must hand redirects back as they are, and stop when `signal` fires.
 */
export type McpFetch = (
  url: URL,
  init: { method: string; headers: Headers; body?: string; signal: AbortSignal; redirect: 'manual' },
) => Promise<Response>;

/**
 * The disclosure budget. A server whose descriptions and schemas take more is shown with names and types of the parameters
 * alone or, where even that is too much, without them; `mcp__describe_tool` then gives the full schemas.
 */
export interface McpDisclosure {
  /** In tokens, for each server; `'auto'` is the default of 20,000. */
  budget?: number | 'auto';
  /** Servers whose schemas are always shown in full, by configured or projected name. */
  alwaysLoad?: readonly string[];
}

/** The options of `mcpTools`. */
export interface McpOptions {
  /**
   * Milliseconds above 0, `Infinity` for none; 60,000 by default. Bounds start, handshake and complete listing of one
   * server together, and each call.
   */
  timeoutMs?: number;
  /** Whether progress of a call starts its `timeoutMs` anew; `true` by default. */
  resetTimeoutOnProgress?: boolean;
  /** The ceiling of a call in milliseconds, whatever progress it makes; none by default. */
  maxTotalTimeoutMs?: number;
  /** How many servers connect at the same time; 16 by default. */
  maxParallelConnects?: number;
  /** How many tools one server may list, 10,000 by default. Of a server with more, none is kept. */
  maxTools?: number;
  /** How many bytes the listing of one server may take, 64 MiB by default. Of a server with more, nothing is kept. */
  maxCatalogBytes?: number;
  /** How many bytes one message of a server may take, 64 MiB by default. A larger one fails its call only. */
  maxMessageBytes?: number;
  /** Which era servers are spoken to in; `'auto'` by default. */
  protocol?: McpProtocol;
  /**
   * The hosts that remote servers may be on, checked before any socket opens and on every redirect; without it, any. A
   * function is asked once per server, with its configured name, and needs `session`; whatever it gives that is no array
   * of strings allows nothing.
   */
  allowedHosts?: readonly string[] | ((server: string, context: { session: unknown }) => readonly string[]);
  /**
   * Gives the bearer token for a server: before the first byte is sent to it, and again for each call. Needs `session`.
   * What it rejects with is that server's failure.
   */
  auth?: (server: string, context: { session: unknown }) => Promise<{ token: string }> | { token: string };
  /** Refuses loopback, private, link-local and metadata addresses after the look-up; `false` by default. */
  blockPrivateAddresses?: boolean;
  /** `'env'` (the default) honours `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`; `'none'`, or a proxy's URL. */
  proxy?: string;
  /** Certificates in PEM that are trusted besides the usual ones. */
  ca?: string | readonly string[];
  /**
   * The file system that plugins were read from. With a string `root`, their paths begin there on this host: `command`,
   * `cwd`, and the values of `args` and `env` that begin with a root of the plugin.
   */
  fs?: object & { readonly root?: unknown };
  /**
   * Makes every HTTP request in place of the stack of this package; the rules about hosts, redirects, headers and sizes
   * stay. Cannot be set together with `blockPrivateAddresses`, `ca` or a `proxy` other than `'none'`.
   */
  fetch?: McpFetch;
  /**
   * Answers servers that ask for a message of a model. Without it, servers are told that there is none. What it throws, and
   * what is wrong with its answer, is a process warning here; the server's question, or in the stateless era the call, fails.
   */
  sampling?: (
    request: McpSamplingRequest,
    context: McpHandlerContext,
  ) => McpSamplingResult | Promise<McpSamplingResult>;
  /** Answers servers that ask the user for input or for consent, the same way. */
  elicitation?: (
    request: McpElicitationRequest,
    context: McpHandlerContext,
  ) => McpElicitationResult | Promise<McpElicitationResult>;
  /** The folders that servers may work in: a list, or a function that is asked each time. */
  roots?: readonly McpRoot[] | ((context: McpHandlerContext) => readonly McpRoot[] | Promise<readonly McpRoot[]>);
  /** Which tools are shown at all, by projected name or by the server's own; one of the two. */
  tools?: { allow: readonly string[]; block?: never } | { block: readonly string[]; allow?: never };
  /** How much of each server's schemas the model sees. */
  disclosure?: McpDisclosure;
  /**
   * What becomes of a server's word that its tools changed. `'guard'`, the default, lists it again and holds back whatever
   * is not as it was when it was trusted; `'apply'` shows what it lists now, unless a stored baseline says otherwise;
   * `'ignore'` does nothing.
   */
  onListChanged?: 'guard' | 'apply' | 'ignore';
  /**
   * Leaves servers alone until they are called, where what they list is known: it is given, or `storage` remembers it.
   * The first call starts such a server, and lists it once behind the call. `false` by default.
   */
  lazy?: boolean;
  /**
   * Stops a child that nobody has called for so many milliseconds; the next call starts it again. Off by default, and
   * `Infinity` for never.
   */
  idleStopMs?: number;
  /** Where remote servers are remembered. A stdio server never is; its rows are read all the same, before anything starts. */
  storage?: McpConnectionStore;
  /** The session that the toolset belongs to: given to `auth` and to an `allowedHosts` function. */
  session?: unknown;
  /** Gives up connecting: whatever was started is stopped, and `mcpTools` rejects with an `AbortError`. */
  signal?: AbortSignal;
  onDiagnostic?: (diagnostic: Diagnostic) => void;
  /** Hears of every call's progress. */
  onProgress?: (progress: McpProgress) => void;
  /** Hears every log message of a server. With it, servers are asked for all of them, from `debug` on. */
  onLog?: (log: McpLog) => void;
  /** Hears each line that a server writes to its standard error, as it was written. */
  onStderr?: (server: string, line: string) => void;
}

/** The context that a framework hands to a tool. `abortSignal` and `signal` are two customary names; either one aborts. */
export interface ToolContext {
  abortSignal?: AbortSignal | undefined;
  signal?: AbortSignal | undefined;
  toolCallId?: string | undefined;
  session?: unknown;
}

/** The options of `toolset.call`. */
export interface McpToolCallOptions {
  signal?: AbortSignal;
  /** In place of the server's or the toolset's. */
  timeoutMs?: number;
  onProgress?: (progress: McpProgress) => void;
  session?: unknown;
}

/** A Standard Schema that describes a tool's input. It never refuses: the server is the authority on its schema. */
export interface ToolInput {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: 'espalier';
    /** An object is passed on, `undefined` is `{}`, and any other value is `{ value }`. */
    readonly validate: (value: unknown) => { value: Record<string, unknown> };
    readonly jsonSchema: {
      /** The JSON Schema as the server published it, or what is left of it when it is deferred; a fresh copy each time. */
      readonly input: () => unknown;
      readonly output: () => unknown;
    };
  };
}

/** A server's tool as an agent's tool. */
export interface AnyTool {
  /** `server__tool`, made legal for model providers. */
  readonly name: string;
  /** The server's text, or the tool's own name where it has none; ours, where the tool is quarantined. */
  readonly description: string;
  readonly input: ToolInput;
  /** `true`, but for `mcp__describe_tool`. */
  readonly replay: boolean;
  /**
   * Calls the tool. Resolves to the structured content where there is one, else to the text (several blocks joined by
   * newlines), else to the content blocks, else to `null`. A call of a quarantined tool is not made, and resolves to a
   * {@link McpToolDenied}.
   *
   * Rejects with an {@link McpError}: `tool-error`, `server-error`, `timeout`, `connection-lost`, `unavailable`,
   * `not-published`, `closed`, `invalid-arguments`, `invalid-response`, or with an {@link AbortError}.
   */
  execute(args?: unknown, context?: ToolContext): Promise<unknown>;
}

/** What a call of a quarantined tool resolves to: for the model to read. */
export interface McpToolDenied {
  readonly __denied: true;
  readonly toolName: string;
  readonly deniedBy: string;
  readonly message: string;
}

/** What is known about one server. */
export interface McpServerStatus {
  /** The configured name. */
  name: string;
  projectedName: string;
  type: McpServerConfig['type'];
  /**
   * `connecting` is also a server that was lost and is brought up again. `stopped` is one that the next call starts: it is
   * lazy and was never called, or was stopped because nobody called it.
   */
  state: 'connecting' | 'ready' | 'unavailable' | 'stopped' | 'closed';
  era: 'session' | 'stateless' | null;
  protocolVersion: string | null;
  /** The server's own account of itself: for display, never for decisions. */
  serverInfo: { name?: string; version?: string; title?: string; [member: string]: unknown } | null;
  /** How many tools it lists. */
  tools: number;
  /** How much of its schemas is shown, and how many tokens descriptions and schemas take so. */
  disclosure: { tier: 'inline' | 'names' | 'bare'; tokens: number };
  /** How long start, handshake and listing took, in milliseconds. */
  connectMs: number | null;
  calls: number;
  errors: number;
  /** Of the most recent calls. */
  latencyMs: { p50: number; p95: number; p99: number } | null;
  lastError: string | null;
}

/** A resource as its server lists it. */
export interface McpListedResource {
  /** The projected name of the server. */
  server: string;
  uri: string;
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
  size?: number;
  [member: string]: unknown;
}

/** A template of resources as its server lists it; `uriTemplate` is of RFC 6570. */
export interface McpListedResourceTemplate {
  /** The projected name of the server. */
  server: string;
  uriTemplate: string;
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
  [member: string]: unknown;
}

/** A prompt as its server lists it. */
export interface McpListedPrompt {
  /** The projected name of the server. */
  server: string;
  name: string;
  title?: string;
  description?: string;
  arguments?: { name: string; title?: string; description?: string; required?: boolean }[];
  [member: string]: unknown;
}

/** The protocol's `ReadResourceResult`. */
export interface McpReadResult {
  contents: { uri: string; mimeType?: string; text?: string; blob?: string; [member: string]: unknown }[];
  [member: string]: unknown;
}

/** The protocol's `GetPromptResult`. */
export interface McpPromptResult {
  description?: string;
  messages: { role: 'user' | 'assistant'; content: McpContent }[];
  [member: string]: unknown;
}

/** The protocol's `CompleteResult`. */
export interface McpCompletion {
  completion: { values: string[]; total?: number; hasMore?: boolean };
  [member: string]: unknown;
}

/**
 * The resources of the connected servers. A server is named by its projected name, or by its configured one where no other
 * server has it. Everything rejects as {@link McpToolset.call} does, with `invalid-arguments` for a name that no server has.
 * What a server of the stateless era lets be kept (`ttlMs`) is not asked for again meanwhile.
 */
export interface McpResources {
  /** All pages of one server, or of every server that announces resources; of those, one that fails is a diagnostic. */
  list(server?: string): Promise<McpListedResource[]>;
  /** The same for templates. */
  templates(server?: string): Promise<McpListedResourceTemplate[]>;
  read(server: string, uri: string, options?: { signal?: AbortSignal }): Promise<McpReadResult>;
  /**
   * Calls the listener with the URI whenever the server says that the resource, or a part of it, was updated, and when that
   * may have gone unheard. Resolves once the subscription stands, to a function that ends it. Rejects with `unavailable`
   * where the server has no such subscription.
   */
  subscribe(server: string, uri: string, listener: (uri: string) => void): Promise<() => Promise<void>>;
}

/** The prompts of the connected servers, under the same rules. */
export interface McpPrompts {
  list(server?: string): Promise<McpListedPrompt[]>;
  get(
    server: string,
    name: string,
    args?: Record<string, string>,
    options?: { signal?: AbortSignal },
  ): Promise<McpPromptResult>;
  /** Values for an argument of a prompt, or for a variable of a resource template. */
  complete(
    server: string,
    ref: { type: 'ref/prompt'; name: string } | { type: 'ref/resource'; uri: string },
    argument: { name: string; value: string },
    context?: { arguments?: Record<string, string> },
  ): Promise<McpCompletion>;
}

/** The connected servers of one `mcpTools` call. */
export interface McpToolset {
  /**
   * The map for an agent, without a prototype; in the order of the configuration, then of each listing. When a server's
   * tools change, the same map changes, and a copy that was made of it does not.
   */
  readonly tools: Record<string, AnyTool>;
  readonly resources: McpResources;
  readonly prompts: McpPrompts;
  /**
   * Resolves once every stored listing was checked against its server, or the server could not be reached; already unless
   * the toolset was rebuilt from storage. Never rejects.
   */
  readonly reconciled: Promise<void>;
  servers(): McpServerStatus[];
  /**
   * Calls a tool by its name in `tools`; resolves and rejects as {@link AnyTool.execute} does. A `timeoutMs` that is no
   * number above 0 is an `invalid-option`.
   */
  call(name: string, args?: unknown, options?: McpToolCallOptions): Promise<unknown>;
  /**
   * Listens to an event; what is returned takes the listener out again. What a listener throws is reported as a process
   * warning. Throws `invalid-option` for an unknown event.
   */
  on<Event extends keyof McpToolsetEvents>(
    event: Event,
    listener: (value: McpToolsetEvents[Event]) => void,
  ): () => void;
  /** Lets the process end although the toolset is open. */
  unref(): void;
  /** Closes all connections, and resolves when nothing is left running. Calls under way reject with `closed`. Idempotent. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A tool as a store keeps it. */
export interface PersistedTool {
  name: string;
  description?: string;
  inputSchema?: unknown;
}

/** A remembered server: public facts, never a credential. */
export interface PersistedServer {
  id: string;
  name: string;
  type: 'streamable-http' | 'sse';
  url: string;
  tools?: PersistedTool[];
  /** The trust baseline: one digest per tool. Recorded once; no `save` replaces it. */
  toolFingerprints?: Record<string, string>;
}

/** What a lazy stdio server listed last: a cache, and nothing that it is trusted by. */
export interface PersistedListing {
  /** Its projected name. */
  id: string;
  /** A digest of its command, its arguments and the like. The listing of another command is not used. */
  launch: string;
  tools: PersistedTool[];
}

/** What differs between a server and what it is trusted by. */
export interface McpDriftReview {
  /** The configured name. */
  server: string;
  /** The id of its row, for `retrustMcpServer`. */
  id: string;
  changed: {
    name: string;
    /** As it was trusted; absent where the store does not keep definitions. */
    before?: PersistedTool;
    after: PersistedTool;
    /** Which of `description` and `inputSchema` differ; empty where `before` is absent. */
    fields: string[];
  }[];
  added: PersistedTool[];
  removed: string[];
}

/** Where remote servers are remembered between processes. */
export interface McpConnectionStore {
  list(): PersistedServer[] | Promise<PersistedServer[]>;
  /** Inserts a row, or replaces the one of its id. A baseline that is recorded must stay. */
  save(row: PersistedServer): void | Promise<void>;
  remove(id: string): void | Promise<void>;
  close?(): void | Promise<void>;
  /** The definitions behind the baseline of a row, for a person who wants to see what changed. */
  trustedTools?(id: string): PersistedTool[] | undefined | Promise<PersistedTool[] | undefined>;
  /** What lazy stdio servers listed last, apart from the rows. Together with `saveListing`, or not at all. */
  listings?(): PersistedListing[] | Promise<PersistedListing[]>;
  /** Inserts a listing, or replaces the one of its id. `remove` removes it, too. */
  saveListing?(listing: PersistedListing): void | Promise<void>;
}

/** A database that speaks SQLite: what a Durable Object's `ctx.storage.sql` has, and a few lines make of any other driver. */
export interface McpSqlStorage {
  exec(query: string, ...bindings: unknown[]): Iterable<Record<string, unknown>>;
}
