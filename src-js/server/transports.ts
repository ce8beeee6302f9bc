// Transports: what carries a server's messages. The core does the work; here is what only JavaScript can do, which is to
// read and write streams of its own.

import type { MCPTransport, StdioTransportOptions } from '../types/server.js';
import { isObject, unwrapOption } from './check.js';
import { native } from '../native.js';
import { type StdoutGuard, guardStdout } from './stdout-guard.js';
import { type Sink, Streams } from './streams.js';

/** What a transport does with its server. */
export interface Port extends Sink {
  /** Resolves when it runs. `own`: over the process's own descriptors. */
  startStdio(own: boolean, limits: string): Promise<void>;
  /** Resolves to the number of the port once it listens. */
  startNetwork(options: string): Promise<number>;
}

// Only the server runs a transport.
export const BEGIN: unique symbol = Symbol('begin');
export const END: unique symbol = Symbol('end');
export const RUNS: unique symbol = Symbol('runs');
export const WRITE: unique symbol = Symbol('write');
export const PULL: unique symbol = Symbol('pull');
export const IDENTIFY: unique symbol = Symbol('identify');

/** A transport as its server sees it. */
export interface Runnable extends MCPTransport {
  /** Whether a server runs it, and no other may. */
  readonly [RUNS]: boolean;
  [BEGIN](port: Port): Promise<void>;
  /** Nothing is to be read or written any more. */
  [END](): void;
  [WRITE](text: string): void;
  /** The next chunk is asked for. */
  [PULL](): void;
  /** Says who is behind a request, both JSON text; where the transport has a way to tell. */
  [IDENTIFY]?(request: string, warn: (message: string, error: unknown) => void): Promise<string>;
}

export function isRunnable(transport: unknown): transport is Runnable {
  return isObject(transport) && BEGIN in transport;
}

/**
 * Carries messages over standard input and output, one a line. While it runs on the process's own, anything else that
 * JavaScript writes to standard output goes to standard error.
 *
 * Throws a `TypeError` that names the option: a limit that is no positive integer (0 where that is allowed), a stream that
 * is none, an option that there is not.
 *
 * @example
 * await server.start(createPluggableStdioTransport());
 */
export function createPluggableStdioTransport(options: StdioTransportOptions = {}): MCPTransport {
  return new StdioTransport(options);
}

class StdioTransport implements Runnable {
  readonly type = 'stdio';
  /** Nothing for the process's own. */
  readonly #input: NodeJS.ReadableStream | undefined;
  readonly #output: NodeJS.WritableStream | undefined;
  readonly #limits: string;
  [RUNS] = false;
  #guard: StdoutGuard | undefined;
  #streams: Streams | undefined;

  constructor(options: StdioTransportOptions) {
    if (!isObject(options)) throw new TypeError('the options of the transport must be an object');
    const { input, output, ...limits } = options as StdioTransportOptions;
    if (input !== undefined && typeof input.on !== 'function') throw new TypeError('input must be a readable stream');
    if (output !== undefined && (typeof output.on !== 'function' || typeof output.write !== 'function')) {
      throw new TypeError('output must be a writable stream');
    }
    this.#limits = JSON.stringify(limits, spell);
    unwrapOption(native.nativeCheckStdioLimits(this.#limits));
    this.#input = input;
    this.#output = output;
  }

  async [BEGIN](port: Port): Promise<void> {
    this[RUNS] = true;
    // The core reads standard input, which is not touched here unless it was given.
    const input = this.#input === undefined || this.#input === process.stdin ? undefined : this.#input;
    const output = this.#output === undefined || this.#output === process.stdout ? undefined : this.#output;
    if (output === undefined) this.#guard = guardStdout();
    const own = input === undefined && output === undefined;
    if (!own) {
      const through = output?.write.bind(output) ?? this.#guard?.write ?? neverFull;
      this.#streams = new Streams(input ?? process.stdin, output ?? process.stdout, through, port);
    }
    await port.startStdio(own, this.#limits);
  }

  [END](): void {
    this.#streams?.close();
    this.#guard?.release();
    this.#streams = undefined;
    this.#guard = undefined;
    this[RUNS] = false;
  }

  [WRITE](text: string): void {
    this.#streams?.write(text);
  }

  [PULL](): void {
    this.#streams?.pull();
  }
}

function neverFull(): boolean {
  return true;
}

// What JSON would drop or blur is refused by name all the same.
export function spell(_key: string, value: unknown): unknown {
  const isText = typeof value === 'object' || typeof value === 'string' || typeof value === 'boolean';
  return isText || value === undefined || Number.isFinite(value) ? value : typeof value;
}
