// One HTTP request on a connection of its own, and a reply that may be a stream of events.

import { type ClientRequest, type IncomingHttpHeaders, type IncomingMessage, request as plain } from 'node:http';
import { request as secure } from 'node:https';

import { LONGEST_MESSAGE } from './bounds.js';

/** Where a server is. */
export interface Place {
  readonly url: URL;
  /** Certificates that its own is trusted by, as PEM. */
  readonly ca: string | undefined;
  /** It runs in this process, and whose certificate it has is not the question. */
  readonly isOwn: boolean;
}

/** An event of a stream. */
export interface StreamEvent {
  /** All its lines. */
  readonly raw: string;
  readonly id: string | undefined;
  readonly event: string;
  readonly data: string;
}

export interface Asked {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
  /** Told of what a reply that is a stream brings. */
  readonly onEvent?: (event: StreamEvent) => void;
}

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** What the headers said, as text. */
  readonly head: string;
  /** All of it, where it is no stream. */
  readonly body: string;
  /** Where it is a stream: resolves when that has ended. */
  readonly ended: Promise<void> | undefined;
}

/** The options that reach a place. */
export function reach(place: Place): { rejectUnauthorized?: boolean; ca?: string; agent: false } {
  return {
    agent: false,
    ...(place.isOwn ? { rejectUnauthorized: false } : {}),
    ...(place.ca === undefined ? {} : { ca: place.ca }),
  };
}

export function isSecure(url: URL): boolean {
  return url.protocol === 'https:' || url.protocol === 'wss:';
}

/** Resolves when a reply is there; one that is a stream goes on. Rejects when there is none, and when it is aborted. */
export function ask(place: Place, { method, headers, body, signal, onEvent }: Asked): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const send = isSecure(place.url) ? secure : plain;
    const request: ClientRequest = send(place.url, { method, headers: { ...headers }, signal, ...reach(place) });
    request.on('error', reject);
    request.on('response', (response) => {
      const head = response.rawHeaders.join('\n');
      const about = { status: response.statusCode ?? 0, headers: response.headers, head };
      if (/^text\/event-stream/i.test(response.headers['content-type'] ?? '') && onEvent !== undefined) {
        const ended = new Promise<void>((end) => readEvents(response, onEvent, end));
        resolve({ ...about, body: '', ended });
      } else {
        collect(response).then((text) => resolve({ ...about, body: text, ended: undefined }), reject);
      }
    });
    request.end(body);
  });
}

function collect(response: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    response.setEncoding('utf8');
    response.on('data', (chunk: string) => {
      text += chunk;
      if (text.length > LONGEST_MESSAGE) response.destroy(new Error('the reply is too long'));
    });
    response.on('end', () => resolve(text));
    response.on('error', reject);
    response.on('close', () => reject(new Error('the reply broke off')));
  });
}

function readEvents(response: IncomingMessage, onEvent: (event: StreamEvent) => void, end: () => void): void {
  let rest = '';
  response.setEncoding('utf8');
  response.on('data', (chunk: string) => {
    const blocks = (rest + chunk).replaceAll('\r\n', '\n').split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) onEvent(eventOf(block));
    if (rest.length > LONGEST_MESSAGE) response.destroy();
  });
  // Word of an error comes before that of the end.
  response.on('error', () => {});
  response.on('close', () => {
    if (rest !== '') onEvent(eventOf(rest));
    end();
  });
}

function eventOf(raw: string): StreamEvent {
  let id: string | undefined;
  let event = 'message';
  const data: string[] = [];
  for (const line of raw.split('\n')) {
    const [, field, value] = /^(\w+): ?(.*)$/s.exec(line) ?? [];
    if (field === 'id') id = value;
    else if (field === 'event') event = value ?? '';
    else if (field === 'data') data.push(value ?? '');
  }
  return { raw, id, event, data: data.join('\n') };
}
