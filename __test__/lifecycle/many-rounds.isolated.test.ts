// Starting, calling and stopping a server, over and over in one process: descriptors, threads and memory stay what they
// were. `ESPALIER_SOAK` asks for all 1,000 rounds.

import { expect, it } from 'vitest';

import { program } from '../helpers/programs.js';
import { shellServer } from '../helpers/servers.js';

const rounds = process.env['ESPALIER_SOAK'] === undefined ? 60 : 1000;
// Caches, threads and the heap of the engine find their size first.
const warmUp = 200;

interface Standing {
  descriptors: number;
  threads: number;
  children: number;
  megabytes: number;
}

it(
  `${rounds} rounds leave no descriptor, no child, no more threads, and less than 4 MB`,
  async () => {
    const server = shellServer(
      'srv',
      `read l; echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}}}}'
       read l; read l; echo '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"t"}]}}'
       read l; echo '{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"fine"}]}}'
       read l`,
    );
    const run = program(
      `import { readFileSync, readdirSync } from 'node:fs';
       import { mcpTools } from 'espalier/node';
       const round = async () => {
         const toolset = await mcpTools([input.server], { onDiagnostic: (told) => say('diagnostic', told) });
         if ((await toolset.call('srv__t', {})) !== 'fine') throw new Error('a wrong answer');
         await toolset.close();
       };
       const line = (name) => Number(new RegExp(name + ':\\\\s+(\\\\d+)').exec(readFileSync('/proc/self/status', 'utf8'))[1]);
       const children = () => readFileSync('/proc/self/task/' + process.pid + '/children', 'utf8').split(' ').filter(Boolean).length;
       const standing = async () => {
         for (let n = 0; n < 3; n += 1) { gc(); await new Promise(setImmediate); }
         return {
           descriptors: readdirSync('/proc/self/fd').length,
           threads: line('Threads'),
           children: children(),
           megabytes: line('VmRSS') / 1024,
         };
       };
       // The first word opens a descriptor of Node's own.
       say('begins');
       const all = async (rounds) => {
         for (let n = 0; n < rounds; n += 1) {
           await round();
           // What waits to be collected is no growth, but takes room.
           if (n % 50 === 0) { gc(); await new Promise(setImmediate); }
         }
       };
       await all(input.warmUp);
       const before = await standing();
       await all(input.rounds);
       say('before', before);
       // What closes a moment later is waited for; what stays is growth.
       const deadline = performance.now() + 10_000;
       let after = await standing();
       while ((after.descriptors > before.descriptors || after.children > before.children) && performance.now() < deadline) {
         await new Promise((resolve) => setTimeout(resolve, 20));
         after = await standing();
       }
       say('after', after);`,
      // The young generation of the engine would grow and shrink by more than is looked for.
      { input: { server, rounds, warmUp }, execArgv: ['--expose-gc', '--max-semi-space-size=1'] },
    );
    const { code, stdout, stderr } = await run.ended();
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).not.toContain('diagnostic');
    const [before, after] = [(await run.says('before')) as Standing, (await run.says('after')) as Standing];
    if (rounds === 1000) console.log(`before ${JSON.stringify(before)}, after ${JSON.stringify(after)}`);

    expect(after.descriptors).toBeLessThanOrEqual(before.descriptors);
    expect(after.children).toBeLessThanOrEqual(before.children);
    // One that is about to end may still be there.
    expect(after.threads).toBeLessThanOrEqual(before.threads + 1);
    expect(after.megabytes - before.megabytes).toBeLessThan(4);
  },
  (rounds + warmUp) * 500,
);
