// Clients of Streamable HTTP: with a session, and with requests that say everything themselves.

import { FAREWELL } from './bounds.js';
import { ask, type Reply, type StreamEvent } from './http.js';
import {
  HANDSHAKE,
  type Json,
  JSON_AND_EVENTS,
  Lane,
  type Outcome,
  SESSION_REVISION,
  STATELESS_REVISION,
  refusalOf,
} from './lane.js';

abstract class StreamableLane extends Lane {
  /** The headers of a message, but for those of the tenant. */
  protected abstract headersOf(message: Json): Record<string, string>;

  protected async send(message: Json, signal: AbortSignal): Promise<{ status: number; refusal?: string }> {
    const reply = await this.post(message, signal);
    const { status, body, ended } = reply;
    if (ended !== undefined) {
      await ended;
      return { status, refusal: 'the stream ended without an answer' };
    }
    if (body === '') return { status, refusal: refusalOf(status, '') };
    if (/^\s*[[{]/.test(body)) {
      this.take(body);
      return { status, refusal: refusalOf(status, body) };
    }
    this.overhear(body, 'a reply', message);
    return { status, refusal: refusalOf(status, body) };
  }

  protected async post(message: Json, signal: AbortSignal): Promise<Reply> {
    const { place, headers } = this.options;
    const reply = await ask(place, {
      method: 'POST',
      headers: { ...JSON_AND_EVENTS, ...this.headersOf(message), ...headers },
      body: JSON.stringify(message),
      signal,
      onEvent: (event) => this.#event(event),
    });
    this.overhear(reply.head, 'headers', message);
    return reply;
  }

  #event(event: StreamEvent): void {
    if (event.data === '') this.overhear(event.raw, 'a stream');
    else this.take(event.data, event.id === undefined ? '' : `id: ${event.id}\n`);
    this.onEventId(event.id);
  }

  protected onEventId(_id: string | undefined): void {
    // Only sessions have streams that can be come back to.
  }

  protected listenBy(method: 'GET' | 'POST', headers: Record<string, string>, message?: Json): Promise<Reply> {
    const { place, headers: own } = this.options;
    return ask(place, {
      method,
      headers: { ...JSON_AND_EVENTS, ...headers, ...own },
      ...(message === undefined ? {} : { body: JSON.stringify(message) }),
      signal: this.ending.signal,
      onEvent: (event) => this.#event(event),
    });
  }
}

/** With a session. */
export class SessionLane extends StreamableLane {
  sessionId: string | undefined;
  /** Of the last event that had an id. */
  lastEventId: string | undefined;

  async open(): Promise<Outcome> {
    const outcome = await this.request('initialize', HANDSHAKE);
    if (outcome.answer?.result === undefined) return outcome;
    await this.notify('notifications/initialized');
    try {
      const stream = await this.listenBy('GET', this.headersOf());
      this.overhear(`${stream.head}\n${stream.body}`, 'a stream');
    } catch {
      // Whatever is told is then told nowhere; the answers are still there.
    }
    await this.request('logging/setLevel', { level: 'debug' });
    return outcome;
  }

  async subscribe(uris: readonly string[]): Promise<Outcome[]> {
    return Promise.all(uris.map((uri) => this.request('resources/subscribe', { uri }, { said: [uri] })));
  }

  async close(): Promise<void> {
    if (this.sessionId !== undefined && !this.options.signal.aborted) {
      const { place, headers } = this.options;
      const signal = AbortSignal.timeout(FAREWELL);
      await ask(place, { method: 'DELETE', headers: { ...this.headersOf(), ...headers }, signal }).catch(() => {});
    }
    this.ending.abort();
  }

  protected headersOf(): Record<string, string> {
    return this.sessionId === undefined
      ? {}
      : { 'mcp-session-id': this.sessionId, 'mcp-protocol-version': SESSION_REVISION };
  }

  protected override async post(message: Json, signal: AbortSignal): Promise<Reply> {
    const reply = await super.post(message, signal);
    const id = reply.headers['mcp-session-id'];
    if (message['method'] === 'initialize' && typeof id === 'string') this.sessionId = id;
    return reply;
  }

  protected override onEventId(id: string | undefined): void {
    if (id !== undefined) this.lastEventId = id;
  }
}

/** Without one. */
export class StatelessLane extends StreamableLane {
  async open(): Promise<Outcome> {
    const outcome = await this.request('server/discover');
    if (outcome.answer?.result !== undefined) await this.#listen([]);
    return outcome;
  }

  async subscribe(uris: readonly string[]): Promise<Outcome[]> {
    return [await this.#listen(uris)];
  }

  async close(): Promise<void> {
    this.ending.abort();
  }

  protected override envelope(params: Json): Json {
    return {
      ...params,
      _meta: {
        ...(params['_meta'] as Json | undefined),
        'io.modelcontextprotocol/protocolVersion': STATELESS_REVISION,
        'io.modelcontextprotocol/clientInfo': HANDSHAKE['clientInfo'],
        'io.modelcontextprotocol/clientCapabilities': {},
        'io.modelcontextprotocol/logLevel': 'debug',
      },
    };
  }

  protected headersOf(message: Json): Record<string, string> {
    const params = message['params'] as Json | undefined;
    const method = String(message['method']);
    const name = method === 'resources/read' ? params?.['uri'] : params?.['name'];
    return {
      'mcp-protocol-version': STATELESS_REVISION,
      'mcp-method': method,
      ...(typeof name === 'string' ? { 'mcp-name': headerText(name) } : {}),
    };
  }

  async #listen(uris: readonly string[]): Promise<Outcome> {
    const id = this.nextId();
    const method = 'subscriptions/listen';
    const params = this.envelope({
      notifications: {
        toolsListChanged: true,
        promptsListChanged: true,
        resourcesListChanged: true,
        ...(uris.length === 0 ? {} : { resourceSubscriptions: uris }),
      },
    });
    const message = { jsonrpc: '2.0', id, method, params };
    this.expect(id, method, uris);
    try {
      const reply = await this.listenBy('POST', this.headersOf(message), message);
      if (reply.body !== '') this.take(reply.body);
      return { status: reply.status, answer: undefined, refusal: reply.body };
    } catch (error) {
      return { status: 0, answer: undefined, refusal: String(error) };
    }
  }
}

/** A text as headers carry it. */
function headerText(text: string): string {
  const isPlain = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !text.startsWith('=?');
  return isPlain ? text : `=?base64?${Buffer.from(text).toString('base64')}?=`;
}
