// Clients that are close to the wire, and keep every byte that they were sent. They are those of the kit, which has to
// hear everything, too.

import type { IdExtractor, MCPTransport } from 'espalier/server';
import { PassThrough } from 'node:stream';

import type { Answer, Lane, LaneOptions, Notification } from '../../dist/testing/lane.js';
import { SseLane, WebSocketLane } from '../../dist/testing/stream-lanes.js';
import { SessionLane, StatelessLane } from '../../dist/testing/streamable-lane.js';
import type { Json } from '../helpers/wire.js';

export type { Notification };

export type Kind = 'streamable-http' | 'streamable-http-stateless' | 'sse' | 'websocket';

/** Extractors that take a client at its word. */
export const asWhoever: Record<'tenantIdExtractor' | 'sessionIdExtractor', IdExtractor> = {
  tenantIdExtractor: ({ headers }) => headers['x-tenant'],
  sessionIdExtractor: ({ headers }) => headers['x-session'],
};

/** What a request was answered. */
export interface Answered {
  readonly status: number;
  readonly answer: Answer | undefined;
  /** As it came. */
  readonly text: string | undefined;
}

/** A client that has tried to connect. */
export interface Client {
  /** What came of that. */
  readonly opened: { readonly status: number; readonly error: Answer['error'] };
  /** Whether there is a connection that requests can be sent on though the handshake was refused. */
  readonly goesOn: boolean;
  /** Whether it has `ping` besides. */
  readonly answersPing: boolean;
  /** All that it was sent. */
  readonly heard: string[];
  readonly sessionId: string | undefined;
  readonly notifications: readonly Notification[];
  /** Gives what it was told, and begins anew. */
  takeNotifications(): Notification[];
  request(method: string, params?: Json, id?: string, signal?: AbortSignal): Promise<Answered>;
  notify(method: string, params?: Json): Promise<void>;
  subscribe(uris: readonly string[]): Promise<unknown>;
  close(): Promise<void>;
}

const LANES: Record<Kind, [path: string, make: new (options: LaneOptions, prefix: string) => Lane]> = {
  'streamable-http': ['http /mcp', SessionLane],
  'streamable-http-stateless': ['http /mcp', StatelessLane],
  sse: ['http /sse', SseLane],
  websocket: ['ws /ws', WebSocketLane],
};

let last = 0;

/** Connects to a port of this machine. */
export async function clientOf(
  kind: Kind,
  port: MCPTransport['port'],
  headers: Record<string, string>,
  hear?: (text: string) => void,
): Promise<Client> {
  const [where, make] = LANES[kind];
  const [scheme, path] = where.split(' ');
  const heard: string[] = [];
  const ending = new AbortController();
  last += 1;
  const lane = new make(
    {
      place: { url: new URL(`${scheme}://127.0.0.1:${port}${path}`), ca: undefined, isOwn: false },
      headers,
      ear: {
        hear: (text) => {
          if (hear === undefined) heard.push(text);
          else hear(text);
        },
      },
      requestTimeoutMs: 15_000,
      signal: ending.signal,
    },
    `client-${last}`,
  );
  const outcome = await lane.open();
  return {
    opened: { status: outcome.status, error: outcome.answer?.error },
    goesOn: !(lane instanceof SessionLane),
    answersPing: lane instanceof SseLane || lane instanceof WebSocketLane,
    heard,
    sessionId:
      lane instanceof SessionLane
        ? lane.sessionId
        : lane instanceof SseLane
          ? (lane.endpoint?.searchParams.get('sessionId') ?? undefined)
          : undefined,
    notifications: lane.notifications,
    takeNotifications: () => lane.notifications.splice(0),
    request: async (method, params = {}, id = lane.nextId(), signal) => {
      const { answer, status } = await lane.request(method, params, {
        id,
        ...(signal === undefined ? {} : { signal }),
      });
      const isIts = (text: string): boolean => text.includes(`"id":${JSON.stringify(id)}`);
      return { answer, status, text: heard.findLast(isIts)?.replace(/^id: .*\n/, '') };
    },
    notify: (method, params) => lane.notify(method, params),
    subscribe: (uris) => lane.subscribe(uris),
    close: async () => {
      await lane.close();
      ending.abort();
    },
  };
}

/** A client over a pair of streams. */
export class StdioClient {
  readonly input: PassThrough;
  readonly output: PassThrough = new PassThrough();
  readonly heard: string[] = [];
  readonly #waiting = new Map<string, (line: string) => void>();
  #rest = '';

  constructor(input: PassThrough = new PassThrough()) {
    this.input = input;
    this.output.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = (this.#rest + chunk).split('\n');
      this.#rest = lines.pop() ?? '';
      for (const line of lines) {
        this.heard.push(line);
        const { id } = JSON.parse(line) as { id?: unknown };
        this.#waiting.get(String(id))?.(line);
      }
    });
  }

  async open(): Promise<Client> {
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } };
    const opened = await this.#request('initialize', params, 'open');
    return {
      opened: { status: 0, error: opened.answer?.error },
      goesOn: true,
      answersPing: true,
      heard: this.heard,
      sessionId: undefined,
      notifications: [],
      takeNotifications: () => [],
      request: (method, given = {}, id = `stdio-${(last += 1)}`) => this.#request(method, given, id),
      notify: async (method, given = {}) => this.#send({ method, params: given }),
      subscribe: async () => undefined,
      close: async () => void this.input.end(),
    };
  }

  async #request(method: string, params: Json, id: string): Promise<Answered> {
    const line = new Promise<string>((resolve) => this.#waiting.set(id, resolve));
    this.#send({ id, method, params });
    const text = await line;
    return { status: 0, answer: JSON.parse(text) as Answer, text };
  }

  #send(message: Json): void {
    this.input.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }
}
