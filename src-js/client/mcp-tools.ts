// `mcpTools`: the toolset over the core's. Requests go to the core under a number; events come back in batches.

import { onAbort } from '../cancel.js';
import { AbortError, McpError } from '../errors.js';
import { killAtExit, spareAtExit } from '../exit.js';
import { native, toError, unwrap } from '../native.js';
import type { NativeEvent, NativeRows } from '../../native/binding.cjs';
import type {
  AnyTool,
  Diagnostic,
  McpConnectionStore,
  McpDriftReview,
  McpLog,
  McpOptions,
  McpProgress,
  McpServerConfig,
  McpServerStatus,
  McpToolCallOptions,
  McpToolset,
  McpToolsetEvents,
} from '../types/client.js';
import { type AskServer, Prompts, Resources } from './features.js';
import { FetchBridge } from './fetch-bridge.js';
import { Handlers } from './handlers.js';
import { Listeners } from './listeners.js';
import { assertFunction, assertSignal, encodeOptions, encodeServers } from './options.js';
import { guarded, warn } from './report.js';
import { readListings, readRows, readTrusted } from './rows.js';
import { type CatalogEntry, type Invoke, buildTool, emptyTools, encodeArguments, readCatalog } from './tools.js';

/**
 * Connects MCP servers side by side and projects their tools into one map. A server that fails is told through
 * `onDiagnostic` and costs only itself.
 *
 * Rejects with an `McpError` of code `invalid-option` before anything is started, with whatever `storage.list()` rejects
 * with, and with an `AbortError` when `options.signal` fires while connecting.
 *
 * @example
 * const toolset = await mcpTools([{ type: 'stdio', name: 'files', command: 'my-mcp-server' }]);
 * const text = await toolset.call('files__read', { path: 'a.txt' });
 * await toolset.close();
 */
export async function mcpTools(servers: readonly McpServerConfig[], options: McpOptions = {}): Promise<McpToolset> {
  const settings = encodeSettings(servers, options);
  const { signal, storage } = options;
  // Without the baselines nothing can be trusted: they are read before anything is started.
  const rows = storage == null ? undefined : await unlessAborted(signal, readStore(storage, isLazy(servers, options)));
  const toolset = new Toolset(options);
  await toolset[CONNECT]({ ...settings, rows });
  return toolset;
}

/**
 * Wakes the servers that a store remembers, in the order of its rows: the map of tools is there before any of them is
 * asked, and holds what they listed last, guarded by what they are trusted by. Then each is connected and listed once, and
 * the same map and the rows are brought up to date; `reconciled` settles after that. A call before its server is connected
 * waits for it, or rejects with what keeps it from being.
 *
 * This is no cold start: a server without a row is not connected, and a row without a fitting configuration is a
 * diagnostic. A row that lists nothing is connected before the map is given.
 *
 * Rejects as {@link mcpTools} does, and with `invalid-option` without `options.storage`.
 *
 * @example
 * const toolset = await rebuildMcpToolsFromStorage(servers, { storage: store }, { stdio: false });
 * await toolset.reconciled; // only to be sure of the latest listings
 */
export async function rebuildMcpToolsFromStorage(
  servers: readonly McpServerConfig[],
  options: McpOptions,
  runtime: { stdio: boolean },
): Promise<McpToolset> {
  const settings = encodeSettings(servers, options);
  const { signal, storage } = options;
  const stdio: unknown = runtime?.stdio ?? false;
  if (typeof stdio !== 'boolean') throw new McpError('invalid-option', 'stdio must be true or false');
  if (storage == null) throw new McpError('invalid-option', 'storage must be the connection store to wake from');
  const rows = await unlessAborted(signal, readRows(storage));
  const toolset = new Toolset(options);
  await toolset[CONNECT]({ ...settings, stdio, rows: { text: rows, purpose: 'wake' } });
  return toolset;
}

/**
 * Holds what the servers publish now against what a store says they are trusted by, and gives both definitions of every
 * tool that differs: for a person to look at before {@link retrustMcpServer}. Only servers are there that have a row with
 * a baseline and could be listed; the others are told through `onDiagnostic`. Nothing is saved, and nothing is trusted.
 *
 * Rejects as {@link mcpTools} does.
 *
 * @example
 * for (const { id, changed } of await reviewMcpDrift(store, servers)) {
 *   for (const { name, fields } of changed) console.log(id, name, fields);
 * }
 */
export async function reviewMcpDrift(
  store: McpConnectionStore,
  servers: readonly McpServerConfig[],
  options: McpOptions = {},
): Promise<McpDriftReview[]> {
  const settings = encodeSettings(servers, { ...options, storage: store });
  const rows = await unlessAborted(options.signal, readRows(store));
  const toolset = new Toolset(options);
  await toolset[CONNECT]({ ...settings, rows: { text: rows, purpose: 'review' } });
  try {
    return toolset[REVIEW](rows, await readTrusted(store, rows));
  } finally {
    await toolset.close();
  }
}

function encodeSettings(
  servers: readonly McpServerConfig[],
  options: McpOptions,
): Pick<Settings, 'options' | 'servers'> {
  if (typeof options !== 'object' || options === null) {
    throw new McpError('invalid-option', 'the options must be an object');
  }
  const settings = { options: encodeOptions(options), servers: encodeServers(servers, options) };
  throwIfAborted(options.signal);
  return settings;
}

async function readStore(storage: McpConnectionStore, lazy: boolean): Promise<NativeRows> {
  const text = await readRows(storage);
  const listings = lazy ? await readListings(storage) : undefined;
  return { text, purpose: 'guard', ...(listings === undefined ? {} : { listings }) };
}

/** Whether any server may be: for the others nobody need ask what it listed last. */
function isLazy(servers: readonly McpServerConfig[], options: McpOptions): boolean {
  if (options.lazy === true) return true;
  // The core says what is wrong with them, later.
  const entries: unknown = servers;
  return Array.isArray(entries) && entries.some((entry: unknown) => (entry as McpServerConfig | null)?.lazy === true);
}

function throwIfAborted(signal: AbortSignal | undefined): void {
  throwIfAbortedIn(signal, 'connecting');
}

function throwIfAbortedIn(signal: AbortSignal | undefined, what: string): void {
  if (signal?.aborted) throw abortOf(signal.reason, what);
}

/** Waits for something that cannot be aborted itself. */
async function unlessAborted<T>(signal: AbortSignal | undefined, waited: Promise<T>): Promise<T> {
  if (signal === undefined) return waited;
  let forget: (() => void) | undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    forget = onAbort(signal, (reason) => reject(abortOf(reason, 'connecting')));
  });
  try {
    return await Promise.race([waited, aborted]);
  } finally {
    forget?.();
  }
}

/** Only this module connects a toolset, and each once. */
const CONNECT = Symbol('connect');
const REVIEW = Symbol('review');

/** What a toolset is made of, as JSON texts; rows where there is a store. */
interface Settings {
  servers: string;
  options: string;
  rows: NativeRows | undefined;
  stdio?: boolean;
}

type ProgressListener = (progress: McpProgress) => void;
type ProgressParams = Pick<McpProgress, 'progress' | 'total' | 'message'>;

interface Pending {
  settle: (event: NativeEvent) => void;
  progress?: ((params: ProgressParams) => void) | undefined;
  session?: unknown;
}

interface Call {
  name: string;
  args: unknown;
  signals: (AbortSignal | null | undefined)[];
  toolCallId?: string | undefined;
  timeoutMs?: number | undefined;
  onProgress?: ProgressListener | undefined;
  session?: unknown;
}

type Connection = InstanceType<typeof native.NativeToolset>;

/** Where events go, until the toolset is closed. */
interface Inbox {
  deliver?: (events: NativeEvent[]) => void;
}

/**
 * The function that native code holds for as long as it exists. It must not hold the toolset, which holds the native
 * object: no garbage collector sees through that circle.
 */
function relay(inbox: Inbox): (events: NativeEvent[]) => void {
  return (events) => inbox.deliver?.(events);
}

class Toolset implements McpToolset {
  readonly tools: Record<string, AnyTool> = emptyTools();
  reconciled: Promise<void> = Promise.resolve();
  readonly resources: Resources;
  readonly prompts: Prompts;
  readonly #options: McpOptions;
  readonly #inbox: Inbox = {};
  readonly #native: Connection;
  readonly #pending = new Map<number, Pending>();
  readonly #entries = new Map<string, CatalogEntry>();
  readonly #fetches: FetchBridge | undefined;
  readonly #handlers: Handlers;
  readonly #listeners = new Listeners();
  #lastId = 0;
  #closing: Promise<void> | undefined;
  #tellClosed: () => void = () => {};
  readonly #closed = new Promise<void>((resolve) => (this.#tellClosed = resolve));

  constructor(options: McpOptions) {
    this.#options = options;
    this.#native = new native.NativeToolset(relay(this.#inbox));
    if (options.fetch != null) this.#fetches = new FetchBridge(options.fetch, this.#native);
    this.#handlers = new Handlers(options, this.#native, (call) => this.#pending.get(call ?? 0)?.session);
    const ask: AskServer = async (question) => this.#ask(question);
    this.resources = new Resources(ask, (server) => this.#projectedName(server));
    this.prompts = new Prompts(ask);
    this.#inbox.deliver = (events) => this.#deliver(events);
    killAtExit(this.#native);
  }

  async [CONNECT]({ rows, ...given }: Settings): Promise<void> {
    const { signal, onStderr, auth } = this.#options;
    const forget = signal && onAbort(signal, () => void this.close());
    const settings = {
      ...given,
      ...(rows === undefined ? {} : { rows }),
      hearsStderr: onStderr != null,
      givesCredentials: auth != null,
      fetches: this.#fetches !== undefined,
    };
    try {
      const isWoken = rows?.purpose === 'wake';
      const connected = this.#request((id) => {
        if (isWoken) this.#native.wake(id, settings);
        else this.#native.connect(id, settings);
      });
      valueText(await connected);
      throwIfAborted(signal);
      this.#takeCatalog();
      // Not before: what is asked of servers must not hold up the map.
      if (isWoken)
        this.reconciled = anyOf(
          this.#request((id) => this.#native.reconcile(id)),
          this.#closed,
        );
    } catch (error) {
      await this.close();
      throwIfAborted(signal);
      throw error;
    } finally {
      forget?.();
    }
  }

  [REVIEW](rows: string, trusted: string): McpDriftReview[] {
    return JSON.parse(unwrap(this.#native.review(rows, trusted)) ?? '[]') as McpDriftReview[];
  }

  servers(): McpServerStatus[] {
    return JSON.parse(this.#native.servers()) as McpServerStatus[];
  }

  async call(name: string, args?: unknown, options?: McpToolCallOptions): Promise<unknown> {
    const { signal, timeoutMs, onProgress, session } = options ?? {};
    return this.#call({ name, args, signals: [signal], timeoutMs, onProgress, session });
  }

  on<Event extends keyof McpToolsetEvents>(
    event: Event,
    listener: (value: McpToolsetEvents[Event]) => void,
  ): () => void {
    return this.#listeners.on(event, listener);
  }

  unref(): void {
    this.#native.unref();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    await this.#request((id) => this.#native.close(id));
    spareAtExit(this.#native);
    this.#native.release();
    this.#fetches?.close();
    delete this.#inbox.deliver;
    this.#tellClosed();
  }

  /** Brings the map up to date, in place and in the core's order. What stayed as it was stays the same object. */
  #takeCatalog(): void {
    const text = this.#native.catalogue();
    if (text == null) return;
    const before = new Map(this.#entries);
    const tools = { ...this.tools };
    this.#entries.clear();
    for (const name of before.keys()) delete this.tools[name];
    for (const entry of readCatalog(text)) {
      const { name, description, schema } = entry;
      const known = before.get(name);
      const stayed = known?.description === description && known.schema === schema;
      this.#entries.set(name, entry);
      this.tools[name] = (stayed ? tools[name] : undefined) ?? buildTool(entry, this.#invoke);
    }
  }

  readonly #invoke: Invoke = async (name, args, context) => {
    const signals = [context?.abortSignal, context?.signal];
    return this.#call({ name, args, signals, toolCallId: context?.toolCallId, session: context?.session });
  };

  /** The name by which a server is told of; itself where no server has it. */
  #projectedName(server: string): string {
    const servers = this.servers();
    const named = servers.find((one) => one.projectedName === server) ?? servers.find((one) => one.name === server);
    return named?.projectedName ?? server;
  }

  async #ask({ method, server, params = {}, signal }: Parameters<AskServer>[0]): Promise<unknown> {
    const what = `the request ${method}`;
    const text = encodeArguments(method, params);
    const signals = checkSignals([signal]);
    for (const one of signals) throwIfAbortedIn(one, what);
    this.#assertOpen('the request');
    let id = 0;
    const settled = this.#request((next) => {
      id = next;
      this.#native.ask(next, method, server, text);
    });
    return this.#settle(settled, signals, what, () => this.#native.cancelAsk(id));
  }

  async #call(call: Call): Promise<unknown> {
    const { name, timeoutMs } = call;
    if (typeof name !== 'string') throw new McpError('invalid-arguments', 'the name of a tool must be a string');
    const text = encodeArguments(name, call.args);
    assertFunction('onProgress', call.onProgress);
    const signals = checkSignals(call.signals);
    for (const signal of signals) throwIfAbortedIn(signal, `the call of ${name}`);
    if (timeoutMs != null && typeof timeoutMs !== 'number') {
      throw new McpError('invalid-option', 'timeoutMs must be a number');
    }
    const server = this.#entries.get(name);
    const awaitsCredential = this.#options.auth != null && server?.credentials === true;
    this.#assertOpen('the call');
    const listeners = [this.#options.onProgress, call.onProgress].filter((listener) => listener != null);
    let id = 0;
    const settled = this.#request(
      (next) => {
        id = next;
        this.#native.call(next, name, text, timeoutMs ?? undefined, listeners.length > 0, awaitsCredential);
      },
      {
        session: call.session,
        progress: listeners.length === 0 ? undefined : (params) => this.#tellProgress(call, listeners, params),
      },
    );
    const cancel = (): void => this.#native.cancel(id, name);
    let refusal: { error: unknown } | undefined;
    // The core waits for it no longer than the call may take.
    if (awaitsCredential) {
      this.#handlers.credential(server.server, call.session ?? this.#options.session).then(
        (token) => this.#native.authorize(id, token ?? ''),
        (error: unknown) => {
          refusal = { error };
          cancel();
        },
      );
    }
    return this.#settle(settled, signals, `the call of ${name}`, cancel, () => refusal);
  }

  /** Let go of, the toolset could not hear what the core answers. */
  #assertOpen(what: string): void {
    if (this.#inbox.deliver === undefined) {
      throw new McpError('closed', `the toolset was closed before ${what}; its servers are unavailable`);
    }
  }

  /** Waits for the end of what was started; a signal gives it up. */
  async #settle(
    settled: Promise<NativeEvent>,
    signals: AbortSignal[],
    what: string,
    cancel: () => void,
    refusal?: () => { error: unknown } | undefined,
  ): Promise<unknown> {
    let reason: unknown;
    const forget: (() => void)[] = [];
    try {
      for (const signal of signals) {
        forget.push(
          onAbort(signal, (cause) => {
            reason = cause;
            // The reason stays here: it is no business of the server's.
            cancel();
          }),
        );
      }
      const event = await settled;
      if (event.kind === 'aborted') {
        const refused = refusal?.();
        throw refused === undefined ? abortOf(reason, what) : refused.error;
      }
      return JSON.parse(valueText(event)) as unknown;
    } finally {
      for (const unlisten of forget) unlisten();
    }
  }

  #tellProgress(call: Call, listeners: ProgressListener[], params: ProgressParams): void {
    const { progress, total, message } = params;
    const told: McpProgress = {
      server: this.#entries.get(call.name)?.server ?? '',
      tool: call.name,
      ...(call.toolCallId == null ? {} : { toolCallId: call.toolCallId }),
      progress,
      ...(total == null ? {} : { total }),
      ...(message == null ? {} : { message }),
    };
    for (const listener of listeners) guarded('onProgress', () => listener(told));
  }

  #request(start: (id: number) => void, about?: Omit<Pending, 'settle'>): Promise<NativeEvent> {
    const id = ++this.#lastId;
    return new Promise((settle) => {
      this.#pending.set(id, { ...about, settle });
      start(id);
    });
  }

  #deliver(events: NativeEvent[]): void {
    for (const event of events) this.#handle(event);
  }

  #handle(event: NativeEvent): void {
    const { kind, text } = event;
    const id = event.id ?? 0;
    if (kind === 'settled' || kind === 'aborted') {
      const pending = this.#pending.get(id);
      this.#pending.delete(id);
      pending?.settle(event);
    } else if (kind === 'progress') {
      guarded('onProgress', () => this.#pending.get(id)?.progress?.(JSON.parse(text ?? '{}') as ProgressParams));
    } else if (kind === 'diagnostic') {
      guarded('onDiagnostic', () => this.#options.onDiagnostic?.(JSON.parse(text ?? '{}') as Diagnostic));
    } else if (kind === 'catalogue') {
      this.#takeCatalog();
    } else if (QUESTIONS.has(kind)) {
      void this.#handlers.answer(event);
    } else if (kind === 'withdrawn') {
      this.#handlers.withdraw(id);
    } else if (kind === 'log') {
      guarded('onLog', () => this.#options.onLog?.(readLog(event)));
    } else if (kind === 'changed') {
      const what = (text ?? '') as McpToolsetEvents['change']['what'];
      this.#listeners.tell('change', { server: event.server ?? '', what });
    } else if (kind === 'updated') {
      const [subscription, uri] = JSON.parse(text ?? '["",""]') as [string, string];
      this.resources.updated(event.server ?? '', subscription, uri);
    } else if (kind === 'unusable') {
      warn(text ?? '');
    } else if (kind === 'status') {
      this.#listeners.tell('status', JSON.parse(text ?? '{}') as McpServerStatus);
    } else if (kind === 'fetch') {
      void this.#fetches?.start(id, text ?? '{}');
    } else if (kind === 'pull') {
      this.#fetches?.pull(id);
    } else if (kind === 'drop') {
      this.#fetches?.drop(id);
    } else {
      guarded('onStderr', () => this.#options.onStderr?.(event.server ?? '', text ?? ''));
    }
  }
}

async function anyOf(...waited: Promise<unknown>[]): Promise<void> {
  await Promise.race(waited);
}

const QUESTIONS = new Set<NativeEvent['kind']>([
  'credential',
  'sampling',
  'elicitation',
  'roots',
  'save',
  'save-listing',
]);

/** The JSON text that a request ended with; a failure is thrown here, where there is a useful stack. */
function valueText(event: NativeEvent): string {
  if (event.failure != null) throw toError(event.failure);
  return event.text ?? 'null';
}

function readLog(event: NativeEvent): McpLog {
  const { level, logger, data } = JSON.parse(event.text ?? '{}') as Partial<McpLog>;
  return {
    server: event.server ?? '',
    level: level ?? 'info',
    ...(logger == null ? {} : { logger }),
    data,
  };
}

function checkSignals(signals: Call['signals']): AbortSignal[] {
  const given = signals.filter((signal) => signal != null);
  for (const signal of given) assertSignal(signal);
  // The same signal under both of its names is one.
  return [...new Set(given)];
}

function abortOf(reason: unknown, what: string): AbortError {
  return new AbortError(`${what} was aborted`, reason);
}
