// How a configuration crosses the border: as JSON text that the core reads and judges.

import { McpError } from '../errors.js';
import type { McpOptions } from '../types/client.js';

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

/** The data among the options as JSON text. Throws `invalid-option` for what is neither data nor a function in its place. */
export function encodeOptions(options: McpOptions): string {
  for (const name of CALLBACKS) {
    if (options[name] != null && typeof options[name] !== 'function') throw wrong(`${name} must be a function`);
  }
  if (options.signal != null && !(options.signal instanceof AbortSignal)) throw wrong('signal must be an AbortSignal');
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
    throw wrong(`${what} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
  return text ?? 'null';
}

// What JSON would drop or blur reaches the core by name, so that it is refused by name.
function spell(_key: string, value: unknown): unknown {
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value);
  if (typeof value === 'function' || typeof value === 'symbol') return { [typeof value]: true };
  return value;
}

function wrong(message: string, options?: ErrorOptions): McpError {
  return new McpError('invalid-option', message, options);
}
