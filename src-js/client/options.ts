// How a configuration crosses the border: as JSON text that the core reads and judges.

import { describe } from '../describe.js';
import { McpError } from '../errors.js';
import type { McpConnectionStore, McpOptions } from '../types/client.js';

/** The options that are data. */
const DATA = [
  'timeoutMs',
  'resetTimeoutOnProgress',
  'maxTotalTimeoutMs',
  'maxParallelConnects',
  'maxTools',
  'maxCatalogBytes',
  'maxMessageBytes',
  'tools',
] as const satisfies readonly (keyof McpOptions)[];

/** The options that are functions. */
const CALLBACKS = ['onDiagnostic', 'onProgress', 'onStderr'] as const satisfies readonly (keyof McpOptions)[];

const STORE_METHODS = ['list', 'save', 'remove'] as const satisfies readonly (keyof McpConnectionStore)[];

/** Throws `invalid-option` for a callback that is given and none. */
export function assertFunction(name: string, value: unknown): void {
  if (value != null && typeof value !== 'function') throw wrong(`${name} must be a function`);
}

/** Throws `invalid-option` for what cannot be listened to. By shape: a signal may come from another realm. */
export function assertSignal(signal: AbortSignal): void {
  if (typeof signal.addEventListener !== 'function' || typeof signal.aborted !== 'boolean') {
    throw wrong('signal must be an AbortSignal');
  }
}

/** The data among the options as JSON text. Throws `invalid-option` for what is neither data nor a function in its place. */
export function encodeOptions(options: McpOptions): string {
  for (const name of CALLBACKS) assertFunction(name, options[name]);
  if (options.signal != null) assertSignal(options.signal);
  for (const name of STORE_METHODS) {
    if (options.storage != null && typeof options.storage[name] !== 'function') {
      throw wrong(`storage must be a connection store: its ${name} must be a function`);
    }
  }
  return encode('the options', () => Object.fromEntries(DATA.map((name) => [name, options[name]])));
}

export function encodeServers(servers: unknown): string {
  return encode('servers', () => servers);
}

function encode(what: string, read: () => unknown): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(read(), spell);
  } catch (cause) {
    throw wrong(`${what} cannot be read: ${describe(cause)}`, { cause });
  }
  return text ?? 'null';
}

// What JSON would drop or blur reaches the core by name, so that it is refused by name.
function spell(_key: string, value: unknown): unknown {
  if (typeof value === 'number' && !Number.isFinite(value)) return { number: String(value) };
  if (value instanceof Map || value instanceof Set) return Object.prototype.toString.call(value);
  if (typeof value === 'function' || typeof value === 'symbol' || typeof value === 'bigint')
    return { [typeof value]: true };
  return value;
}

function wrong(message: string, options?: ErrorOptions): McpError {
  return new McpError('invalid-option', message, options);
}
