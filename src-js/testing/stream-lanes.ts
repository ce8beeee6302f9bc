// Clients with one connection that carries everything to them: of HTTP+SSE, and of WebSocket.

import { ask, type Reply, type StreamEvent } from './http.js';
import { HANDSHAKE, type Json, JSON_AND_EVENTS, Lane, type Outcome, refusalOf } from './lane.js';
import { openWebSocket, type WebSocketLine } from './websocket.js';

abstract class StreamLane extends Lane {
  /** Opens the connection; a text says why there is none. */
  protected abstract connect(): Promise<{ status: number; refusal?: string }>;

  async open(): Promise<Outcome> {
    let connected: { status: number; refusal?: string };
    try {
      connected = await this.connect();
    } catch (error) {
      connected = { status: 0, refusal: error instanceof Error ? error.message : String(error) };
    }
    const { status, refusal } = connected;
    if (refusal !== undefined) return { status, answer: undefined, refusal };
    const outcome = await this.request('initialize', HANDSHAKE);
    if (outcome.answer?.result === undefined) return outcome;
    await this.notify('notifications/initialized');
    await this.request('logging/setLevel', { level: 'debug' });
    return outcome;
  }

  async subscribe(uris: readonly string[]): Promise<Outcome[]> {
    return Promise.all(uris.map((uri) => this.request('resources/subscribe', { uri }, { said: [uri] })));
  }
}

export class SseLane extends StreamLane {
  /** Where messages go. */
  endpoint: URL | undefined;

  protected async connect(): Promise<{ status: number; refusal?: string }> {
    const { place, headers, requestTimeoutMs } = this.options;
    let told: (() => void) | undefined;
    const endpoint = new Promise<void>((resolve) => (told = resolve));
    const reply: Reply = await ask(place, {
      method: 'GET',
      headers: { accept: 'text/event-stream', ...headers },
      signal: this.ending.signal,
      onEvent: (event) => {
        this.#event(event);
        if (this.endpoint !== undefined) told?.();
      },
    });
    this.overhear(`${reply.head}\n${reply.body}`, 'a stream');
    const { status, ended } = reply;
    if (ended === undefined) return { status, refusal: refusalOf(status, reply.body) };
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, requestTimeoutMs)));
    await Promise.race([endpoint, ended, late]);
    clearTimeout(timer);
    return this.endpoint === undefined ? { status, refusal: 'no endpoint was told' } : { status };
  }

  async close(): Promise<void> {
    this.ending.abort();
  }

  protected async send(message: Json, signal: AbortSignal): Promise<{ status: number; refusal?: string }> {
    const { place, headers } = this.options;
    const { status, head, body } = await ask(
      { ...place, url: this.endpoint ?? place.url },
      { method: 'POST', headers: { ...JSON_AND_EVENTS, ...headers }, body: JSON.stringify(message), signal },
    );
    this.overhear(`${head}\n${body}`, 'a reply', message);
    return status < 300 ? { status } : { status, refusal: refusalOf(status, body) };
  }

  #event({ event, data, raw }: StreamEvent): void {
    if (event === 'endpoint') {
      this.endpoint = new URL(data, this.options.place.url);
      this.overhear(raw, 'endpoint');
    } else if (data === '') {
      this.overhear(raw, 'a stream');
    } else {
      this.take(data);
    }
  }
}

export class WebSocketLane extends StreamLane {
  #line: WebSocketLine | undefined;

  protected async connect(): Promise<{ status: number; refusal?: string }> {
    const { place, headers } = this.options;
    const opened = await openWebSocket(place, headers, this.ending.signal, (text) => this.take(text));
    const { status, head, body, socket } = opened;
    this.overhear(`${head}\n${body}`, 'the opening');
    if (socket === undefined) return { status, refusal: refusalOf(status, body) };
    this.#line = socket;
    this.ending.signal.addEventListener('abort', () => socket.close(), { once: true });
    return { status };
  }

  async close(): Promise<void> {
    this.#line?.close();
    this.ending.abort();
    await this.#line?.ended;
  }

  protected async send(message: Json): Promise<{ status: number; refusal?: string }> {
    if (this.#line === undefined) return { status: 0, refusal: 'not connected' };
    this.#line.send(JSON.stringify(message));
    return { status: 0 };
  }
}
