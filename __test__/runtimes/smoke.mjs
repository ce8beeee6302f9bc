// One walk through the built package, the same under Node and Bun: connect, list, call, cancel, fail, close, serve, and end
// by itself. Plain JavaScript and no test runner, so that it shows the package and nothing else. Ends with `smoke ok <runtime> <version>`.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createPluggableStdioTransport, McpError, mcpTools, MCPServer } from 'espalier/node';

// Smallest server that can be driven: answers `add`, never answers `hang`, and fails `boom`. Written out here, so that
// the smoke needs no other file; it runs under the same runtime as the client.
const server = `
  const tool = (name) => ({ name, description: name + ' for the smoke', inputSchema: { type: 'object' } });
  const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
  const answer = ({ id, method, params }) => {
    if (method === 'initialize')
      send({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'smoke', version: '1' } } });
    else if (method === 'tools/list') send({ id, result: { tools: ['add', 'hang', 'boom', 'cancelled'].map(tool) } });
    else if (method === 'notifications/cancelled') cancelled += 1;
    else if (method === 'tools/call' && params.name === 'add')
      send({ id, result: { content: [{ type: 'text', text: String(params.arguments.a + params.arguments.b) }] } });
    else if (method === 'tools/call' && params.name === 'cancelled')
      send({ id, result: { content: [{ type: 'text', text: String(cancelled) }] } });
    else if (method === 'tools/call' && params.name === 'boom')
      send({ id, result: { isError: true, content: [{ type: 'text', text: 'as asked' }] } });
    else if (id !== undefined && method !== 'tools/call') send({ id, result: {} });
  };
  let cancelled = 0;
  let rest = '';
  process.stdin.setEncoding('utf8');
  process.stdin.on('data', (chunk) => {
    const lines = (rest + chunk).split('\\n');
    rest = lines.pop();
    for (const line of lines) if (line.trim() !== '') answer(JSON.parse(line));
  });
`;

// The same file is the host that is killed: it has a server that heeds nothing and holds a connection for as long as it lives.
if (process.argv[2] === 'host') {
  const stubborn = `
    require('node:net').connect(${Number(process.argv[3])}, '127.0.0.1');
    process.on('SIGTERM', () => {});
    ${server}
  `;
  await mcpTools([{ type: 'stdio', name: 'stubborn', command: process.execPath, args: ['-e', stubborn] }]);
  console.log('connected');
  await new Promise((resolve) => setTimeout(resolve, 60_000));
}

// And it is a server, which prints as it likes.
if (process.argv[2] === 'serve') {
  const own = new MCPServer({
    name: 'own',
    nativeExecution: true,
    runtime: { tools: { list: () => [{ name: 'echo', execute: async ({ text: given }) => ({ echoed: given }) }] } },
  });
  own.register({
    name: 'talk',
    inputSchema: { type: 'object' },
    handler() {
      console.log('logged');
      console.table(['a table']);
      process.stdout.write('written\n');
      return 'talked';
    },
  });
  await own.start(createPluggableStdioTransport());
} else await walk();

async function walk() {
  const diagnostics = [];
  const toolset = await mcpTools(
    [
      { type: 'stdio', name: 'smoke', command: process.execPath, args: ['-e', server] },
      { type: 'stdio', name: 'absent', command: 'no-such-command-of-espalier' },
    ],
    { timeoutMs: 20_000, onDiagnostic: (diagnostic) => diagnostics.push(diagnostic) },
  );

  assert.deepEqual(Object.keys(toolset.tools), ['smoke__add', 'smoke__hang', 'smoke__boom', 'smoke__cancelled']);
  assert.ok(
    diagnostics.some(({ rule, origin }) => rule === 'connection-failure' && origin.includes('absent')),
    'the server that cannot start is reported',
  );

  assert.equal(text(await toolset.tools.smoke__add.execute({ a: 20, b: 22 })), '42');

  await assert.rejects(toolset.call('smoke__boom', {}), (error) => {
    assert.ok(error instanceof McpError);
    assert.equal(error.code, 'tool-error');
    return true;
  });

  const cancel = new AbortController();
  const hanging = toolset.call('smoke__hang', {}, { signal: cancel.signal });
  setTimeout(() => cancel.abort(new Error('enough')), 20);
  await assert.rejects(hanging, { name: 'AbortError' });
  assert.equal(text(await toolset.call('smoke__cancelled', {})), '1', 'the server hears of the cancellation');

  await toolset.close();
  await toolset.close();
  await assert.rejects(toolset.call('smoke__add', { a: 1, b: 1 }), { code: 'closed' });

  await hostIsKilled();
  await bothHalves();

  const [runtime, version] = process.versions.bun ? ['bun', process.versions.bun] : ['node', process.versions.node];
  console.log(`smoke ok ${runtime} ${version}`);
}

/** A tool's result is text, or the content blocks that hold it. */
function text(result) {
  if (typeof result === 'string') return result;
  return (result.content ?? result).find((block) => block.type === 'text').text;
}

/** A server does not outlive its host, not even when that is killed. */
async function hostIsKilled() {
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const connection = once(listener, 'connection');
  const host = spawn(process.execPath, [fileURLToPath(import.meta.url), 'host', String(listener.address().port)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(host.stdout, 'data');
  const [socket] = await connection;
  const gone = new Promise((resolve) => socket.on('error', () => {}).on('close', resolve));
  socket.resume();
  host.kill('SIGKILL');
  await gone;
  listener.close();
}

/** The client against the server: what that prints goes to its standard error. */
async function bothHalves() {
  const printed = [];
  const file = fileURLToPath(import.meta.url);
  const servers = [{ type: 'stdio', name: 'own', command: process.execPath, args: [file, 'serve'] }];
  const both = await mcpTools(servers, { timeoutMs: 20_000, onStderr: (_server, line) => printed.push(line) });
  assert.deepEqual(Object.keys(both.tools).toSorted(), ['own__echo', 'own__talk']);
  assert.deepEqual(await both.call('own__echo', { text: 'a' }), { echoed: 'a' });
  assert.equal(text(await both.call('own__talk')), 'talked');
  const deadline = performance.now() + 10_000;
  const isThere = (word) => printed.some((line) => line.includes(word));
  while (!['logged', 'a table', 'written'].every(isThere) && performance.now() < deadline) await sleep(10);
  assert.ok(['logged', 'a table', 'written'].every(isThere), printed.join('\n'));
  await both.close();
}
