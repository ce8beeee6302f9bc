// Toolsets and servers that come and go: what was made for one of them goes with it, in the core as well, where no
// collector would show it.

import { expect, it } from 'vitest';

import { program } from '../helpers/programs.js';

const ROUNDS = 2000;
// Caches, threads and the heap of the engine find their size first.
const WARM_UP = 500;

it.each([
  [
    'toolsets',
    `import { mcpTools } from 'espalier/node';
     const round = async () => (await mcpTools([])).close();`,
  ],
  [
    'servers on a port',
    `import { createSSETransport, MCPServer } from 'espalier/server';
     const round = async () => {
       const server = new MCPServer();
       server.register({ name: 'echo', inputSchema: {}, handler: (args) => args });
       await server.start(createSSETransport({ port: 0, streamableHttp: true }));
       await server.stop();
     };`,
  ],
  [
    'servers on given streams',
    `import { PassThrough } from 'node:stream';
     import { createPluggableStdioTransport, MCPServer } from 'espalier/server';
     const round = async () => {
       const server = new MCPServer();
       await server.start(createPluggableStdioTransport({ input: new PassThrough(), output: new PassThrough() }));
       await server.stop();
     };`,
  ],
])(
  `${ROUNDS} %s leave less than 4 MB`,
  async (_what, source) => {
    const run = program(
      `import { readFileSync } from 'node:fs';
       ${source}
       const megabytes = async () => {
         for (let n = 0; n < 4; n += 1) { gc(); await new Promise((resolve) => setTimeout(resolve, 20)); }
         return Number(/VmRSS:\\s+(\\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1]) / 1024;
       };
       const all = async (rounds) => {
         for (let n = 0; n < rounds; n += 1) {
           await round();
           // What waits to be collected is no growth, but takes room.
           if (n % 50 === 0) { gc(); await new Promise(setImmediate); }
         }
       };
       await all(input.warmUp);
       const before = await megabytes();
       await all(input.rounds);
       say('grown', (await megabytes()) - before);`,
      // The young generation of the engine would grow and shrink by more than is looked for.
      { input: { rounds: ROUNDS, warmUp: WARM_UP }, execArgv: ['--expose-gc', '--max-semi-space-size=1'] },
    );
    const { code, stderr } = await run.ended();
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(await run.says('grown')).toBeLessThan(4);
  },
  120_000,
);
