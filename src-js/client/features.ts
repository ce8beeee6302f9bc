// Resources and prompts of the connected servers, over one function that asks.

import { McpError } from '../errors.js';
import type {
  McpListedPrompt,
  McpListedResource,
  McpListedResourceTemplate,
  McpPromptResult,
  McpPrompts,
  McpReadResult,
  McpResources,
  McpCompletion,
} from '../types/client.js';
import { assertFunction } from './options.js';
import { guarded } from './report.js';

/** Asks a server, or all of them, and gives the JSON value of the answer. */
export type AskServer = (question: {
  method: string;
  server?: string | undefined;
  params?: Record<string, unknown>;
  signal?: AbortSignal | undefined;
}) => Promise<unknown>;

interface Entry {
  call: (uri: string) => void;
}

export class Resources implements McpResources {
  readonly #ask: AskServer;
  /** By server and URI: who hears of updates. */
  readonly #heard = new Map<string, Set<Entry>>();
  /** Subscriptions that are being ended: one to the same resource begins after that. */
  readonly #leaving = new Map<string, Promise<unknown>>();
  readonly #projectedName: (server: string) => string;

  constructor(ask: AskServer, projectedName: (server: string) => string) {
    this.#ask = ask;
    this.#projectedName = projectedName;
  }

  async list(server?: string): Promise<McpListedResource[]> {
    assertServer(server);
    return (await this.#ask({ method: 'resources/list', server })) as McpListedResource[];
  }

  async templates(server?: string): Promise<McpListedResourceTemplate[]> {
    assertServer(server);
    return (await this.#ask({ method: 'resources/templates/list', server })) as McpListedResourceTemplate[];
  }

  async read(server: string, uri: string, options?: { signal?: AbortSignal }): Promise<McpReadResult> {
    assertStrings({ server, uri });
    const question = { method: 'resources/read', server, params: { uri }, signal: options?.signal };
    return (await this.#ask(question)) as McpReadResult;
  }

  async subscribe(server: string, uri: string, listener: (uri: string) => void): Promise<() => Promise<void>> {
    assertStrings({ server, uri });
    assertFunction('the listener of a resource', listener);
    const key = keyOf(this.#projectedName(server), uri);
    // An entry of its own, so that one function may listen twice.
    const entry = { call: listener };
    const heard = this.#heard.get(key) ?? new Set();
    this.#heard.set(key, heard.add(entry));
    try {
      await this.#leaving.get(key);
      // One that stands already is no request.
      await this.#ask({ method: 'resources/subscribe', server, params: { uri } });
    } catch (error) {
      this.#forget(key, entry);
      throw error;
    }
    return () => this.#leave(key, entry, server, uri);
  }

  /** The resource `uri` of a server, by its projected name, was updated: the one that was subscribed to, or part of it. */
  updated(server: string, subscription: string, uri: string): void {
    const heard = Array.from(this.#heard.get(keyOf(server, subscription)) ?? []);
    for (const { call } of heard) guarded('the listener of a resource', () => call(uri));
  }

  async #leave(key: string, entry: Entry, server: string, uri: string): Promise<void> {
    if (!this.#forget(key, entry)) return;
    const left = this.#ask({ method: 'resources/unsubscribe', server, params: { uri } });
    // Who waits for its turn is not told how it ended.
    const over = Promise.allSettled([left]);
    this.#leaving.set(key, over);
    try {
      await left;
    } finally {
      if (this.#leaving.get(key) === over) this.#leaving.delete(key);
    }
  }

  /** True for the last one that listened. */
  #forget(key: string, entry: Entry): boolean {
    const heard = this.#heard.get(key);
    if (heard?.delete(entry) !== true || heard.size > 0) return false;
    return this.#heard.delete(key);
  }
}

export class Prompts implements McpPrompts {
  readonly #ask: AskServer;

  constructor(ask: AskServer) {
    this.#ask = ask;
  }

  async list(server?: string): Promise<McpListedPrompt[]> {
    assertServer(server);
    return (await this.#ask({ method: 'prompts/list', server })) as McpListedPrompt[];
  }

  async get(
    server: string,
    name: string,
    args?: Record<string, string>,
    options?: { signal?: AbortSignal },
  ): Promise<McpPromptResult> {
    assertStrings({ server, name });
    const params = { name, ...(args == null ? {} : { arguments: args }) };
    return (await this.#ask({ method: 'prompts/get', server, params, signal: options?.signal })) as McpPromptResult;
  }

  async complete(
    server: string,
    ref: Parameters<McpPrompts['complete']>[1],
    argument: { name: string; value: string },
    context?: { arguments?: Record<string, string> },
  ): Promise<McpCompletion> {
    assertStrings({ server });
    const params = { ref, argument, ...(context == null ? {} : { context }) };
    return (await this.#ask({ method: 'completion/complete', server, params })) as McpCompletion;
  }
}

function keyOf(server: string, uri: string): string {
  return JSON.stringify([server, uri]);
}

function assertServer(server: unknown): void {
  if (server !== undefined) assertStrings({ server });
}

function assertStrings(values: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(values)) {
    if (typeof value !== 'string') throw new McpError('invalid-arguments', `the ${name} must be a string`);
  }
}
