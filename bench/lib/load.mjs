// Runs `bench/peers/load`, which makes the load of servers, and reads what it says.

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';

const run = promisify(execFile);

const STATELESS = '2026-07-28';
const SESSION = '2025-11-25';

/** What goes into every request of the stateless era. */
const META = {
  'io.modelcontextprotocol/protocolVersion': STATELESS,
  'io.modelcontextprotocol/clientInfo': { name: 'load', version: '0.0.0' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

/** The opening of the session era. */
export const INITIALIZE = {
  protocolVersion: SESSION,
  capabilities: {},
  clientInfo: { name: 'load', version: '0.0.0' },
};

/** The arguments that say what is asked, in one of the eras. */
export function requestArgs({ method, tools = 0, inFlight, textBytes = 40, seconds }, isStateless) {
  const params = {
    ...(method === 'tools/call' ? { name: 'echo', arguments: { text: '$TEXT' } } : {}),
    ...(isStateless ? { _meta: META } : {}),
  };
  const listed = method === 'tools/list' ? tools : 0;
  const options = { '--method': method, '--params': JSON.stringify(params), '--tools': listed, '--seconds': seconds };
  return flat({ ...options, '--in-flight': inFlight, '--text-bytes': textBytes });
}

/** The headers of a request, in one of the dialects: `session`, `sessionless` and `stateless`. */
export function headerArgs(method, dialect) {
  const isStateless = dialect === 'stateless';
  const headers = [
    'Content-Type: application/json',
    'Accept: application/json, text/event-stream',
    `MCP-Protocol-Version: ${isStateless ? STATELESS : SESSION}`,
    ...(isStateless ? [`Mcp-Method: ${method}`] : []),
    ...(isStateless && method === 'tools/call' ? ['Mcp-Name: echo'] : []),
  ];
  return headers.flatMap((header) => ['--header', header]);
}

/** What a run did: `operations`, `elapsedMs`, `rate`, `latencyUs`, `loadCpuUs`. */
export async function load(program, args) {
  const { stdout } = await run(program, args);
  return JSON.parse(stdout);
}

/** Opens idle connections, and resolves once all are there. */
export async function hold(program, args) {
  const child = spawn(program, ['idle', ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
  const closed = once(child, 'close');
  await Promise.race([
    once(createInterface({ input: child.stdout }), 'line'),
    closed.then(() => Promise.reject(new Error('the idle connections did not come up, or not all of them'))),
  ]);
  return {
    async close() {
      child.stdin.end();
      await closed;
    },
  };
}

/** Opens a session over Streamable HTTP; gives its id. */
export async function openSession(url) {
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  const post = (message, more = {}) =>
    fetch(url, { method: 'POST', headers: { ...headers, ...more }, body: JSON.stringify(message) });
  const opened = await post({ jsonrpc: '2.0', id: 0, method: 'initialize', params: INITIALIZE });
  const text = await opened.text();
  const id = opened.headers.get('mcp-session-id');
  if (id === null) throw new Error(`no session was opened: ${opened.status} ${text}`);
  const ready = await post(
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    { 'mcp-session-id': id, 'mcp-protocol-version': SESSION },
  );
  await ready.text();
  return id;
}

function flat(options) {
  return Object.entries(options).flat().map(String);
}
