// Servers that are gone before we have written to them: nothing of it may surface as an unhandled error of the process.

import { expect, it } from 'vitest';

import { program } from '../helpers/programs.js';
import { echoServer, shellFixture, shellServer } from '../helpers/servers.js';

const rounds = process.env['ESPALIER_SOAK'] === undefined ? 50 : 1000;

const counting = `
  const unhandled = [];
  process.on('unhandledRejection', (error) => unhandled.push(String(error)));
  process.on('uncaughtException', (error) => unhandled.push(String(error)));
  process.on('warning', (warning) => unhandled.push(String(warning)));
`;

it(
  `${rounds} servers that leave right after answering \`initialize\` are ${rounds} diagnostics and no unhandled error`,
  async () => {
    const ended = await program(
      `import { mcpTools } from 'espalier/node';
       ${counting}
       const rules = [];
       for (let round = 0; round < input.rounds; round += 1) {
         const toolset = await mcpTools([input.server], { onDiagnostic: ({ rule }) => rules.push(rule) });
         await toolset.close();
       }
       await new Promise((resolve) => setTimeout(resolve, 50));
       say('result', { unhandled, rules: [...new Set(rules)], count: rules.length });`,
      { input: { rounds, server: shellFixture('hasty', 'hasty.sh') } },
    ).ended();

    expect(ended).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(ended.stdout.slice('result '.length))).toEqual({
      unhandled: [],
      rules: ['connection-failure'],
      count: rounds,
    });
  },
  rounds * 1000,
);

it('nobody waiting for a call that fails, and callbacks that reject, are no unhandled error but a warning', async () => {
  const ended = await program(
    `import { mcpTools } from 'espalier/node';
     ${counting}
     let reported = 0;
     const failing = async () => { reported += 1; throw new Error('from a callback'); };
     const toolset = await mcpTools(input, { onDiagnostic: failing, onStderr: failing, onProgress: failing });
     await toolset.call('echo__echo', { text: 'x' }, { onProgress: failing });
     await toolset.close();
     await new Promise((resolve) => setTimeout(resolve, 50));
     say('result', { unhandled, reported: reported > 0 });`,
    { input: [echoServer(), shellServer('broken', 'echo x >&2; exit 1')] },
  ).ended();

  expect(ended).toMatchObject({ code: 0, signal: null });
  const result = JSON.parse(ended.stdout.slice('result '.length)) as { unhandled: string[]; reported: boolean };
  expect(result.reported).toBe(true);
  expect(result.unhandled.toSorted()).toEqual([
    'EspalierWarning: onDiagnostic threw: from a callback',
    'EspalierWarning: onStderr threw: from a callback',
  ]);
});

it('arguments and options of every wrong kind leave the process and the toolset as they were', async () => {
  const ended = await program(
    `import { mcpTools, McpError } from 'espalier/node';
     ${counting}
     const toolset = await mcpTools([input]);
     const cyclic = {}; cyclic.self = cyclic;
     let deep = {}; for (let level = 0; level < 1_000_000; level += 1) deep = [deep];
     const odd = [null, undefined, 0, -1, NaN, 70_000, 1n, '', '\\ud800', Symbol('x'), () => {}, [], [, 1], {}, cyclic, { deep },
       new Proxy({}, { get() { throw new Error('proxy'); } }), new Proxy({}, { ownKeys() { throw new Error('proxy'); } }),
       Object.freeze([]), new Map(), new Date(NaN), new Error('x'), Object.create(null)];
     let rejected = 0, resolved = 0, thrown = 0;
     const attempt = async (work) => {
       let promise;
       try { promise = work(); } catch { thrown += 1; return; }
       try { await promise; resolved += 1; } catch { rejected += 1; }
     };
     for (const value of odd) {
       await attempt(async () => { const other = await mcpTools(value); await other.close(); });
       await attempt(async () => { const other = await mcpTools([value]); await other.close(); });
       await attempt(async () => { const other = await mcpTools([], value); await other.close(); });
       for (const key of ['timeoutMs', 'maxTools', 'tools', 'signal', 'storage', 'onDiagnostic', 'session'])
         await attempt(async () => { const other = await mcpTools([], { [key]: value }); await other.close(); });
       await attempt(() => toolset.call(value, {}));
       await attempt(() => toolset.call('echo__echo', value));
       await attempt(() => toolset.call('echo__echo', {}, value));
       await attempt(() => toolset.tools.echo__echo.execute(value, {}));
       await attempt(() => toolset.tools.echo__echo.execute({}, value));
     }
     say('answer', await toolset.call('echo__echo', { text: 'still here' }));
     await toolset.close();
     say('unhandled', unhandled);
     say('thrown', thrown);`,
    { input: echoServer() },
  ).ended();

  expect(ended).toMatchObject({ code: 0, signal: null, stderr: '' });
  expect(ended.stdout).toBe('answer "still here"\nunhandled []\nthrown 0\n');
});
