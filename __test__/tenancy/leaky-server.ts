// A small server of the session era over Streamable HTTP, for tenants that a header names, with one fault of choice.

import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { text } from 'node:stream/consumers';

import { onTestFinished } from 'vitest';

import type { Json } from '../helpers/wire.js';
import { markerOf } from './tenants.js';

/** What is wrong with a server. */
export type Fault =
  | 'nothing'
  | 'a shared cache'
  | 'guessable session ids'
  | 'ids of sessions that count up'
  | 'a wrong cancel'
  | 'wrong progress'
  | 'a log line for everybody'
  | 'a runtime to fall back to'
  | 'a telling refusal';

interface Session {
  readonly id: string;
  readonly tenant: string;
  stream?: ServerResponse;
  readonly running: Map<string, AbortController>;
}

interface Message {
  id?: string | number;
  method: string;
  params?: Json & { name?: string; uri?: string; requestId?: unknown; _meta?: { progressToken?: unknown } };
}

/** Starts one, and gives its URL; it ends with the test. */
export async function leakyServer(fault: Fault, tenants: readonly string[]): Promise<string> {
  const server = new LeakyServer(fault, tenants);
  const listener = createServer((request, response) => void server.answer(request, response));
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    listener.closeAllConnections();
    listener.close();
  });
  return `http://127.0.0.1:${(listener.address() as { port: number }).port}/mcp`;
}

class LeakyServer {
  readonly #fault: Fault;
  readonly #tenants: readonly string[];
  readonly #sessions = new Map<string, Session>();
  readonly #cache = new Map<string, Json>();

  constructor(fault: Fault, tenants: readonly string[]) {
    this.#fault = fault;
    this.#tenants = tenants;
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const tenant = this.#tenantOf(request.headers['x-tenant']);
    const named = request.headers['mcp-session-id'];
    const isOpen = this.#fault === 'guessable session ids';
    const session = this.#sessions.get(String(named));
    const mayUse = session !== undefined && (isOpen || session.tenant === tenant);
    if (tenant === undefined && !(isOpen && mayUse)) return end(response, 401);
    if (named !== undefined && !mayUse) return end(response, 404);
    if (request.method === 'GET' && session !== undefined) {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': open\n\n');
      session.stream = response;
      return;
    }
    if (request.method === 'DELETE' && session !== undefined) {
      this.#sessions.delete(session.id);
      session.stream?.end();
      return end(response, 200);
    }
    const message = JSON.parse(await text(request)) as Message;
    if (message.method === 'initialize' && tenant !== undefined) return this.#open(message, tenant, response);
    if (session === undefined) return end(response, 400);
    if (message.id === undefined) {
      if (message.method === 'notifications/cancelled')
        this.#cancel(session, JSON.stringify(message.params?.requestId));
      return end(response, 202);
    }
    const running = new AbortController();
    const key = JSON.stringify(message.id);
    session.running.set(key, running);
    const answer = await this.#perform(session, message, running.signal).catch(() => undefined);
    session.running.delete(key);
    if (answer === undefined) return end(response, 202);
    return json(response, { jsonrpc: '2.0', id: message.id, ...answer });
  }

  #tenantOf(header: string | string[] | undefined): string | undefined {
    const known = this.#tenants.find((tenant) => tenant === header);
    return known ?? (this.#fault === 'a runtime to fall back to' ? this.#tenants[0] : undefined);
  }

  #open(message: Message, tenant: string, response: ServerResponse): void {
    const counts = this.#fault === 'guessable session ids' || this.#fault === 'ids of sessions that count up';
    const id = counts ? `session-${this.#sessions.size + 1}` : randomUUID();
    this.#sessions.set(id, { id, tenant, running: new Map() });
    response.setHeader('mcp-session-id', id);
    const result = {
      protocolVersion: '2025-11-25',
      capabilities: { tools: {}, resources: {}, logging: {} },
      serverInfo: { name: 'leaky', version: '1' },
    };
    json(response, { jsonrpc: '2.0', id: message.id, result });
  }

  #cancel(session: Session, key: string): void {
    const owners = this.#fault === 'a wrong cancel' ? [...this.#sessions.values()] : [session];
    for (const { running } of owners) running.get(key)?.abort();
  }

  async #perform(session: Session, { method, params }: Message, signal: AbortSignal): Promise<Json> {
    const { tenant } = session;
    const marker = markerOf(tenant);
    switch (method) {
      case 'ping':
      case 'logging/setLevel':
      case 'resources/subscribe':
        return { result: {} };
      case 'tools/list':
        return { result: { tools: ['who', 'slow', `${marker}tool`].map((name) => ({ name, inputSchema: {} })) } };
      case 'resources/list':
        return { result: { resources: [{ uri: 'memo://shared', name: 'shared' }] } };
      case 'resources/read': {
        const key = this.#fault === 'a shared cache' ? String(params?.uri) : `${tenant} ${params?.uri}`;
        const kept = this.#cache.get(key) ?? { result: { contents: [{ uri: params?.uri, text: `${marker} memo` }] } };
        this.#cache.set(key, kept);
        return kept;
      }
      case 'tools/call':
        return this.#call(session, String(params?.name), params?._meta?.progressToken, signal);
      default:
        return { error: { code: -32601, message: 'Method not found' } };
    }
  }

  async #call(session: Session, name: string, progressToken: unknown, signal: AbortSignal): Promise<Json> {
    const marker = markerOf(session.tenant);
    if (name === 'who' || name === `${marker}tool`) {
      const progress = { method: 'notifications/progress', params: { progressToken, progress: 1 } };
      for (const to of this.#fault === 'wrong progress' ? this.#sessions.values() : [session]) tell(to, progress);
      const log = { method: 'notifications/message', params: { level: 'info', data: `${marker} called ${name}` } };
      for (const to of this.#fault === 'a log line for everybody' ? this.#sessions.values() : [session]) tell(to, log);
      return { result: { content: [{ type: 'text', text: `${marker} result` }] } };
    }
    if (name === 'slow') {
      await sleep(300, undefined, { signal });
      return { result: { content: [{ type: 'text', text: `${marker} was slow` }] } };
    }
    const isOthers = this.#tenants.some((tenant) => name === `${markerOf(tenant)}tool`);
    const why = isOthers && this.#fault === 'a telling refusal' ? 'Forbidden tool' : 'Unknown tool';
    return { error: { code: -32602, message: `${why}: ${name}` } };
  }
}

function tell({ stream }: Session, message: Json): void {
  stream?.write(`data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`);
}

function json(response: ServerResponse, message: Json): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(message));
}

function end(response: ServerResponse, status: number): void {
  response.writeHead(status).end();
}
