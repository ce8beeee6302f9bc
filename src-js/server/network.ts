// Transports that listen on a port. The core does the work; here is what only JavaScript can do, which is to call the
// functions that say who is behind a request.

import type {
  AuthInfo,
  MCPTransport,
  NetworkRequest,
  SSETransportOptions,
  StreamableHttpTransportOptions,
  WebSocketTransportOptions,
} from '../types/server.js';
import { Authenticator } from './auth.js';
import { type Bag, assertType, isObject, isWholeText, unwrapOption } from './check.js';
import { native } from '../native.js';
import { BEGIN, END, IDENTIFY, PULL, type Port, RUNS, type Runnable, WRITE, spell } from './transports.js';

type Kind = 'sse' | 'streamable-http' | 'websocket';

/** Where a transport is reached, for what tests it. */
export const WHERE: unique symbol = Symbol('where');

/** The routes, each with its path where there is one; `host` as URLs have it. */
export interface Whereabouts {
  readonly host: string;
  readonly isSecure: boolean;
  readonly streamable?: string;
  readonly sse?: string;
  readonly websocket?: string;
}

/** What the core is told of who is behind a request: whose it is, or how to refuse it. */
type Identified =
  | { tenantId?: string; sessionId?: string; auth?: AuthInfo }
  | { refused: 'token' | 'scope' | 'identity' };

/** Says whose a request is. */
type Extractor = (request: NetworkRequest) => unknown;

/**
 * Listens on a port for clients of HTTP+SSE, and for those of Streamable HTTP as well when `streamableHttp` is set.
 *
 * Throws a `TypeError` that names the option: one that is wrong, and one that there is not.
 *
 * @example
 * await server.start(createSSETransport({ port: 3001, streamableHttp: true }));
 */
export function createSSETransport(options: SSETransportOptions): MCPTransport {
  return new NetworkTransport('sse', options);
}

/**
 * Listens on a port for clients of Streamable HTTP.
 *
 * Throws a `TypeError` that names the option: one that is wrong, and one that there is not.
 *
 * @example
 * const transport = createStreamableHttpTransport({ port: 0 });
 * await server.start(transport);
 * console.error(`http://127.0.0.1:${transport.port}/mcp`);
 */
export function createStreamableHttpTransport(options: StreamableHttpTransportOptions): MCPTransport {
  return new NetworkTransport('streamable-http', options);
}

/**
 * Listens on a port for WebSocket clients: one message a text frame, subprotocol `mcp`.
 *
 * Throws a `TypeError` that names the option: one that is wrong, and one that there is not.
 *
 * @example
 * await server.start(createWebSocketTransport({ port: 3002, path: '/ws' }));
 */
export function createWebSocketTransport(options: WebSocketTransportOptions): MCPTransport {
  return new NetworkTransport('websocket', options);
}

/** The transport that the options of `start` describe. */
export function networkTransport(type: 'sse' | 'websocket', options: object): Runnable {
  return new NetworkTransport(type, options as SSETransportOptions | WebSocketTransportOptions);
}

class NetworkTransport implements Runnable {
  readonly type: Kind;
  readonly #options: string;
  readonly #auth: Authenticator | undefined;
  readonly #tenant: Extractor | undefined;
  readonly #session: Extractor | undefined;
  readonly #asked: number;
  readonly [WHERE]: Whereabouts;
  #port: number | undefined;
  [RUNS] = false;

  constructor(type: Kind, options: SSETransportOptions | StreamableHttpTransportOptions | WebSocketTransportOptions) {
    if (!isObject(options)) throw new TypeError('the options of the transport must be an object');
    const { auth, tenantIdExtractor, sessionIdExtractor, ...data } = options as Bag;
    assertType('tenantIdExtractor', tenantIdExtractor, 'function');
    assertType('sessionIdExtractor', sessionIdExtractor, 'function');
    this.type = type;
    this.#auth = auth === undefined ? undefined : new Authenticator(auth);
    this.#tenant = tenantIdExtractor as Extractor | undefined;
    this.#session = sessionIdExtractor as Extractor | undefined;
    const isTenantAware = tenantIdExtractor !== undefined;
    const identifies = isTenantAware || sessionIdExtractor !== undefined || auth !== undefined;
    this.#options = JSON.stringify({ ...data, auth: this.#auth?.data, kind: type, identifies, isTenantAware }, spell);
    this[WHERE] = JSON.parse(unwrapOption(native.nativeCheckNetworkOptions(this.#options))) as Whereabouts;
    this.#asked = data['port'] as number;
  }

  /** The one that was asked for; of `0`, the one that is bound while it runs. */
  get port(): number {
    return this.#port ?? this.#asked;
  }

  async [BEGIN](port: Port): Promise<void> {
    this[RUNS] = true;
    this.#port = await port.startNetwork(this.#options);
  }

  [END](): void {
    this[RUNS] = false;
    this.#port = undefined;
  }

  [WRITE](): void {
    // The core writes by itself.
  }

  [PULL](): void {
    // The core reads by itself.
  }

  /** Says whose a request is. A tenant that cannot be told is refused; a session alone is not. */
  async [IDENTIFY](text: string, warn: (message: string, error: unknown) => void): Promise<string> {
    const { token, ...request } = requestOf(text);
    return JSON.stringify(await this.#identify(token, request, warn));
  }

  async #identify(
    token: string | undefined,
    asked: NetworkRequest,
    warn: (message: string, error: unknown) => void,
  ): Promise<Identified> {
    const identified: { tenantId?: string; sessionId?: string; auth?: AuthInfo } = {};
    let request = asked;
    if (this.#auth !== undefined) {
      const verdict = await this.#auth.authenticate(token ?? '', request, warn);
      if ('refused' in verdict) return verdict;
      identified.auth = verdict.auth;
      request = { ...asked, auth: verdict.auth };
    }
    if (this.#tenant !== undefined) {
      const tenantId = await extract('tenantIdExtractor', this.#tenant, request, warn);
      if (!isId(tenantId)) return { refused: 'identity' };
      identified.tenantId = tenantId;
    }
    if (this.#session !== undefined) {
      const sessionId = await extract('sessionIdExtractor', this.#session, request, warn);
      // What is no id is the id of no session.
      if (sessionId != null) identified.sessionId = isId(sessionId) ? sessionId : '';
    }
    return identified;
  }
}

/** Half a character would make it the id of somebody else. */
function isId(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && isWholeText(value);
}

/** What an extractor gives; one that throws gives what can be no id. */
async function extract(
  name: string,
  extractor: Extractor,
  request: NetworkRequest,
  warn: (message: string, error: unknown) => void,
): Promise<unknown> {
  try {
    return await extractor(request);
  } catch (error) {
    warn(`${name} failed`, error);
    return '';
  }
}

/** A request as the functions of a transport see it. Headers and query have no prototype: a name may be any. */
function requestOf(text: string): NetworkRequest & { token?: string } {
  const request = JSON.parse(text) as NetworkRequest & { token?: string };
  return { ...request, query: bare(request.query), headers: bare(request.headers) };
}

function bare(members: Readonly<Record<string, string | undefined>>): Record<string, string | undefined> {
  const copy = Object.create(null) as Record<string, string | undefined>;
  for (const [name, value] of Object.entries(members)) copy[name] = value;
  return copy;
}
