// Requests of 2026-07-28 to a server on a port, one POST each.

import type { MCPTransport } from 'espalier/server';

import type { Answer, Json } from './wire.js';

const REVISION = '2026-07-28';

/** What is answered, with the status of the reply. */
export type Reply = Answer & { status: number; text: string };

/** Sends one request, as whoever the headers say. */
export async function post(
  { port }: MCPTransport,
  method: string,
  params: Json = {},
  headers: Record<string, string> = {},
): Promise<Reply> {
  const name = (params['name'] ?? params['uri']) as string | undefined;
  const response = await fetch(`http://127.0.0.1:${port}/mcp`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': REVISION,
      'mcp-method': method,
      ...(name === undefined ? {} : { 'mcp-name': name }),
      ...headers,
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method,
      params: {
        ...params,
        _meta: {
          'io.modelcontextprotocol/protocolVersion': REVISION,
          'io.modelcontextprotocol/clientCapabilities': {},
        },
      },
    }),
  });
  const text = await response.text();
  return { status: response.status, text, ...answerIn(text) };
}

/** The answer in a body: JSON, or the last event of a stream. */
function answerIn(text: string): Answer {
  const data = text.startsWith('{') ? [text] : [...text.matchAll(/^data: (\{.*)$/gm)].map((match) => match[1] ?? '');
  const last = data.at(-1);
  return last === undefined ? {} : (JSON.parse(last) as Answer);
}
