// A pair of streams of the caller's that carries a server's messages. The core pulls: a chunk is read when it is asked for,
// and the next one is written when there is room. The streams stay the caller's, who ends them.

import { describe } from '../describe.js';

/** Where bytes go to, and word of what was written. */
export interface Sink {
  input(bytes: Uint8Array): void;
  inputEnded(): void;
  /** What was to be written is. */
  written(): void;
  broken(why: string): void;
}

export class Streams {
  readonly #input: NodeJS.ReadableStream;
  readonly #write: (text: string) => boolean;
  readonly #sink: Sink;
  readonly #undo: (() => void)[] = [];
  readonly #chunks: Uint8Array[] = [];
  #isAsked = false;
  #isOver = false;
  #isFull = false;

  constructor(
    input: NodeJS.ReadableStream,
    output: NodeJS.WritableStream,
    write: (text: string) => boolean,
    sink: Sink,
  ) {
    this.#input = input;
    this.#write = write;
    this.#sink = sink;
    const over = (): void => {
      this.#isOver = true;
      this.#give();
    };
    this.#listen(input, 'data', (chunk: Uint8Array | string) => {
      input.pause();
      this.#chunks.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
      this.#give();
    });
    input.pause();
    this.#listen(input, 'end', over);
    this.#listen(input, 'close', over);
    this.#listen(input, 'error', (error: unknown) => sink.broken(`the input failed: ${describe(error)}`));
    this.#listen(output, 'drain', () => {
      if (this.#isFull) sink.written();
      this.#isFull = false;
    });
    this.#listen(output, 'close', () => sink.broken('the output was closed'));
    this.#listen(output, 'error', (error: unknown) => sink.broken(`the output failed: ${describe(error)}`));
    // It may have ended before anybody listened.
    this.#isOver = !input.readable;
  }

  /** The next chunk is asked for. */
  pull(): void {
    this.#isAsked = true;
    this.#give();
  }

  write(text: string): void {
    try {
      this.#isFull = !this.#write(text);
    } catch (error) {
      this.#sink.broken(`the output failed: ${describe(error)}`);
      return;
    }
    // A full stream says when there is room.
    if (!this.#isFull) this.#sink.written();
  }

  close(): void {
    this.#isAsked = false;
    for (const undo of this.#undo) undo();
    this.#input.pause();
  }

  #give(): void {
    if (!this.#isAsked) return;
    const chunk = this.#chunks.shift();
    if (chunk === undefined && !this.#isOver) {
      this.#input.resume();
      return;
    }
    this.#isAsked = false;
    if (chunk === undefined) this.#sink.inputEnded();
    else this.#sink.input(chunk);
  }

  #listen(stream: NodeJS.EventEmitter, event: string, listener: (argument: never) => void): void {
    stream.on(event, listener as (argument: unknown) => void);
    this.#undo.push(() => stream.off(event, listener as (argument: unknown) => void));
  }
}
