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
  'protocol',
  'blockPrivateAddresses',
  'proxy',
  'ca',
  'disclosure',
  'onListChanged',
  'lazy',
  'idleStopMs',
] as const satisfies readonly (keyof McpOptions)[];

/** The options that are functions. */
const CALLBACKS = [
  'onDiagnostic',
  'onProgress',
  'onStderr',
  'onLog',
  'auth',
  'fetch',
  'sampling',
  'elicitation',
] as const satisfies readonly (keyof McpOptions)[];

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
  if (options.fetch != null) checkFetch(options);
  const { allowedHosts, roots, fs } = options;
  if (fs != null && typeof fs !== 'object') throw wrong('fs must be an object');
  const needsSession = options.auth != null || typeof allowedHosts === 'function';
  if (needsSession && options.session == null) {
    throw wrong('auth, and allowedHosts as a function, need the session that the toolset belongs to: set session');
  }
  return encode('the options', () => ({
    ...Object.fromEntries(DATA.map((name) => [name, options[name]])),
    ...(typeof allowedHosts === 'function' ? {} : { allowedHosts }),
    sampling: options.sampling != null,
    elicitation: options.elicitation != null,
    fsRoot: typeof fs?.root === 'string' ? fs.root : undefined,
    roots: typeof roots === 'function' ? ASKED : roots,
    onLog: options.onLog != null,
  }));
}

/** What a `fetch` of the caller's cannot be held to must not look as if it held. */
function checkFetch({ blockPrivateAddresses, proxy, ca }: McpOptions): void {
  const why = 'cannot be kept with a fetch of your own, which opens its connections itself: set one of the two';
  if (blockPrivateAddresses === true) throw wrong(`blockPrivateAddresses ${why}`);
  if (proxy != null && proxy !== 'none') throw wrong(`proxy ${why}`);
  if (ca != null) throw wrong(`ca ${why}`);
}

/** The servers as JSON text; with the hosts that a function allows for each of them. */
export function encodeServers(servers: unknown, options: McpOptions): string {
  const { allowedHosts, session } = options;
  return encode('servers', () => {
    if (typeof allowedHosts !== 'function' || !Array.isArray(servers)) return servers;
    return servers.map((server: unknown) => {
      if (typeof server !== 'object' || server === null || !('url' in server)) return server;
      const name = 'name' in server ? String(server.name) : '';
      return { ...server, allowedHosts: hostsOf(name, allowedHosts, session) };
    });
  });
}

/** Fails closed: whatever is no list of hosts allows none. */
function hostsOf(
  server: string,
  allowedHosts: (server: string, context: { session: unknown }) => unknown,
  session: unknown,
): { hosts: string[] } | { refused: string } {
  try {
    const hosts = allowedHosts(server, { session });
    if (Array.isArray(hosts) && hosts.every((host) => typeof host === 'string')) return { hosts };
    return { refused: 'allowedHosts gave no array of host names' };
  } catch (error) {
    return { refused: `allowedHosts threw: ${describe(error)}` };
  }
}

/** Anything as JSON text. Throws `invalid-option` for what JSON cannot hold. */
export function encode(what: string, read: () => unknown): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(read(), spell);
  } catch (cause) {
    throw wrong(`${what} cannot be read: ${describe(cause)}`, { cause });
  }
  return text ?? 'null';
}

/** In the place of a function that gives roots; the core knows it. */
const ASKED = '\u0000asked';

/** The spelling of numbers that JSON does not have; the core knows it. */
const NUMBER = '\u0000number';

const PLAIN = new Set(['[object Object]', '[object Array]']);

// What JSON would drop or blur reaches the core by name, so that it is refused by name.
function spell(_key: string, value: unknown): unknown {
  if (typeof value === 'number' && !Number.isFinite(value)) return { [NUMBER]: String(value) };
  // A map, a set and their like have no members to write, and would count as empty.
  const kind = Object.prototype.toString.call(value);
  if (typeof value === 'object' && value !== null && !PLAIN.has(kind)) return { [kind]: true };
  if (typeof value === 'function' || typeof value === 'symbol' || typeof value === 'bigint')
    return { [typeof value]: true };
  return value;
}

function wrong(message: string, options?: ErrorOptions): McpError {
  return new McpError('invalid-option', message, options);
}
