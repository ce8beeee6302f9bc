// A client of one tenant over one transport, as close to the wire as it goes: whatever it is sent is heard before it is
// read, and nothing that a server does makes it reject.

import { setMaxListeners } from 'node:events';

import { KEPT_NOTIFICATIONS, POLL } from './bounds.js';
import type { Place } from './http.js';

export type Json = Record<string, unknown>;

/** Where everything goes that a client is sent. */
export interface Ear {
  /**
   * `about` is the method that was answered or that it is of; `said` are texts that the client itself had sent in the
   * request which this answers.
   */
  hear(text: string, about: string, said: readonly string[]): void;
}

export interface Answer {
  readonly result?: Json;
  readonly error?: { code: number; message: string; data?: unknown };
}

/** What became of a request. */
export interface Outcome {
  /** Of the HTTP reply, where there was one; otherwise 0. */
  readonly status: number;
  readonly answer: Answer | undefined;
  /** Why there is no answer. */
  readonly refusal: string;
}

export interface RequestOptions {
  readonly id?: string | number;
  readonly said?: readonly string[];
  readonly signal?: AbortSignal;
}

export interface Notification {
  readonly method: string;
  readonly params: Json;
}

/** What became of a message on its way out. */
interface Sent {
  readonly status: number;
  /** Why no answer will come; nothing where one may. */
  readonly refusal?: string;
}

export interface LaneOptions {
  readonly place: Place;
  readonly headers: Readonly<Record<string, string>>;
  readonly ear: Ear;
  readonly requestTimeoutMs: number;
  /** Ends everything. */
  readonly signal: AbortSignal;
}

export abstract class Lane {
  readonly notifications: Notification[] = [];
  protected readonly options: LaneOptions;
  /** Ends whatever is open. */
  protected readonly ending: AbortController = new AbortController();
  readonly #waiting = new Map<string, (answer: Answer) => void>();
  readonly #asked = new Map<string, { method: string; said: readonly string[] }>();
  readonly #prefix: string;
  #last = 0;
  #requests = 0;

  /** Ids of its requests begin with `prefix`, which nobody else should be sent. */
  constructor(options: LaneOptions, prefix: string) {
    this.options = options;
    this.#prefix = prefix;
    // As many wait for the end as requests are under way.
    setMaxListeners(0, options.signal, this.ending.signal);
    const end = (): void => this.ending.abort();
    if (options.signal.aborted) end();
    else options.signal.addEventListener('abort', end, { once: true });
  }

  /** How many requests it has sent. */
  get requests(): number {
    return this.#requests;
  }

  /** Connects, and gives what the handshake was answered. */
  abstract open(): Promise<Outcome>;

  /** Has updates of resources told; gives what that was answered. */
  abstract subscribe(uris: readonly string[]): Promise<Outcome[]>;

  abstract close(): Promise<void>;

  /** Sends a message; resolves when it is on its way, or known to go nowhere. */
  protected abstract send(message: Json, signal: AbortSignal): Promise<Sent>;

  /** What is added to the params of each request. */
  protected envelope(params: Json): Json {
    return params;
  }

  nextId(): string {
    this.#last += 1;
    return `${this.#prefix}-${this.#last}`;
  }

  async request(method: string, params: Json = {}, options: RequestOptions = {}): Promise<Outcome> {
    const { id = this.nextId(), said = [], signal } = options;
    const key = JSON.stringify(id);
    this.#asked.set(key, { method, said });
    this.#requests += 1;
    const answered = new Promise<Outcome>((resolve) =>
      this.#waiting.set(key, (answer) => resolve({ status: 200, answer, refusal: '' })),
    );
    const giveUp = new AbortController();
    const { requestTimeoutMs } = this.options;
    let timer: NodeJS.Timeout | undefined;
    const over = new Promise<Outcome>((resolve) => {
      const end = (refusal: string) => (): void => {
        resolve({ status: 0, answer: undefined, refusal });
        giveUp.abort();
      };
      timer = setTimeout(end(`no answer within ${requestTimeoutMs} ms`), requestTimeoutMs);
      for (const other of [signal, this.ending.signal]) {
        const stop = end('given up');
        if (other?.aborted === true) stop();
        else other?.addEventListener('abort', stop, { once: true, signal: giveUp.signal });
      }
    });
    const message = { jsonrpc: '2.0', id, method, params: this.envelope(params) };
    const refused = this.#deliver(message, giveUp.signal).then(async ({ status, refusal }): Promise<Outcome> => {
      if (refusal === undefined) return answered;
      // What was answered before the end counts.
      return Promise.race([answered, Promise.resolve({ status, answer: undefined, refusal })]);
    });
    const outcome = await Promise.race([answered, refused, over]);
    clearTimeout(timer);
    giveUp.abort();
    this.#waiting.delete(key);
    return outcome;
  }

  async notify(method: string, params: Json = {}): Promise<void> {
    await this.#deliver({ jsonrpc: '2.0', method, params }, this.ending.signal);
  }

  /** Whether such a notification comes within so long. */
  async hears(wanted: (notification: Notification) => boolean, withinMs: number): Promise<boolean> {
    const deadline = performance.now() + withinMs;
    for (;;) {
      if (this.notifications.some((notification) => wanted(notification))) return true;
      if (performance.now() > deadline || this.ending.signal.aborted) return false;
      await new Promise((resolve) => {
        setTimeout(resolve, POLL);
      });
    }
  }

  /** Takes what came as a message. */
  protected take(text: string, around = ''): void {
    let parsed: unknown;
    try {
      parsed = JSON.parse(text);
    } catch {
      this.options.ear.hear(around + text, 'what is no message', []);
      return;
    }
    const messages = (Array.isArray(parsed) ? parsed : [parsed]).filter(isObject);
    const asked = messages.map((message) => this.#askedOf(message));
    const method = messages[0]?.['method'];
    const about = asked[0]?.method ?? (typeof method === 'string' ? method : 'an answer to nothing');
    this.options.ear.hear(
      around + text,
      about,
      asked.flatMap((of) => of?.said ?? []),
    );
    for (const message of messages) this.#handle(message);
  }

  /** Hears what is no message. `said` as in {@link Ear.hear}. */
  protected overhear(text: string, about: string, message?: Json): void {
    const asked = message && this.#askedOf({ id: message['id'] });
    this.options.ear.hear(text, asked?.method ?? about, asked?.said ?? []);
  }

  /** Says what a request is about that goes another way than {@link Lane.request}. */
  protected expect(id: string, method: string, said: readonly string[]): void {
    this.#requests += 1;
    this.#asked.set(JSON.stringify(id), { method, said });
  }

  #askedOf(message: Json): { method: string; said: readonly string[] } | undefined {
    const { method, params } = message;
    if (method === undefined) return this.#asked.get(JSON.stringify(message['id']));
    if (method !== 'notifications/subscriptions/acknowledged' || !isObject(params)) return undefined;
    // It repeats what was asked for.
    const meta = params['_meta'];
    return isObject(meta) ? this.#asked.get(JSON.stringify(meta[SUBSCRIPTION_ID])) : undefined;
  }

  #handle(message: Json): void {
    const { method, id } = message;
    if (typeof method !== 'string') {
      this.#waiting.get(JSON.stringify(id))?.(message);
    } else if (id === undefined) {
      if (this.notifications.length < KEPT_NOTIFICATIONS) {
        this.notifications.push({ method, params: isObject(message['params']) ? message['params'] : {} });
      }
    } else {
      const answer =
        method === 'ping' ? { result: {} } : { error: { code: -32_601, message: 'this client is asked nothing' } };
      void this.#deliver({ jsonrpc: '2.0', id, ...answer }, this.ending.signal);
    }
  }

  async #deliver(message: Json, signal: AbortSignal): Promise<Sent> {
    try {
      return await this.send(message, signal);
    } catch (error) {
      return { status: 0, refusal: error instanceof Error ? error.message : String(error) };
    }
  }
}

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const SUBSCRIPTION_ID = 'io.modelcontextprotocol/subscriptionId';

/** The newest revision with sessions, and the one without. */
export const SESSION_REVISION = '2025-11-25';
export const STATELESS_REVISION = '2026-07-28';

/** What a client says when it opens a session. */
export const HANDSHAKE: Json = {
  protocolVersion: SESSION_REVISION,
  capabilities: {},
  clientInfo: { name: 'espalier/testing', version: '1' },
};

export const JSON_AND_EVENTS: Readonly<Record<string, string>> = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
};

/** What a reply says that is neither an answer nor a stream. */
export function refusalOf(status: number, body: string): string {
  return `HTTP ${status}${body === '' ? '' : ` ${body}`}`;
}
