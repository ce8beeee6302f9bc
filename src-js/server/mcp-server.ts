// `MCPServer`: what is registered, and a life from `start` to `stop`. Everything on the wire is the core's.

import { native, toError } from '../native.js';
import type {
  HarnessToolExecutor,
  MCPCompletion,
  MCPPrompt,
  MCPPromptProvider,
  MCPResource,
  MCPResourceProvider,
  MCPResourceTemplate,
  MCPServerConfig,
  MCPToolDefinition,
  MCPToolResult,
  MCPTransport,
  ProviderOptions,
  RegisteredSession,
  RegisterOptions,
  RuntimeLike,
  ServerStats,
  StartOptions,
} from '../types/server.js';
import { assertBag, assertIdentity, assertName, isHost, isObject, unwrapOption } from './check.js';
import { readConfig } from './config.js';
import { callInProcess } from './in-process.js';
import { Jobs } from './jobs.js';
import { log } from './log.js';
import { type Job, jobsOf } from './frames.js';
import type { NativeServer } from '../../native/binding.cjs';
import { networkTransport } from './network.js';
import { Registry, promptEntry, provider, resourceEntry, templateEntry, toolEntry } from './registry.js';
import { Runtimes } from './runtimes.js';
import { Tools } from './tools.js';
import { BEGIN, END, IDENTIFY, PULL, type Port, RUNS, type Runnable, WRITE, isRunnable } from './transports.js';

/** Servers that the core will speak to again: only those are kept while nobody else holds them. */
const awake = new Set<MCPServer>();

const registrars = new WeakMap<MCPServer, Registrar>();

/** For the ledger of capabilities: registrations that can be taken back. Throws for what is no server. */
export function registrarOf(server: MCPServer): Registrar {
  const registrar = registrars.get(server);
  if (registrar === undefined) throw new TypeError('the server must be an MCPServer');
  return registrar;
}

/**
 * Makes an {@link MCPServer}.
 *
 * Throws as its constructor does.
 *
 * @example
 * const server = createMcpServer({ name: 'my-server', version: '1.0.0', runtime }, executor);
 */
export function createMcpServer(config?: MCPServerConfig, executor?: HarnessToolExecutor): MCPServer {
  return new MCPServer(config, executor);
}

/** Serves the tools, resources and prompts of a host over the Model Context Protocol. */
export class MCPServer {
  readonly #native: NativeServer;
  readonly #registry = new Registry();
  readonly #runtimes: Runtimes;
  readonly #tools: Tools;
  readonly #jobs: Jobs;
  readonly #settings: ReturnType<typeof readConfig>;
  readonly #sessions = new Map<string, RegisteredSession>();
  readonly #requests = new Map<number, (done: Job) => void>();
  #lastRequest = 0;
  /** Whether the core will hear of the end of this turn of the event loop. */
  #isTurnTold = false;
  #state: 'idle' | 'starting' | 'started' = 'idle';
  #transport: Runnable | undefined;
  #tellEnded: (() => void) | undefined;
  /** The start or stop under way that was asked for last. */
  #turn: { readonly what: 'start' | 'stop'; readonly done: Promise<void> } | undefined;

  /**
   * Throws a `TypeError` that names the option for a wrong one, and for one that there is not.
   *
   * @example
   * const server = new MCPServer({ name: 'my-server', version: '1.0.0', runtime, nativeExecution: true });
   */
  constructor(config: MCPServerConfig = {}, executor?: HarnessToolExecutor) {
    const settings = readConfig(config, executor);
    const core = new native.NativeServer(MCPServer.#mailbox(this));
    unwrapOption(core.configure(settings.data, settings.secret));
    this.#native = core;
    this.#settings = settings;
    this.#runtimes = new Runtimes((number) => core.forget(number));
    this.#tools = new Tools(this.#registry, settings);
    this.#jobs = new Jobs({
      native: core,
      registry: this.#registry,
      runtimes: this.#runtimes,
      tools: this.#tools,
      logger: settings.logger,
      resolveRuntime: settings.resolveRuntime,
      identify: async (request) => {
        const warn = (message: string, error: unknown): void => void this.#jobs.thrown(message, error);
        return await this.#transport?.[IDENTIFY]?.(request, warn);
      },
    });
    if (settings.runtime !== undefined) this.#runtimes.hold(settings.runtime);
    this.#offer();
    registrars.set(this, this.#registrar());
  }

  /** The function that native code holds. It must not hold the server: no garbage collector sees through that circle. */
  static #mailbox(server: MCPServer): (batches: string[]) => void {
    const weak = new WeakRef(server);
    return (batches) => {
      const awaiting = weak.deref();
      if (awaiting !== undefined) awaiting.#deliver(batches);
    };
  }

  /**
   * Registers a tool, or replaces the one of its name. On the constructor's runtime it replaces a projected tool of its
   * name as well; for a tenant whose runtime has one, listing is an error.
   *
   * Throws a `TypeError` that names the tool and what is wrong with it.
   *
   * @example
   * server.register({ name: 'ping', inputSchema: { type: 'object' }, handler: () => ({ success: true, output: 'pong' }) });
   */
  register(tool: MCPToolDefinition, options?: RegisterOptions): void {
    const entry = toolEntry(tool, options, this.#settings.executor !== undefined);
    this.#registry.tools.set(entry.name, entry);
    this.#changed('tools');
  }

  /** The same as {@link MCPServer.register}. */
  registerTool(tool: MCPToolDefinition, options?: RegisterOptions): void {
    this.register(tool, options);
  }

  /** Takes a registered tool out again; gives whether there was one. */
  unregister(name: string): boolean {
    const was = this.#registry.tools.delete(name);
    if (was) this.#changed('tools');
    return was;
  }

  /**
   * Registers a resource, or replaces the one of its URI.
   *
   * Throws a `TypeError` that names it and what is wrong with it.
   *
   * @example
   * server.registerResource({ uri: 'memo://today', name: 'today', handler: () => ({ text: 'Buy milk.' }) });
   */
  registerResource(resource: MCPResource): void {
    const entry = resourceEntry(resource);
    this.#registry.resources.set(entry.uri, entry);
    this.#changed('resources');
  }

  /**
   * Registers a provider, which is called for every list and read. What was registered by itself wins over what it gives.
   *
   * Throws a `TypeError` for what is no function, and for a wrong option.
   *
   * @example
   * server.registerResources((context) => adaptHarnessArtifacts(context!.runtime), { perRequest: true });
   */
  registerResources(provide: MCPResourceProvider, options?: ProviderOptions): void {
    this.#registry.resourceProviders.push(provider('a provider of resources', provide, options));
    this.#changed('resources');
  }

  /**
   * Registers a template of resources, or replaces the one of its text. Of two that match a URI the earlier one counts.
   *
   * Throws a `TypeError` that names it and what is wrong with it; so for a template that is none of RFC 6570.
   *
   * @example
   * server.registerResourceTemplate({
   *   uriTemplate: 'memo://{day}',
   *   name: 'memo',
   *   handler: (_uri, { day }) => ({ text: `Nothing on ${day}.` }),
   * });
   */
  registerResourceTemplate(template: MCPResourceTemplate): void {
    const { templates } = this.#registry;
    const entry = templateEntry(template, (text) => Number(unwrapOption(this.#native.addTemplate(text))));
    const before = templates.get(entry.uriTemplate);
    if (before !== undefined) this.#native.removeTemplate(before.number);
    templates.set(entry.uriTemplate, entry);
    this.#changed('resources');
  }

  /**
   * Registers a prompt, or replaces the one of its name.
   *
   * Throws a `TypeError` that names it and what is wrong with it.
   *
   * @example
   * server.registerPrompt({ name: 'greet', handler: () => 'Say hello.' });
   */
  registerPrompt(prompt: MCPPrompt): void {
    const entry = promptEntry(prompt);
    this.#registry.prompts.set(entry.name, entry);
    this.#changed('prompts');
  }

  /**
   * Registers a provider of prompts, by the rules of {@link MCPServer.registerResources}.
   *
   * @example
   * server.registerPrompts(() => adaptHarnessPrompts(runtime));
   */
  registerPrompts(provide: MCPPromptProvider, options?: ProviderOptions): void {
    this.#registry.promptProviders.push(provider('a provider of prompts', provide, options));
    this.#changed('prompts');
  }

  /**
   * Registers a function that completes arguments of prompts and variables of templates. Several are asked in turn, until
   * one gives a list.
   *
   * Throws a `TypeError` for what is no function.
   *
   * @example
   * server.registerCompletion((_ref, { value }) => ['monday', 'tuesday'].filter((day) => day.startsWith(value)));
   */
  registerCompletion(completion: MCPCompletion): void {
    if (typeof completion !== 'function') throw new TypeError('a completion must be a function');
    this.#registry.completions.push(completion);
    this.#offer();
  }

  /**
   * Registers the runtime of a session, or replaces it. Its id is a credential where no tenant comes with it.
   *
   * Throws a `TypeError` for an id or a tenant that is no text, or half of a character in it, and for a runtime that is none.
   *
   * @example
   * server.registerSession(crypto.randomUUID(), acmeRuntime, { tenantId: 'acme' });
   */
  registerSession(sessionId: string, runtime: RuntimeLike, options: { tenantId?: string } = {}): void {
    assertIdentity('the id of a session', sessionId);
    if (!isHost(runtime)) throw new TypeError('the runtime of a session must be an object');
    assertBag('the options of a session', options, ['tenantId']);
    const { tenantId } = options;
    if (tenantId !== undefined) assertIdentity('tenantId', tenantId);
    const number = this.#runtimes.hold(runtime);
    this.#letGo(this.#sessions.get(sessionId));
    this.#sessions.set(sessionId, { sessionId, runtime, ...(tenantId === undefined ? {} : { tenantId }) });
    this.#native.setSession(sessionId, number, tenantId);
  }

  getSession(sessionId: string): RegisteredSession | undefined {
    const session = this.#sessions.get(sessionId);
    return session && { ...session };
  }

  listSessions(): RegisteredSession[] {
    return Array.from(this.#sessions.values(), (session) => ({ ...session }));
  }

  /** Takes a session out again; gives whether there was one. */
  unregisterSession(sessionId: string): boolean {
    const session = this.#sessions.get(sessionId);
    if (session === undefined) return false;
    this.#sessions.delete(sessionId);
    this.#native.removeSession(sessionId);
    this.#letGo(session);
    return true;
  }

  /** Has the tools of a runtime, or of all, projected anew: to be called when they changed. */
  invalidateToolCache(runtime?: RuntimeLike): void {
    this.#tools.invalidate(runtime);
    if (runtime === undefined) {
      this.#native.changed('tools');
      return;
    }
    // Of a runtime without a number nothing was listed.
    const number = this.#runtimes.known(runtime);
    if (number !== undefined) this.#native.changed('tools', number);
  }

  /** Tells every client that has subscribed to a resource, and may see it, that it was updated. */
  notifyResourceUpdated(uri: string): void {
    assertName('the uri of a resource', uri);
    this.#native.resourceUpdated(uri);
  }

  /**
   * Starts to serve over a transport. While it runs the process stays alive, until `stop` or the end of its input. A start
   * while one is under way is the same one. `{ transport: 'stdio' }` alone binds no transport: it is there for old code.
   *
   * Rejects with a `TypeError` for what is no transport, and with an `Error` when the server has started.
   *
   * @example
   * await server.start(createPluggableStdioTransport());
   */
  start(transport: MCPTransport | StartOptions): Promise<void> {
    if (this.#turn?.what === 'start') return this.#turn.done;
    return this.#take('start', () => this.#start(transport));
  }

  /** Stops serving: running calls may finish for a while, then they are aborted. Idempotent. */
  stop(): Promise<void> {
    if (this.#turn?.what === 'stop') return this.#turn.done;
    return this.#take('stop', () => this.#stop());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  isStarted(): boolean {
    return this.#state === 'started';
  }

  /** The transport that runs. */
  getTransport(): MCPTransport | undefined {
    return this.isStarted() ? this.#transport : undefined;
  }

  /** What `tools/list` serves of the constructor's runtime and of what is registered for everybody. */
  async listTools(): Promise<MCPToolDefinition[]> {
    const { text, failure } = await this.#request((id) => this.#native.listTools(id));
    if (failure !== undefined) throw toError(failure);
    return JSON.parse(text ?? '[]') as MCPToolDefinition[];
  }

  /**
   * Calls a tool in process, by the rules of the wire. What goes wrong is a result, and so is an abort; it never rejects.
   *
   * @example
   * const result = await server.callTool('ping', {});
   * if (result.success) console.error(result.output);
   */
  callTool(name: string, args?: Record<string, unknown>, signal?: AbortSignal): Promise<MCPToolResult> {
    const { runtime } = this.#settings;
    const thrown = (error: unknown): void => void this.#jobs.thrown(`call ${JSON.stringify(name)}`, error);
    return callInProcess({ tools: this.#tools, native: this.#native, runtime, name, args, signal, thrown });
  }

  /** What the server has done and is doing, in numbers. */
  stats(): ServerStats {
    return JSON.parse(this.#native.stats()) as ServerStats;
  }

  #registrar(): Registrar {
    const { tools, resources, prompts } = this.#registry;
    return {
      tool: (tool) => {
        const entry = toolEntry(tool, undefined, false);
        return this.#place(tools, entry.name, entry, 'tools');
      },
      resource: (resource) => {
        const entry = resourceEntry(resource);
        return this.#place(resources, entry.uri, entry, 'resources');
      },
      prompt: (prompt) => {
        const entry = promptEntry(prompt);
        return this.#place(prompts, entry.name, entry, 'prompts');
      },
    };
  }

  /** Takes back only what is still its own. */
  #place<Entry>(shelf: Map<string, Entry>, key: string, entry: Entry, kind: Kind): () => () => void {
    return () => {
      shelf.set(key, entry);
      this.#changed(kind);
      return () => {
        if (shelf.get(key) !== entry) return;
        shelf.delete(key);
        this.#changed(kind);
      };
    };
  }

  #changed(kind: Kind): void {
    this.#offer();
    this.#native.changed(kind);
  }

  /** Tells the core what there is. */
  #offer(): void {
    const { resources, templates, resourceProviders, prompts, promptProviders, completions } = this.#registry;
    const { runtime } = this.#settings;
    const facts = {
      resources: resources.size + templates.size + resourceProviders.length > 0,
      prompts: prompts.size + promptProviders.length > 0,
      completions: completions.length > 0,
      runtime: runtime === undefined ? null : this.#runtimes.numberOf(runtime),
    };
    this.#native.offer(JSON.stringify(facts));
  }

  #letGo(session: RegisteredSession | undefined): void {
    const number = session && this.#runtimes.known(session.runtime);
    if (number !== undefined) this.#runtimes.letGo(number);
  }

  /** One after the other, in the order in which they were asked for. */
  #take(what: 'start' | 'stop', work: () => Promise<void>): Promise<void> {
    const before = this.#turn?.done.catch(() => {});
    const done = before === undefined ? work() : before.then(work);
    const turn = { what, done };
    this.#turn = turn;
    const over = (): void => {
      if (this.#turn === turn) this.#turn = undefined;
    };
    done.then(over, over);
    return done;
  }

  async #start(given: MCPTransport | StartOptions): Promise<void> {
    if (this.#state !== 'idle') throw new Error('the server has started already');
    const transport = transportOf(given);
    this.#state = 'starting';
    awake.add(this);
    try {
      this.#transport = transport;
      await transport?.[BEGIN](this.#port());
      // It may have come to its end meanwhile.
      if (this.#state === 'starting') this.#state = 'started';
    } catch (error) {
      this.#end();
      throw error;
    }
  }

  async #stop(): Promise<void> {
    if (this.#state === 'idle') return;
    if (this.#transport !== undefined) {
      const ended = new Promise<void>((resolve) => (this.#tellEnded = resolve));
      this.#native.stop();
      await ended;
    }
    this.#end();
  }

  /** Whether it was stopped, or its transport came to an end by itself. */
  #end(): void {
    this.#transport?.[END]();
    this.#transport = undefined;
    this.#state = 'idle';
    this.#native.release();
    this.#tellEnded?.();
    this.#tellEnded = undefined;
    if (this.#requests.size === 0) awake.delete(this);
  }

  #port(): Port {
    return {
      startStdio: async (own, limits) => {
        const { failure } = await this.#request((id) => this.#native.startStdio(id, own, limits));
        if (failure !== undefined) throw toError(failure);
      },
      startNetwork: async (options) => {
        const { text, failure } = await this.#request((id) => this.#native.startNetwork(id, options));
        if (failure !== undefined) throw toError(failure);
        return Number(text);
      },
      input: (bytes) => this.#native.input(bytes),
      inputEnded: () => this.#native.inputEnded(),
      written: () => this.#native.written(true),
      broken: (why) => {
        log(this.#settings.logger, 'warn', `the transport ended: ${why}`);
        // Nothing can be written any more: what is on its way is not waited for.
        this.#native.written(false);
        void this.stop();
      },
    };
  }

  #request(start: (id: number) => void): Promise<Job> {
    const id = ++this.#lastRequest;
    awake.add(this);
    // Callbacks of the core keep no process alive, and somebody waits here.
    const alive = setInterval(() => {}, LONGEST_INTERVAL);
    return new Promise((resolve) => {
      this.#requests.set(id, (job) => {
        clearInterval(alive);
        resolve(job);
      });
      start(id);
    });
  }

  #deliver(batches: string[]): void {
    for (const batch of batches) for (const job of jobsOf(batch)) this.#handle(job);
    if (!this.#settings.takesTurns || this.#isTurnTold) return;
    this.#isTurnTold = true;
    setImmediate(() => {
      this.#isTurnTold = false;
      this.#native.turned();
    });
  }

  #handle(job: Job): void {
    const { kind, id } = job;
    if (kind === 'done') {
      const resolve = this.#requests.get(id);
      this.#requests.delete(id);
      if (this.#requests.size === 0 && this.#state === 'idle') awake.delete(this);
      resolve?.(job);
    } else if (kind === 'write') {
      this.#transport?.[WRITE](job.text ?? '');
    } else if (kind === 'pull') {
      this.#transport?.[PULL]();
    } else if (kind === 'ended') {
      if (job.failure !== undefined) log(this.#settings.logger, 'warn', `the transport ended: ${job.failure.message}`);
      this.#end();
    } else {
      this.#jobs.take(job);
    }
  }
}

/** In milliseconds: the longest that there is. */
const LONGEST_INTERVAL = 2 ** 31 - 1;

type Kind = 'tools' | 'resources' | 'prompts';

/** Checks an entry at once; what it gives registers it, and gives what takes it out again. */
type Place<Source> = (source: Source) => () => () => void;

export interface Registrar {
  readonly tool: Place<MCPToolDefinition>;
  readonly resource: Place<MCPResource>;
  readonly prompt: Place<MCPPrompt>;
}

/** The transport to run; nothing for the form that binds none. */
function transportOf(given: unknown): Runnable | undefined {
  if (isRunnable(given)) {
    // What another server does with it must not be disturbed.
    if (given[RUNS]) throw new Error('the transport runs already');
    return given;
  }
  if (isObject(given) && (given['transport'] === 'sse' || given['transport'] === 'websocket')) {
    const { transport, ...options } = given;
    return networkTransport(transport, options);
  }
  if (isObject(given) && given['transport'] === 'stdio') {
    assertBag('the options of start', given, ['transport']);
    return undefined;
  }
  throw new TypeError('start takes a transport that the package made');
}
