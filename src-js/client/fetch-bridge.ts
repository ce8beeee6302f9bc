// The user's `fetch` in place of the core's HTTP stack. The core decides; here a request is made, and its answer handed
// over piece by piece, each when it is asked for. Little is read ahead: a stream that breaks off forgets what it held.

import { describe } from '../describe.js';
import type { McpFetch } from '../types/client.js';

/** Where the answers go. */
interface Core {
  fetchHead(id: number, status: number, headers: string[]): void;
  /** `null` is the end. */
  fetchChunk(id: number, chunk: Uint8Array | null): void;
  fetchFailed(id: number, reason: string): void;
}

/** A request without its body. Its headers have a character for each byte. */
interface Request {
  method: string;
  url: string;
  headers: [name: string, value: string][];
}

interface Exchange {
  abort: AbortController;
  request: Request;
  body?: Chunks | undefined;
  /** Read and not yet asked for. */
  ahead: Uint8Array[];
  aheadBytes: number;
  isReading: boolean;
  isAsked: boolean;
  /** The end of the body, and what it broke off with. */
  end?: { error?: unknown };
}

/** A body that is read a chunk at a time. */
interface Chunks {
  next(): Promise<{ done?: boolean | undefined; value?: unknown }>;
  cancel(): unknown;
}

/** The headers that hold nothing of the user's. */
const PUBLIC = new Set(['accept', 'content-type', 'mcp-method', 'mcp-name', 'mcp-protocol-version']);

/** Shorter ones would blank out ordinary words. */
const SECRET_MIN_CHARS = 4;

const MAX_REASON_CHARS = 500;

/** No more is read than this and the chunk that goes over it. */
const READ_AHEAD_BYTES = 64 * 1024;

/** What a chunk counts for at least: there may be many, and empty ones. */
const MIN_CHUNK_BYTES = 1024;

export class FetchBridge {
  readonly #fetch: McpFetch;
  readonly #core: Core;
  readonly #exchanges = new Map<number, Exchange>();

  constructor(fetch: McpFetch, core: Core) {
    this.#fetch = fetch;
    this.#core = core;
  }

  /** Makes a request. */
  async start(id: number, text: string): Promise<void> {
    const { body, ...request } = JSON.parse(text) as Request & { body: string | null };
    const { method, url, headers: pairs } = request;
    const exchange: Exchange = {
      abort: new AbortController(),
      request,
      ahead: [],
      aheadBytes: 0,
      isReading: false,
      isAsked: false,
    };
    this.#exchanges.set(id, exchange);
    try {
      const headers = new Headers();
      for (const [name, value] of pairs) headers.append(name, value);
      const { signal } = exchange.abort;
      // Not as a method of ours.
      const fetch = this.#fetch;
      const response: unknown = await fetch(new URL(url), {
        method,
        headers,
        ...(body === null ? {} : { body }),
        signal,
        redirect: 'manual',
      });
      if (this.#exchanges.get(id) !== exchange) {
        // Somebody's `fetch` does not listen to its signal.
        quietly(() => bodyOf(response)?.cancel());
        return;
      }
      const head = headOf(response);
      exchange.body = bodyOf(response);
      this.#core.fetchHead(id, head.status, head.headers);
      void this.#read(id, exchange);
    } catch (error) {
      this.#fail(id, error, body);
    }
  }

  /** Hands over the next chunk of an answer, as soon as there is one. */
  pull(id: number): void {
    const exchange = this.#exchanges.get(id);
    if (exchange === undefined) return;
    exchange.isAsked = true;
    this.#hand(id, exchange);
    void this.#read(id, exchange);
  }

  /** Gives a request up: its signal fires, and nobody reads its body any more. */
  drop(id: number): void {
    const exchange = this.#exchanges.get(id);
    if (exchange === undefined) return;
    this.#exchanges.delete(id);
    exchange.abort.abort();
    quietly(() => exchange.body?.cancel());
  }

  close(): void {
    for (const id of this.#exchanges.keys()) this.drop(id);
  }

  async #read(id: number, exchange: Exchange): Promise<void> {
    if (exchange.isReading || exchange.end !== undefined) return;
    exchange.isReading = true;
    try {
      while (exchange.aheadBytes < READ_AHEAD_BYTES && this.#exchanges.get(id) === exchange) {
        // One read after the other: the order is the body's.
        const next = await exchange.body?.next();
        if (next === undefined || next.done === true) {
          exchange.end = {};
          break;
        }
        const chunk = bytesOf(next.value);
        exchange.ahead.push(chunk);
        exchange.aheadBytes += costOf(chunk);
        this.#hand(id, exchange);
      }
    } catch (error) {
      exchange.end = { error };
    }
    exchange.isReading = false;
    this.#hand(id, exchange);
  }

  #hand(id: number, exchange: Exchange): void {
    if (!exchange.isAsked || this.#exchanges.get(id) !== exchange) return;
    const chunk = exchange.ahead.shift();
    if (chunk !== undefined) {
      exchange.isAsked = false;
      exchange.aheadBytes -= costOf(chunk);
      this.#core.fetchChunk(id, chunk);
    } else if (exchange.end !== undefined && 'error' in exchange.end) {
      this.#fail(id, exchange.end.error);
    } else if (exchange.end !== undefined) {
      this.#exchanges.delete(id);
      this.#core.fetchChunk(id, null);
    }
  }

  #fail(id: number, error: unknown, body: string | null = null): void {
    const exchange = this.#exchanges.get(id);
    if (exchange === undefined) return;
    this.drop(id);
    this.#core.fetchFailed(id, reasonOf(error, secretsOf(exchange.request, body)));
  }
}

/** Throws for what is no answer to a request. */
function headOf(response: unknown): { status: number; headers: string[] } {
  if (typeof response !== 'object' || response === null) {
    throw new TypeError(`it gave ${response === null ? 'null' : typeof response}, which is no Response`);
  }
  const { status, type, redirected, headers } = response as Partial<Response>;
  if (type === 'opaqueredirect') {
    throw new TypeError("it hid a redirect (a response of the type 'opaqueredirect'), which cannot be judged");
  }
  // Where it went on to was not judged, and may not be allowed.
  if (redirected === true) throw new TypeError("it followed a redirect although it was told redirect: 'manual'");
  if (status === 0) throw new TypeError('it gave a response of status 0, which hides what happened');
  if (typeof status !== 'number' || !Number.isInteger(status) || status < 200 || status > 599) {
    throw new TypeError('it gave something without an HTTP status, which is no Response');
  }
  if (!isIterable(headers)) throw new TypeError('it gave something without headers, which is no Response');
  const flat: string[] = [];
  for (const [name, value] of headers as Iterable<unknown[]>) {
    if (typeof name === 'string' && typeof value === 'string') flat.push(name, value);
  }
  return { status, headers: flat };
}

/** By shape: a body may be of another realm, or a stream of Node's. */
function bodyOf(response: unknown): Chunks | undefined {
  const { body } = response as { body?: unknown };
  if (body == null) return undefined;
  const { getReader } = body as Partial<ReadableStream>;
  if (typeof getReader === 'function') {
    const reader = (body as ReadableStream).getReader();
    return { next: () => reader.read(), cancel: () => reader.cancel() };
  }
  if (typeof body === 'object' && Symbol.asyncIterator in body) {
    const chunks = (body as AsyncIterable<unknown>)[Symbol.asyncIterator]();
    const { destroy } = body as { destroy?: unknown };
    return {
      next: () => chunks.next(),
      // A stream of Node's ends its pending read only when it is destroyed.
      cancel: () => (typeof destroy === 'function' ? (destroy.call(body) as unknown) : chunks.return?.()),
    };
  }
  throw new TypeError('it gave a body that is no stream');
}

function bytesOf(chunk: unknown): Uint8Array {
  if (typeof chunk === 'string') return new TextEncoder().encode(chunk);
  if (ArrayBuffer.isView(chunk)) return new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  throw new TypeError(`its body gave ${chunk === null ? 'null' : typeof chunk} instead of bytes`);
}

function costOf(chunk: Uint8Array): number {
  return Math.max(chunk.byteLength, MIN_CHUNK_BYTES);
}

function isIterable(value: unknown): value is Iterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.iterator in value;
}

/** What gives up may fail on its own: nobody is there any more who could be told. */
function quietly(giveUp: () => unknown): void {
  try {
    Promise.resolve(giveUp()).catch(() => {});
  } catch {
    // As above.
  }
}

/** Whatever of a request no text may repeat. */
function secretsOf({ url, headers }: Request, body: string | null): string[] {
  const { search, searchParams } = new URL(url);
  const query = search.slice(1);
  const written = query.split('&').map((pair) => pair.slice(pair.indexOf('=') + 1));
  const values = headers.filter(([name]) => !PUBLIC.has(name)).map(([, value]) => value);
  const credentials = values.map((value) => value.slice(value.indexOf(' ') + 1));
  const secrets = [body ?? '', query, ...written, ...searchParams.values(), ...values, ...credentials];
  const long = secrets.filter((secret) => secret.length >= SECRET_MIN_CHARS);
  // No value is cut short by one that it contains.
  return long.toSorted((a, b) => b.length - a.length);
}

/** What was thrown, and what caused it: Node's `fetch` says only there what happened. */
function reasonOf(thrown: unknown, secrets: string[]): string {
  let reason = describe(thrown);
  const cause = causeOf(thrown);
  if (cause !== undefined && cause !== '') reason += `: ${cause}`;
  for (const secret of secrets) reason = reason.replaceAll(secret, '[redacted]');
  reason = reason.replace(URLS, (url) => bare(url));
  return reason.length > MAX_REASON_CHARS ? `${reason.slice(0, MAX_REASON_CHARS)}…` : reason;
}

function causeOf(thrown: unknown): string | undefined {
  try {
    return thrown instanceof Error && thrown.cause != null ? describe(thrown.cause) : undefined;
  } catch {
    // An error whose members throw says nothing of its cause.
    return undefined;
  }
}

const URLS = /\bhttps?:\/\/[^\s"'<>]+/gi;

/** A URL without what may be secret in it. */
function bare(url: string): string {
  return url.replace(/[?#].*$/s, '').replace(/^(https?:\/\/)[^/]*@/i, '$1');
}
