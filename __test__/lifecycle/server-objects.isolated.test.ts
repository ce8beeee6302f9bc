// What a server holds on to, and for how long.

import { PassThrough } from 'node:stream';

import { adaptHarnessArtifacts, createPluggableStdioTransport, MCPServer, type RuntimeLike } from 'espalier/server';
import { expect, it } from 'vitest';

import { program } from '../helpers/programs.js';
import { until } from '../helpers/until.js';
import { served } from '../helpers/wire.js';

/** Waits until what a weak reference points to was collected. */
async function collected(what: string, refs: WeakRef<object>[]): Promise<void> {
  await until(what, () => {
    globalThis.gc?.();
    return refs.every((ref) => ref.deref() === undefined);
  });
}

it('a server that nobody holds is collected, whether it was started or not', async () => {
  const refs: WeakRef<object>[] = [];
  for (let round = 0; round < 20; round += 1) {
    const server = new MCPServer({ runtime: {} });
    server.register({ name: 'a', inputSchema: {}, handler: () => server.isStarted() });
    server.registerSession('s', {});
    await server.callTool('a');
    await server.listTools();
    if (round % 2 === 0) {
      await server.start(createPluggableStdioTransport({ input: new PassThrough(), output: new PassThrough() }));
      await server.stop();
    }
    refs.push(new WeakRef(server));
  }
  await collected('the servers', refs);
});

it('a server that runs is kept, and serves, although nobody holds it', async () => {
  const input = new PassThrough();
  const output = new PassThrough();
  let text = '';
  output.on('data', (chunk: Buffer) => (text += chunk.toString()));
  await (async () => {
    const server = new MCPServer();
    server.register({ name: 'a', inputSchema: {}, handler: () => 'ran' });
    await server.start(createPluggableStdioTransport({ input, output }));
  })();
  for (let round = 0; round < 5; round += 1) {
    globalThis.gc?.();
    await new Promise(setImmediate);
  }
  input.write('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}\n');
  await until('the answer', () => text.includes('ran'));
  input.end();
});

it('a runtime that a hook made for a request is collected when that is over', async () => {
  const refs: WeakRef<object>[] = [];
  const resolveRuntime = (): RuntimeLike => {
    const runtime = { tools: { list: async () => [{ name: 'a', execute: () => 'ran' }] } };
    refs.push(new WeakRef(runtime));
    return runtime;
  };
  const { client } = await served({ nativeExecution: true, resolveRuntime }, undefined, { revision: '2026-07-28' });
  for (let round = 0; round < 20; round += 1) await client.call('a');
  expect(refs).toHaveLength(20);
  await collected('the runtimes', refs);
});

it('the listings of a runtime are collected with it', async () => {
  const refs: WeakRef<object>[] = [];
  await (async () => {
    const listed = { chatId: 'c', artifactId: 'a' };
    const runtime: RuntimeLike = {
      artifacts: { list: async () => [listed], read: async () => ({ text: '' }) },
    };
    await adaptHarnessArtifacts(runtime);
    refs.push(new WeakRef(runtime), new WeakRef(listed));
  })();
  await collected('the runtime and its listing', refs);
});

it('a worker that ends under a server takes it along', async () => {
  const source = `(async () => {
    const { parentPort } = require('node:worker_threads');
    const { PassThrough } = require('node:stream');
    const { createPluggableStdioTransport, MCPServer } = await import('espalier/server');
    const input = new PassThrough();
    const server = new MCPServer();
    server.register({ name: 'a', inputSchema: {}, handler: () => new Promise(() => parentPort.postMessage('called')) });
    await server.start(createPluggableStdioTransport({ input, output: new PassThrough() }));
    input.write('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}\\n');
  })();`;
  const ended = await program(
    `import { Worker } from 'node:worker_threads';
          for (let round = 0; round < 5; round += 1) {
       const worker = new Worker(input, { eval: true, execArgv: [] });
       await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject));
       say('ended', await worker.terminate());
     }`,
    { input: source },
  ).ended();
  expect(ended).toMatchObject({ code: 0, signal: null, stderr: '', stdout: 'ended 1\n'.repeat(5) });
});
