// What a caller of the kit gave, checked.

import { type Bag, assertBag, assertName, assertNumber, assertType, isObject } from '../server/check.js';
import { MCPServer } from '../server/mcp-server.js';
import { WHERE, type Whereabouts } from '../server/network.js';
import type { IsolationEndpoints, IsolationOptions, TestedTenant } from '../types/testing.js';
import { REQUEST_TIMEOUT, SETTLE, SHORTEST_MARKER, TIMEOUT } from './bounds.js';
import { STRANGER } from './findings.js';
import type { Place } from './http.js';

/** Where a server is reached, and the server itself where it runs here. */
export interface Reached {
  readonly server: MCPServer | undefined;
  readonly streamable: Place | undefined;
  readonly sse: Place | undefined;
  readonly websocket: Place | undefined;
}

export interface Settings {
  readonly stir: IsolationOptions['stir'];
  readonly strangers: readonly Readonly<Record<string, string>>[];
  readonly requestTimeoutMs: number;
  readonly timeoutMs: number;
  readonly settleMs: number;
}

/** Throws a `TypeError` for a server that does not run on a port, and for what is no place. */
export function readServer(given: unknown, ca: string | undefined): Reached {
  if (given instanceof MCPServer) return runningOn(given);
  const endpoints = given instanceof URL || typeof given === 'string' ? byScheme(given) : given;
  assertBag('the server', endpoints, ['streamableHttp', 'sse', 'webSocket']);
  const { streamableHttp, sse, webSocket } = endpoints as IsolationEndpoints;
  const place = (name: string, url: string | URL | undefined, schemes: RegExp): Place | undefined => {
    if (url === undefined) return undefined;
    if (!URL.canParse(String(url)) || !schemes.test(new URL(url).protocol)) {
      throw new TypeError(
        `the server: ${name} must be a URL of ${schemes.source.includes('ws') ? 'ws' : 'http'} or its secure form`,
      );
    }
    return { url: new URL(url), ca, isOwn: false };
  };
  const reached = {
    server: undefined,
    streamable: place('streamableHttp', streamableHttp, /^https?:$/),
    sse: place('sse', sse, /^https?:$/),
    websocket: place('webSocket', webSocket, /^wss?:$/),
  };
  if (reached.streamable === undefined && reached.sse === undefined && reached.websocket === undefined) {
    throw new TypeError('the server must be an MCPServer that runs on a port, a URL, or an object with URLs');
  }
  return reached;
}

function byScheme(url: string | URL): IsolationEndpoints {
  return /^wss?:/i.test(String(url)) ? { webSocket: url } : { streamableHttp: url };
}

function runningOn(server: MCPServer): Reached {
  const transport = server.getTransport();
  const where = (transport as { [WHERE]?: Whereabouts } | undefined)?.[WHERE];
  if (where === undefined) {
    throw new TypeError(
      'the server must have started on a port: over standard input and output there is one client, and no tenant',
    );
  }
  const { host, isSecure, streamable, sse, websocket } = where;
  const place = (scheme: string, path: string | undefined): Place | undefined =>
    path === undefined
      ? undefined
      : {
          url: new URL(`${scheme}${isSecure ? 's' : ''}://${host}:${transport?.port}${path}`),
          ca: undefined,
          isOwn: true,
        };
  return {
    server,
    streamable: place('http', streamable),
    sse: place('http', sse),
    websocket: place('ws', websocket),
  };
}

/** Throws a `TypeError` that names the tenant, and what would make the check prove nothing, or prove what is not. */
export function readTenants(given: unknown): TestedTenant[] {
  if (!Array.isArray(given) || given.length < 2) throw new TypeError('there must be two tenants at least, in an array');
  const tenants = (given as readonly unknown[]).map(readTenant);
  for (const [index, tenant] of tenants.entries()) {
    for (const other of tenants.slice(index + 1)) {
      const both = `the tenants ${JSON.stringify(tenant.id)} and ${JSON.stringify(other.id)}`;
      if (tenant.id === other.id) throw new TypeError(`${both} have the same id`);
      if (sameHeaders(tenant.headers, other.headers)) throw new TypeError(`${both} have the same headers`);
      const clash = tenant.markers.find((one) => other.markers.some((two) => one.includes(two) || two.includes(one)));
      // Its text is not repeated: it may be a secret.
      if (clash !== undefined) throw new TypeError(`${both} have markers of which one holds the other`);
    }
  }
  return tenants;
}

const TENANT = ['id', 'headers', 'markers', 'calls', 'reads', 'prompts', 'completions', 'slowCall'];

function readTenant(given: unknown): TestedTenant {
  if (!isObject(given)) throw new TypeError('a tenant must be an object');
  const { id, headers, markers, slowCall } = given;
  assertName('the id of a tenant', id);
  if (id === STRANGER) throw new TypeError(`the id of a tenant cannot be ${JSON.stringify(STRANGER)}`);
  const of = `of the tenant ${JSON.stringify(id)}`;
  assertBag(`the tenant ${JSON.stringify(id)}`, given, TENANT);
  assertHeaders(`the headers ${of}`, headers);
  if (!isTexts(markers) || markers.length === 0)
    throw new TypeError(`the markers ${of} must be texts, and one at least`);
  if (markers.some((marker) => marker.length < SHORTEST_MARKER)) {
    throw new TypeError(`a marker ${of} is shorter than ${SHORTEST_MARKER} characters, and in too much by chance`);
  }
  for (const name of ['calls', 'prompts'] as const) assertNamed(`the ${name} ${of}`, given[name]);
  if (slowCall !== undefined) assertNamed(`slowCall ${of}`, [slowCall]);
  if (given['reads'] !== undefined && !isTexts(given['reads'])) throw new TypeError(`the reads ${of} must be URIs`);
  assertObjects(`the completions ${of}`, given['completions']);
  return given as unknown as TestedTenant;
}

/** Throws a `TypeError` that names the option. */
export function readSettings(given: unknown, tenants: readonly TestedTenant[]): Settings {
  assertBag('the options', given, ['stir', 'strangers', 'ca', 'requestTimeoutMs', 'timeoutMs', 'settleMs']);
  const options: IsolationOptions = given;
  assertType('stir', options.stir, 'function');
  assertType('ca', options.ca, 'string');
  const { strangers } = options;
  if (strangers !== undefined) {
    if (!Array.isArray(strangers)) throw new TypeError('strangers must be an array of headers');
    for (const headers of strangers as readonly unknown[]) assertHeaders('the headers of a stranger', headers);
  }
  return {
    stir: options.stir,
    strangers: strangers ?? [{}, ...tenants.map(({ headers }) => nearly(headers))],
    requestTimeoutMs: milliseconds('requestTimeoutMs', options.requestTimeoutMs, REQUEST_TIMEOUT),
    timeoutMs: milliseconds('timeoutMs', options.timeoutMs, TIMEOUT),
    settleMs: milliseconds('settleMs', options.settleMs, SETTLE),
  };
}

/** The headers of somebody who is nobody: each value with something behind it. */
function nearly(headers: Readonly<Record<string, string>>): Record<string, string> {
  const wrong = Object.entries(headers).map(([name, value]) => [
    name,
    name.toLowerCase() === 'host' ? value : `${value}-0`,
  ]);
  return Object.fromEntries(wrong) as Record<string, string>;
}

function milliseconds(name: string, value: number | undefined, otherwise: number): number {
  if (value === undefined) return otherwise;
  assertNumber(name, value);
  // The longest that a timer can be set to.
  if (!(value > 0 && value < 2 ** 31))
    throw new TypeError(`${name} must be more than 0 and less than 2^31 milliseconds`);
  return value;
}

function sameHeaders(one: Readonly<Record<string, string>>, other: Readonly<Record<string, string>>): boolean {
  return canonical(one) === canonical(other);
}

function canonical(headers: Readonly<Record<string, string>>): string {
  const entries = Object.entries(headers).map(([name, value]) => JSON.stringify([name.toLowerCase(), value]));
  return entries.toSorted().join(' ');
}

function assertHeaders(what: string, value: unknown): asserts value is Record<string, string> {
  if (!isObject(value) || !Object.values(value).every((text) => typeof text === 'string')) {
    throw new TypeError(`${what} must be an object of texts`);
  }
}

function assertNamed(what: string, value: unknown): void {
  assertObjects(what, value);
  for (const named of (value ?? []) as readonly Bag[]) assertName(`a name in ${what}`, named['name']);
}

function assertObjects(what: string, value: unknown): void {
  if (value !== undefined && !(Array.isArray(value) && value.every(isObject))) {
    throw new TypeError(`${what} must be an array of objects`);
  }
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((text) => typeof text === 'string');
}
