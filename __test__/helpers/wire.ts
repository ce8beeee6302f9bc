// A client that speaks to a server of this process over a pair of streams, message by message.

import { PassThrough } from 'node:stream';

import { createPluggableStdioTransport, MCPServer, type MCPServerConfig } from 'espalier/server';
import { onTestFinished } from 'vitest';

import { until } from './until.js';

export type Json = Record<string, unknown>;

/** An answer as it came. */
export interface Answer {
  result?: Json;
  error?: { code: number; message: string; data?: unknown };
}

export interface ClientOptions {
  /** `2025-11-25` by default; `2026-07-28` is spoken without a handshake. */
  revision?: string;
  capabilities?: Json;
  /** Answers what the server asks. In the stateless era a call is made again with the answers. */
  answer?: (method: string, params: Json) => Json | Promise<Json>;
  /** Of the transport. */
  limits?: Json;
}

export class WireClient {
  readonly input = new PassThrough();
  readonly output = new PassThrough();
  /** Everything that was no answer. */
  readonly notifications: { method: string; params: Json }[] = [];
  /** What the server said when it was opened. */
  opened: Json = {};
  readonly #waiting = new Map<number, (answer: Answer) => void>();
  readonly #options: ClientOptions;
  #last = 0;
  #rest = '';

  constructor(options: ClientOptions = {}) {
    this.#options = options;
    this.output.setEncoding('utf8').on('data', (text: string) => this.#read(text));
  }

  get isStateless(): boolean {
    return this.#options.revision === '2026-07-28';
  }

  async open(server: MCPServer): Promise<this> {
    const { input, output } = this;
    await server.start(createPluggableStdioTransport({ input, output, ...this.#options.limits }));
    onTestFinished(async () => {
      await server.stop();
    });
    if (this.isStateless) return this;
    const { result, error } = await this.request('initialize', {
      protocolVersion: this.#options.revision ?? '2025-11-25',
      capabilities: this.#options.capabilities ?? {},
      clientInfo: { name: 'test', version: '1' },
    });
    if (result === undefined) throw new Error(error?.message);
    this.opened = result;
    this.send({ method: 'notifications/initialized' });
    return this;
  }

  send(message: Json): void {
    this.input.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  /** What is answered to a request; in the stateless era to the last of its rounds. */
  async request(method: string, params: Json = {}): Promise<Answer> {
    let round: Json = {};
    for (;;) {
      const answer = await this.once(method, { ...params, ...round });
      if (answer.result?.['resultType'] !== 'input_required') return answer;
      const { inputRequests, requestState } = answer.result;
      const responses: Json = {};
      for (const [key, question] of Object.entries(inputRequests as Record<string, { method: string; params: Json }>)) {
        responses[key] = await this.#options.answer?.(question.method, question.params ?? {});
      }
      round = { inputResponses: responses, requestState };
    }
  }

  /** The result of a request that must not fail. */
  async ask(method: string, params: Json = {}): Promise<Json> {
    const { result, error } = await this.request(method, params);
    if (result === undefined) throw new Error(`${method}: ${error?.code} ${error?.message}`);
    return result;
  }

  async call(name: string, args: Json = {}): Promise<Json> {
    return this.ask('tools/call', { name, arguments: args });
  }

  /** Waits for a notification of a method. */
  async hears(method: string): Promise<Json> {
    return until(method, () => this.notifications.find((told) => told.method === method)?.params ?? undefined);
  }

  /** What is answered to one message, whatever it is. */
  once(method: string, params: Json = {}): Promise<Answer> {
    const id = ++this.#last;
    const answered = new Promise<Answer>((resolve) => this.#waiting.set(id, resolve));
    this.send({ id, method, params: this.isStateless ? { ...params, _meta: this.#envelope(params) } : params });
    return answered;
  }

  #envelope(params: Json): Json {
    return {
      ...(params['_meta'] as Json | undefined),
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': this.#options.capabilities ?? {},
    };
  }

  #read(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) void this.#take(JSON.parse(line) as Json & Answer);
  }

  async #take(message: Json & Answer): Promise<void> {
    const { id, method } = message;
    const params = (message['params'] ?? {}) as Json;
    if (typeof method !== 'string') {
      this.#waiting.get(Number(id))?.(message);
      this.#waiting.delete(Number(id));
    } else if (id === undefined) {
      this.notifications.push({ method, params });
    } else {
      this.send({ id, result: await this.#options.answer?.(method, params) });
    }
  }
}

/** A server with what `set` registers, and a client that has opened it. */
export async function served(
  config: MCPServerConfig,
  set: (server: MCPServer) => void = () => {},
  options: ClientOptions = {},
): Promise<{ server: MCPServer; client: WireClient }> {
  const server = new MCPServer({ logger: quiet(), ...config });
  set(server);
  return { server, client: await new WireClient(options).open(server) };
}

/** A logger that keeps what it is told. */
export interface KeptLog {
  lines: string[];
  error(message: string): void;
  warn(message: string): void;
  info(message: string): void;
  debug(message: string): void;
}

export function quiet(): KeptLog {
  const lines: string[] = [];
  const keep = (level: string) => (message: string) => void lines.push(`${level}: ${message}`);
  return { lines, error: keep('error'), warn: keep('warn'), info: keep('info'), debug: keep('debug') };
}
