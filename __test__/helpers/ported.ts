// A server on a port, and clients that call its tools over each of its transports in as few words as there are.

import {
  createSSETransport,
  createStreamableHttpTransport,
  createWebSocketTransport,
  MCPServer,
  type MCPTransport,
} from 'espalier/server';
import { onTestFinished } from 'vitest';

import { until } from './until.js';
import { RawWebSocket } from './websocket.js';
import { type Json, quiet } from './wire.js';

export type Way = 'session' | 'stateless' | 'sse' | 'websocket';

export const WAYS: readonly Way[] = ['session', 'stateless', 'sse', 'websocket'];

/** Starts a server with what `set` registers. */
export async function ported(
  way: Way,
  limits: Json,
  set: (server: MCPServer) => void,
): Promise<{ server: MCPServer; transport: MCPTransport; port: number }> {
  const server = new MCPServer({ name: 'ported', runtime: {}, logger: quiet() });
  set(server);
  const options = { port: 0, ...limits };
  const transport =
    way === 'sse'
      ? createSSETransport(options)
      : way === 'websocket'
        ? createWebSocketTransport(options)
        : createStreamableHttpTransport(options);
  await server.start(transport);
  onTestFinished(() => server.stop());
  return { server, transport, port: transport.port ?? 0 };
}

/** A call under way. */
export interface Call {
  /** What came of it: the text of all replies and events. */
  text(): string;
  /** Ends the connection that carries it. */
  drop(): void;
}

/** Begins a call of a tool, over a connection of its own. */
export async function begin(way: Way, port: number, name: string, args: Json = {}): Promise<Call> {
  const call = { id: 7, method: 'tools/call', params: { name, arguments: args, _meta: { progressToken: 't' } } };
  if (way === 'websocket') {
    const socket = await new RawWebSocket(port).opened();
    socket.send(call);
    return { text: () => JSON.stringify(socket.messages), drop: () => socket.drop() };
  }
  if (way === 'sse') {
    const stream = reader(`http://127.0.0.1:${port}/sse`, {});
    const path = await until('the endpoint', () => /data: (\/messages\S+)/.exec(stream.text())?.[1]);
    const url = `http://127.0.0.1:${port}${path}`;
    const tell = async (message: Json): Promise<unknown> => reader(url, {}, message).ended;
    await tell({ id: 'open', method: 'initialize', params: HANDSHAKE });
    await tell(call);
    return stream;
  }
  const url = `http://127.0.0.1:${port}/mcp`;
  if (way === 'session') return reader(url, { 'mcp-session-id': await session(port) }, call);
  const version = '2026-07-28';
  const envelope = {
    'io.modelcontextprotocol/protocolVersion': version,
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  return reader(
    url,
    { 'mcp-protocol-version': version, 'mcp-method': 'tools/call', 'mcp-name': name },
    { ...call, params: { ...call.params, _meta: { ...call.params._meta, ...envelope } } },
  );
}

/** The id of a new session over Streamable HTTP. */
export async function session(port: number, protocolVersion = HANDSHAKE.protocolVersion): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}/mcp`, {
    method: 'POST',
    headers: HEADERS,
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 'open',
      method: 'initialize',
      params: { ...HANDSHAKE, protocolVersion },
    }),
  });
  await response.text();
  return response.headers.get('mcp-session-id') ?? '';
}

const HANDSHAKE = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } };
const HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

/** Sends a request and keeps what comes back, as it comes. */
export function reader(
  url: string,
  headers: Record<string, string>,
  message?: Json,
): Call & { status(): number; ended: Promise<void> } {
  const controller = new AbortController();
  let text = '';
  let status = 0;
  const read = async (): Promise<void> => {
    const response = await fetch(url, {
      method: message === undefined ? 'GET' : 'POST',
      headers: { ...HEADERS, ...headers },
      signal: controller.signal,
      ...(message === undefined ? {} : { body: JSON.stringify({ jsonrpc: '2.0', ...message }) }),
    });
    status = response.status;
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) text += decoder.decode(chunk as Uint8Array, { stream: true });
  };
  // How it ends is looked at by those who care.
  const ended = read().catch(() => undefined);
  onTestFinished(() => controller.abort());
  return { text: () => text, status: () => status, drop: () => controller.abort(), ended };
}
