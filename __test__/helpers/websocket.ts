// A WebSocket in bytes: it says and leaves out what a library would not let a test say and leave out, such as answers to pings.

import { connect, type Socket } from 'node:net';

import { onTestFinished } from 'vitest';

import { until } from './until.js';
import type { Json } from './wire.js';

const TEXT = 0x1;
const PING = 0x9;
const PONG = 0xa;

export class RawWebSocket {
  /** The messages that came. */
  readonly messages: Json[] = [];
  isClosed = false;
  /** Of the reply to its opening; 101 where it was opened. */
  status = 0;
  readonly #isAnswering: boolean;
  readonly #socket: Socket;
  #rest = Buffer.alloc(0);
  #woken = (): void => {};
  #isOpen = false;

  constructor(port: number, { answersPings = false } = {}) {
    this.#isAnswering = answersPings;
    this.#socket = connect(port, '127.0.0.1');
    this.#socket.on('error', () => undefined);
    this.#socket.on('data', (bytes) => {
      this.#read(bytes);
      this.#woken();
    });
    this.#socket.on('close', () => {
      this.isClosed = true;
      this.#woken();
    });
    onTestFinished(() => this.drop());
    this.#socket.write(
      [
        'GET /ws HTTP/1.1',
        'Host: 127.0.0.1',
        'Connection: Upgrade',
        'Upgrade: websocket',
        'Sec-WebSocket-Version: 13',
        'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
        'Sec-WebSocket-Protocol: mcp',
        '\r\n',
      ].join('\r\n'),
    );
  }

  /** Sends one message, as one frame. */
  send(message: Json): void {
    const payload = Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message }));
    const length = Buffer.from([0x80 | 126, payload.length >> 8, payload.length & 0xff]);
    // A mask of zeros leaves the payload as it is.
    this.#socket.write(Buffer.concat([Buffer.from([0x80 | TEXT]), length, Buffer.alloc(4), payload]));
  }

  /** Waits until something comes, or it ends. */
  async news(): Promise<void> {
    return new Promise((resolve) => (this.#woken = resolve));
  }

  /** Waits for the answer to a request. */
  async answer(id: unknown): Promise<Json> {
    return until(`the answer to ${String(id)}`, () => this.messages.find((message) => message['id'] === id));
  }

  async opened(): Promise<this> {
    this.send({
      id: 'open',
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
    });
    await this.answer('open');
    this.send({ method: 'notifications/initialized' });
    return this;
  }

  drop(): void {
    this.#socket.destroy();
  }

  #read(bytes: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, bytes]);
    if (!this.#isOpen) {
      const end = this.#rest.indexOf('\r\n\r\n');
      if (end < 0) return;
      this.status = Number(this.#rest.toString('latin1').split(' ')[1]);
      this.#isOpen = true;
      this.#rest = this.#rest.subarray(end + 4);
    }
    for (;;) {
      const short = (this.#rest[1] ?? 0) & 0x7f;
      const size = short === 126 ? 4 : short === 127 ? 10 : 2;
      if (this.#rest.length < size) return;
      const length =
        short === 126 ? this.#rest.readUInt16BE(2) : short === 127 ? Number(this.#rest.readBigUInt64BE(2)) : short;
      if (this.#rest.length < size + length) return;
      const payload = this.#rest.subarray(size, size + length).toString('utf8');
      const kind = (this.#rest[0] ?? 0) & 0xf;
      if (kind === TEXT) this.messages.push(JSON.parse(payload) as Json);
      if (kind === PING && this.#isAnswering) this.#socket.write(Buffer.from([0x80 | PONG, 0x80, 0, 0, 0, 0]));
      this.#rest = this.#rest.subarray(size + length);
    }
  }
}
