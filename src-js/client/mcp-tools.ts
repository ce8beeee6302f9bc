// `mcpTools`: the toolset over the core's. Requests go to the core under a number; events come back in batches.

import { onAbort } from '../cancel.js';
import { AbortError, McpError } from '../errors.js';
import { killAtExit, spareAtExit } from '../exit.js';
import { native, toError } from '../native.js';
import type { NativeEvent } from '../../native/binding.cjs';
import type {
  AnyTool,
  Diagnostic,
  McpOptions,
  McpProgress,
  McpServerConfig,
  McpServerStatus,
  McpToolCallOptions,
  McpToolset,
} from '../types/client.js';
import { assertFunction, assertSignal, encodeOptions, encodeServers } from './options.js';
import { type CatalogEntry, buildTools, encodeArguments } from './tools.js';

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
  if (typeof options !== 'object' || options === null) {
    throw new McpError('invalid-option', 'the options must be an object');
  }
  const settings = { servers: encodeServers(servers), options: encodeOptions(options) };
  if (options.signal?.aborted) throw abortOf(options.signal.reason, 'connecting');
  // Without the baselines nothing can be trusted: they are read before anything is started.
  await options.storage?.list();
  const toolset = new Toolset(options);
  await toolset.connect(settings);
  return toolset;
}

type ProgressListener = (progress: McpProgress) => void;
type ProgressParams = Pick<McpProgress, 'progress' | 'total' | 'message'>;

interface Pending {
  settle: (event: NativeEvent) => void;
  progress?: (params: ProgressParams) => void;
}

interface Call {
  name: string;
  args: unknown;
  signals: (AbortSignal | null | undefined)[];
  toolCallId?: string | undefined;
  timeoutMs?: number | undefined;
  onProgress?: ProgressListener | undefined;
}

type Connection = InstanceType<typeof native.NativeToolset>;

class Toolset implements McpToolset {
  tools: Record<string, AnyTool> = {};
  readonly reconciled: Promise<void> = Promise.resolve();
  readonly #options: McpOptions;
  readonly #native: Connection;
  readonly #pending = new Map<number, Pending>();
  readonly #servers = new Map<string, string>();
  #lastId = 0;
  #closing: Promise<void> | undefined;

  constructor(options: McpOptions) {
    this.#options = options;
    this.#native = new native.NativeToolset((events) => this.#deliver(events));
    killAtExit(this.#native);
  }

  async connect(settings: { servers: string; options: string }): Promise<void> {
    const { signal, onStderr } = this.#options;
    const forget = signal && onAbort(signal, () => void this.close());
    try {
      const connected = this.#request((id) =>
        this.#native.connect(id, settings.servers, settings.options, onStderr !== undefined),
      );
      const text = valueText(await connected);
      const catalog = JSON.parse(text) as CatalogEntry[];
      for (const entry of catalog) this.#servers.set(entry.name, entry.server);
      this.tools = buildTools(catalog, async (name, args, context) => {
        const signals = [context?.abortSignal, context?.signal];
        return this.#call({ name, args, signals, toolCallId: context?.toolCallId });
      });
    } catch (error) {
      await this.close();
      if (signal?.aborted) throw abortOf(signal.reason, 'connecting');
      throw error;
    } finally {
      forget?.();
    }
  }

  servers(): McpServerStatus[] {
    return JSON.parse(this.#native.servers()) as McpServerStatus[];
  }

  async call(name: string, args?: unknown, options?: McpToolCallOptions): Promise<unknown> {
    const { signal, timeoutMs, onProgress } = options ?? {};
    return this.#call({ name, args, signals: [signal], timeoutMs, onProgress });
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
  }

  async #call(call: Call): Promise<unknown> {
    const { name, timeoutMs } = call;
    if (typeof name !== 'string') throw new McpError('invalid-arguments', 'the name of a tool must be a string');
    const text = encodeArguments(name, call.args);
    assertFunction('onProgress', call.onProgress);
    const signals = checkSignals(call.signals);
    const aborted = signals.find((signal) => signal.aborted);
    if (aborted !== undefined) throw abortOf(aborted.reason, `the call of ${name}`);
    if (timeoutMs != null && typeof timeoutMs !== 'number') {
      throw new McpError('invalid-option', 'timeoutMs must be a number');
    }
    const listeners = [this.#options.onProgress, call.onProgress].filter((listener) => listener != null);
    let id = 0;
    const settled = this.#request(
      (next) => {
        id = next;
        this.#native.call(next, name, text, timeoutMs ?? undefined, listeners.length > 0);
      },
      listeners.length === 0 ? undefined : (params) => this.#tellProgress(call, listeners, params),
    );
    let reason: unknown;
    const forget = signals.map((signal) =>
      onAbort(signal, (cause) => {
        reason = cause;
        // The reason stays here: it is no business of the server's.
        this.#native.cancel(id, name);
      }),
    );
    try {
      const event = await settled;
      if (event.kind === 'aborted') throw abortOf(reason, `the call of ${name}`);
      return JSON.parse(valueText(event)) as unknown;
    } finally {
      for (const unlisten of forget) unlisten();
    }
  }

  #tellProgress(call: Call, listeners: ProgressListener[], params: ProgressParams): void {
    const { progress, total, message } = params;
    const told: McpProgress = {
      server: this.#servers.get(call.name) ?? '',
      tool: call.name,
      ...(call.toolCallId == null ? {} : { toolCallId: call.toolCallId }),
      progress,
      ...(total == null ? {} : { total }),
      ...(message == null ? {} : { message }),
    };
    for (const listener of listeners) guarded('onProgress', () => listener(told));
  }

  #request(start: (id: number) => void, progress?: Pending['progress']): Promise<NativeEvent> {
    const id = ++this.#lastId;
    return new Promise((settle) => {
      this.#pending.set(id, progress === undefined ? { settle } : { settle, progress });
      start(id);
    });
  }

  #deliver(events: NativeEvent[]): void {
    for (const event of events) {
      const { kind, text } = event;
      if (kind === 'settled' || kind === 'aborted') {
        const pending = this.#pending.get(event.id ?? 0);
        this.#pending.delete(event.id ?? 0);
        pending?.settle(event);
      } else if (kind === 'progress') {
        this.#pending.get(event.id ?? 0)?.progress?.(JSON.parse(text ?? '{}') as ProgressParams);
      } else if (kind === 'diagnostic') {
        guarded('onDiagnostic', () => this.#options.onDiagnostic?.(JSON.parse(text ?? '{}') as Diagnostic));
      } else {
        guarded('onStderr', () => this.#options.onStderr?.(event.server ?? '', text ?? ''));
      }
    }
  }
}

/** The JSON text that a request ended with; a failure is thrown here, where there is a useful stack. */
function valueText(event: NativeEvent): string {
  if (event.failure != null) throw toError(event.failure);
  return event.text ?? 'null';
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

/** A user's function may throw, or reject: that changes nothing else, and is reported as a process warning. */
function guarded(name: string, call: () => unknown): void {
  const report = (error: unknown): void => {
    const reason = error instanceof Error ? error.message : String(error);
    process.emitWarning(`${name} threw: ${reason}`, 'EspalierWarning');
  };
  try {
    const result = call();
    if (result instanceof Promise) result.catch(report);
  } catch (error) {
    report(error);
  }
}
