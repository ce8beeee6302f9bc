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

export class Resources implements McpResources {
  readonly #ask: AskServer;
  /** By server and URI: who hears of updates, and the request that has subscribed. */
  readonly #subscriptions = new Map<
    string,
    { heard: Set<{ call: (uri: string) => void }>; stands: Promise<unknown> }
  >();
  readonly #projectedName: (server: string) => string;

  constructor(ask: AskServer, projectedName: (server: string) => string) {
    this.#ask = ask;
    this.#projectedName = projectedName;
  }

  async list(server?: string): Promise<McpListedResource[]> {
    return (await this.#ask({ method: 'resources/list', server })) as McpListedResource[];
  }

  async templates(server?: string): Promise<McpListedResourceTemplate[]> {
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
    const entry = { call: listener };
    let subscription = this.#subscriptions.get(key);
    if (subscription === undefined) {
      const stands = this.#ask({ method: 'resources/subscribe', server, params: { uri } });
      subscription = { heard: new Set(), stands };
      this.#subscriptions.set(key, subscription);
    }
    subscription.heard.add(entry);
    try {
      await subscription.stands;
    } catch (error) {
      if (this.#subscriptions.get(key) === subscription) this.#subscriptions.delete(key);
      throw error;
    }
    return () => this.#leave(server, uri, entry);
  }

  /** A resource of a server, by its projected name, was updated. */
  updated(server: string, uri: string): void {
    const heard = Array.from(this.#subscriptions.get(keyOf(server, uri))?.heard ?? []);
    for (const { call } of heard) guarded('the listener of a resource', () => call(uri));
  }

  async #leave(server: string, uri: string, entry: { call: (uri: string) => void }): Promise<void> {
    const key = keyOf(this.#projectedName(server), uri);
    const subscription = this.#subscriptions.get(key);
    if (subscription?.heard.delete(entry) !== true || subscription.heard.size > 0) return;
    this.#subscriptions.delete(key);
    await this.#ask({ method: 'resources/unsubscribe', server, params: { uri } });
  }
}

export class Prompts implements McpPrompts {
  readonly #ask: AskServer;

  constructor(ask: AskServer) {
    this.#ask = ask;
  }

  async list(server?: string): Promise<McpListedPrompt[]> {
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

function assertStrings(values: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(values)) {
    if (typeof value !== 'string') throw new McpError('invalid-arguments', `the ${name} must be a string`);
  }
}
