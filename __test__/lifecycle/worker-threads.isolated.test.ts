// The package in several threads of one process at once.

import { describe, expect, it } from 'vitest';

import { allGone, isAlive } from '../helpers/processes.js';
import { program } from '../helpers/programs.js';
import { scripted, toolEntry } from '../helpers/scripted.js';
import { echoServer } from '../helpers/servers.js';

/**
 * A worker, as an expression for a program. It runs a script with a dynamic import, since a worker takes no module as
 * text, and none of the flags with which the program itself was given as text.
 */
function worker(source: string): string {
  return `new Worker(${JSON.stringify(
    `(async () => { const { workerData, parentPort } = require('node:worker_threads'); const { createStreamableHttpTransport, mcpTools, MCPServer } = await import('espalier/node'); ${source} })();`,
  )}, { eval: true, execArgv: [], workerData: input })`;
}

describe('worker threads', () => {
  it('load the addon and call servers, two of them and the main thread at once', async () => {
    const ended = await program(
      `import { Worker } from 'node:worker_threads';
       import { once } from 'node:events';
       import { mcpTools } from 'espalier/node';
       const workers = [1, 2].map(() => ${worker(`
         const toolset = await mcpTools([workerData]);
         const answers = await Promise.all(Array.from({ length: 50 }, (_, n) => toolset.call('echo__sum', { a: n, b: 1 })));
         await toolset.close();
         parentPort.postMessage(answers.length);
       `)});
       const exits = workers.map((worker) => once(worker, 'exit'));
       const answers = workers.map((worker) => once(worker, 'message'));
       const toolset = await mcpTools([input]);
       say('main', await toolset.call('echo__sum', { a: 1, b: 2 }));
       say('workers', (await Promise.all(answers)).flat());
       say('exits', (await Promise.all(exits)).flat());
       say('again', await toolset.call('echo__sum', { a: 2, b: 2 }));
       await toolset.close();
       say('closed');`,
      { input: echoServer() },
    ).ended();

    expect(ended).toMatchObject({
      code: 0,
      signal: null,
      stdout: 'main "3"\nworkers [50,50]\nexits [0,0]\nagain "4"\nclosed null\n',
      stderr: '',
    });
    expect(ended.msSince('closed')).toBeLessThan(2000);
  });

  it.each<[string, string, string]>([
    ['is terminated', '', 'await worker.terminate();'],
    ['exits', 'process.exit(3);', 'await exited;'],
    ['throws', `setTimeout(() => { throw new Error('uncaught'); });`, 'await exited;'],
  ])('that %s with an open toolset leaves no server, and harms nobody', async (_how, inWorker, inMain) => {
    const peer = scripted('srv', { ignoreStop: true, start: [{ helper: true }], tools: [toolEntry('t')] });
    const run = program(
      `import { Worker } from 'node:worker_threads';
       import { once } from 'node:events';
       import { mcpTools } from 'espalier/node';
       const toolset = await mcpTools([{ ...input, name: 'mine' }]);
       const worker = ${worker(`
         globalThis.toolset = await mcpTools([workerData]);
         parentPort.postMessage('connected');
         await new Promise((resolve) => parentPort.once('message', resolve));
         ${inWorker}
       `)};
       worker.on('error', () => {});
       // Not \`once\`, which rejects at an error.
       const exited = new Promise((resolve) => worker.once('exit', resolve));
       await once(worker, 'message');
       worker.postMessage('go on');
       ${inMain}
       const told = new Promise((resolve) => process.once('SIGUSR2', resolve));
       say('ended');
       await told;
       say('answer', await toolset.call('mine__t', {}));
       await toolset.close();
       say('closed');
       process.exit(0);`,
      { input: peer.config },
    );
    await run.says('ended');
    // The first process belongs to the main thread, the second one to the worker.
    const [mine, theirs] = peer.starts().map(({ pid }) => pid);
    const [myHelper, theirHelper] = peer.helpers();
    await allGone([theirs ?? -1, theirHelper ?? -1], 10_000);
    expect([mine, myHelper].map((pid) => isAlive(pid ?? -1))).toEqual([true, true]);

    run.process.kill('SIGUSR2');
    expect(await run.ended()).toMatchObject({ code: 0, signal: null });
    expect(run.stdout()).toContain('answer');
    await allGone([...peer.starts().map(({ pid }) => pid), ...peer.helpers()], 5000);
  });

  it('that ends by itself after `close()` does so without help', async () => {
    const ended = await program(
      `import { Worker } from 'node:worker_threads';
       import { once } from 'node:events';
       for (let round = 0; round < 5; round += 1) {
         const worker = ${worker(`
           const toolset = await mcpTools([workerData], { onDiagnostic() {}, onStderr() {} });
           await toolset.close();
         `)};
         say('exit', await once(worker, 'exit'));
       }`,
      { input: echoServer() },
    ).ended();

    expect(ended).toMatchObject({ code: 0, stdout: 'exit [0]\n'.repeat(5), stderr: '' });
  });

  it('that is terminated while it serves gives up what its handlers were at, at once, and its port', async () => {
    const ended = await program(
      `import { Worker } from 'node:worker_threads';
       import { once } from 'node:events';
       const worker = ${worker(`
         const server = new MCPServer();
         const handler = () => { parentPort.postMessage('runs'); return new Promise(() => {}); };
         server.register({ name: 'waits', inputSchema: {}, handler });
         // A stop would let the handler have a minute.
         const transport = createStreamableHttpTransport({ port: 0, shutdownTimeoutMs: 60_000 });
         await server.start(transport);
         parentPort.postMessage(transport.port);
       `)};
       const [port] = await once(worker, 'message');
       const revision = '2026-07-28';
       const meta = { 'io.modelcontextprotocol/protocolVersion': revision, 'io.modelcontextprotocol/clientCapabilities': {} };
       const call = () => fetch('http://127.0.0.1:' + port + '/mcp', {
         method: 'POST',
         headers: {
           'content-type': 'application/json',
           accept: 'application/json, text/event-stream',
           'mcp-protocol-version': revision,
           'mcp-method': 'tools/call',
           'mcp-name': 'waits',
         },
         body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'waits', _meta: meta } }),
       });
       const answer = call();
       await once(worker, 'message');
       await worker.terminate();
       say('terminated');
       say('answer', (await (await answer).json()).error.code);
       const deadline = Date.now() + 20_000;
       while (Date.now() < deadline) {
         const refused = await call().then(() => false, (error) => error.cause.code === 'ECONNREFUSED');
         if (refused) break;
       }
       say('refused', Date.now() < deadline);`,
    ).ended();

    expect(ended).toMatchObject({ code: 0, stdout: 'terminated null\nanswer -32603\nrefused true\n', stderr: '' });
    expect(ended.msSince('terminated')).toBeLessThan(20_000);
  });
});
