// A WebSocket client (RFC 6455) with headers of the caller's, which the one of the platform does not send.

import { randomBytes } from 'node:crypto';
import { request as plain } from 'node:http';
import { request as secure } from 'node:https';
import type { Duplex } from 'node:stream';

import { LONGEST_MESSAGE } from './bounds.js';
import { isSecure, type Place, reach } from './http.js';

const TEXT = 1;
const CLOSE = 8;
const PING = 9;
const PONG = 10;

export interface Opened {
  /** Of a refusal its status and its text; 101 otherwise. */
  readonly status: number;
  readonly head: string;
  readonly body: string;
  readonly socket: WebSocketLine | undefined;
}

/** Resolves when it is open or refused; rejects when the server cannot be reached. */
export function openWebSocket(
  place: Place,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
  onMessage: (text: string) => void,
): Promise<Opened> {
  const url = new URL(place.url);
  url.protocol = isSecure(url) ? 'https:' : 'http:';
  return new Promise((resolve, reject) => {
    const request = (isSecure(url) ? secure : plain)(url, {
      signal,
      ...reach(place),
      headers: {
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': randomBytes(16).toString('base64'),
        'sec-websocket-protocol': 'mcp',
        ...headers,
      },
    });
    request.on('error', reject);
    request.on('response', (response) => {
      let body = '';
      response
        .setEncoding('utf8')
        .on('data', (chunk: string) => (body += chunk.slice(0, LONGEST_MESSAGE - body.length)));
      response.on('error', reject);
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, head: response.rawHeaders.join('\n'), body, socket: undefined }),
      );
    });
    request.on('upgrade', (response, socket: Duplex, first: Buffer) => {
      const line = new WebSocketLine(socket, onMessage);
      resolve({ status: 101, head: response.rawHeaders.join('\n'), body: '', socket: line });
      if (first.length > 0) line.read(first);
    });
    request.end();
  });
}

export class WebSocketLine {
  readonly #socket: Duplex;
  readonly #onMessage: (text: string) => void;
  readonly ended: Promise<void>;
  #rest: Buffer = Buffer.alloc(0);
  /** The parts so far of a message that comes in several. */
  #parts: Buffer[] = [];

  constructor(socket: Duplex, onMessage: (text: string) => void) {
    this.#socket = socket;
    this.#onMessage = onMessage;
    socket.on('data', (bytes: Buffer) => this.read(bytes));
    // Word of an error comes before that of the end.
    socket.on('error', () => {});
    this.ended = new Promise((resolve) => socket.once('close', () => resolve()));
  }

  send(text: string): void {
    this.#write(TEXT, Buffer.from(text));
  }

  /** Says goodbye and hangs up. */
  close(): void {
    if (this.#socket.destroyed) return;
    this.#write(CLOSE, Buffer.from([3, 232]));
    this.#socket.destroy();
  }

  read(bytes: Buffer): void {
    this.#rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    for (;;) {
      const frame = frameOf(this.#rest);
      if (frame === undefined) break;
      this.#rest = this.#rest.subarray(frame.size);
      this.#take(frame);
    }
    if (this.#rest.length > LONGEST_MESSAGE) this.#socket.destroy();
  }

  #take({ opcode, isLast, payload }: Frame): void {
    if (opcode === PING) this.#write(PONG, payload);
    else if (opcode === CLOSE) this.close();
    else if (opcode !== PONG) {
      this.#parts.push(payload);
      if (!isLast) return;
      const text = Buffer.concat(this.#parts).toString('utf8');
      this.#parts = [];
      this.#onMessage(text);
    }
  }

  #write(opcode: number, payload: Buffer): void {
    if (this.#socket.destroyed) return;
    const { length } = payload;
    let head: Buffer;
    if (length < 126) {
      head = Buffer.from([0x80 | opcode, 0x80 | length]);
    } else if (length < 65_536) {
      head = Buffer.from([0x80 | opcode, 0x80 | 126, 0, 0]);
      head.writeUInt16BE(length, 2);
    } else {
      head = Buffer.from([0x80 | opcode, 0x80 | 127, 0, 0, 0, 0, 0, 0, 0, 0]);
      head.writeBigUInt64BE(BigInt(length), 2);
    }
    const mask = randomBytes(4);
    const masked = Buffer.from(payload.map((byte, index) => byte ^ (mask[index % 4] ?? 0)));
    this.#socket.write(Buffer.concat([head, mask, masked]));
  }
}

interface Frame {
  readonly opcode: number;
  readonly isLast: boolean;
  readonly payload: Buffer;
  readonly size: number;
}

/** The first frame, when all of it is there. Those of a server have no mask. */
function frameOf(bytes: Buffer): Frame | undefined {
  if (bytes.length < 2) return undefined;
  const [first = 0, second = 0] = bytes;
  let length = second & 0x7f;
  let start = 2;
  if (length === 126) {
    if (bytes.length < 4) return undefined;
    length = bytes.readUInt16BE(2);
    start = 4;
  } else if (length === 127) {
    if (bytes.length < 10) return undefined;
    length = Number(bytes.readBigUInt64BE(2));
    start = 10;
  }
  const size = start + length;
  if (bytes.length < size) return undefined;
  return { opcode: first & 0x0f, isLast: (first & 0x80) !== 0, payload: bytes.subarray(start, size), size };
}
