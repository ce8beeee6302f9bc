// No server outlives the process that started it, however that ends. Each server here is the root of a tree three deep,
// of which nobody heeds the end of an input or a polite signal.

import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

import { describe, expect, it, onTestFinished } from 'vitest';

import { allGone, childrenOf, isAlive, watchdogsOf, withArgument } from '../helpers/processes.js';
import { program } from '../helpers/programs.js';
import { shellServer, type StdioConfig } from '../helpers/servers.js';
import { until } from '../helpers/until.js';
import { workspace } from '../helpers/workspace.js';

const rounds = process.env['ESPALIER_SOAK'] === undefined ? 1 : 10;

const handshake = `read l; echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}}}}'
  read l; read l; echo '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"t"}]}}'`;

interface Tree {
  config: StdioConfig;
  /** Waits until the whole tree runs, and gives its processes. */
  processes(): Promise<number[]>;
}

function tree(name: string, { answers = true } = {}): Tree {
  const file = path.join(workspace(), 'processes');
  const note = (pid: string): string => `echo ${pid} >> '${file}'`;
  const below = `${note('$$')}; sleep 1000 & ${note('$!')}; sh -c "${note(String.raw`\$\$`)}; exec sleep 1000" & wait`;
  const script = `trap '' HUP INT QUIT TERM
    sh -c '${below.replaceAll("'", `'\\''`)}' </dev/null >/dev/null 2>&1 &
    ${note('$$')}
    ${answers ? handshake : ''}
    while :; do read l || sleep 1000; done`;
  const written = (): number[] =>
    (existsSync(file) ? readFileSync(file, 'utf8').split('\n') : []).map(Number).filter(Boolean);
  onTestFinished(() => {
    for (const pid of written().filter((one) => isAlive(one))) process.kill(pid, 'SIGKILL');
  });
  return {
    config: shellServer(name, script),
    processes: () =>
      until(`the four processes of ${name}`, () => {
        const pids = written();
        return pids.length === 4 && pids;
      }),
  };
}

const ends: [string, string, { code?: number; signal?: NodeJS.Signals }][] = [
  ['process.exit()', 'process.exit(7);', { code: 7 }],
  ['an uncaught exception', `setTimeout(() => { throw new Error('uncaught'); });`, { code: 1 }],
  ['SIGINT', `process.kill(process.pid, 'SIGINT');`, { signal: 'SIGINT' }],
  ['SIGTERM', `process.kill(process.pid, 'SIGTERM');`, { signal: 'SIGTERM' }],
  ['SIGKILL', `process.kill(process.pid, 'SIGKILL');`, { signal: 'SIGKILL' }],
  ['an abort', 'process.abort();', { signal: 'SIGABRT' }],
];

describe('nothing of a tree is left 5 s after the host ended', () => {
  it.each(ends)(
    'by %s while a call runs',
    async (_what, end, how) => {
      for (let round = 0; round < rounds; round += 1) {
        const one = tree('one');
        const other = tree('other');
        const run = program(
          `import { mcpTools } from 'espalier/node';
           const toolset = await mcpTools(input);
           toolset.call('one__t', {}).catch(() => {});
           process.once('SIGUSR2', () => { ${end} });
           say('connected', Object.keys(toolset.tools));
           setTimeout(() => void toolset, 60_000);`,
          { input: [one.config, other.config] },
        );
        expect(await run.says('connected')).toEqual(['one__t', 'other__t']);
        const pids = [...(await one.processes()), ...(await other.processes()), ...watchdogsOf(run.pid)];
        expect(pids).toHaveLength(9);
        run.process.kill('SIGUSR2');

        expect(await run.ended()).toMatchObject(how);
        await allGone(pids, 5000);
      }
    },
    rounds * 20_000,
  );

  it('by SIGKILL while it connects', async () => {
    const silent = tree('silent', { answers: false });
    const run = program(
      `import { mcpTools } from 'espalier/node';
       await mcpTools([input]);`,
      { input: silent.config },
    );
    const pids = await silent.processes();
    run.process.kill('SIGKILL');

    expect(await run.ended()).toMatchObject({ signal: 'SIGKILL' });
    await allGone(pids, 5000);
  });

  it('by a SIGKILL to its whole process group', async () => {
    const one = tree('one');
    const run = program(
      `import { mcpTools } from 'espalier/node';
       const toolset = await mcpTools([input]);
       say('connected');
       setTimeout(() => void toolset, 60_000);`,
      // As the leader of a group, as under a shell.
      { input: one.config, under: ['setsid'] },
    );
    await run.says('connected');
    const pids = await one.processes();
    process.kill(-run.pid, 'SIGKILL');

    expect(await run.ended()).toMatchObject({ signal: 'SIGKILL' });
    await allGone(pids, 5000);
  });

  it('by SIGKILL, after somebody killed the watchdog as well', async () => {
    const one = tree('one');
    const run = program(
      `import { mcpTools } from 'espalier/node';
       const toolset = await mcpTools([input]);
       say('connected');
       setTimeout(() => void toolset, 60_000);`,
      { input: one.config },
    );
    await run.says('connected');
    const pids = await one.processes();
    const [first] = watchdogsOf(run.pid);
    process.kill(first ?? -1, 'SIGKILL');
    const [second] = await until('another watchdog', () => {
      const now = watchdogsOf(run.pid);
      return now.length === 1 && now[0] !== first && now;
    });
    run.process.kill('SIGKILL');

    expect(await run.ended()).toMatchObject({ signal: 'SIGKILL' });
    await allGone([...pids, second ?? -1], 5000);
  });
});

// A child is known to the watchdog before it is anything but a copy of its host.
describe('nothing is left after SIGKILL while 16 servers are started', () => {
  const delays = rounds === 1 ? [0, 2, 4, 8] : Array.from({ length: 100 }, (_, n) => n / 5);

  it.each(delays)('%d ms after the beginning', async (delayMs) => {
    const marker = `0.${process.pid}${delayMs * 10}3`;
    const left = (): number[] => withArgument(marker);
    onTestFinished(() => {
      for (const pid of left()) process.kill(pid, 'SIGKILL');
    });
    const servers = Array.from({ length: 16 }, (_, n) => ({
      type: 'stdio',
      name: `s${n}`,
      // The grandchild is none that the parent's death would end.
      command: 'sh',
      args: ['-c', `trap "" HUP; sleep 1000 ${marker} & wait`, marker],
    }));
    const ended = await program(
      `import { mcpTools } from 'espalier/node';
       mcpTools(input.servers).catch(() => {});
       await new Promise(setImmediate);
       const until = performance.now() + input.delayMs;
       while (performance.now() < until);
       process.kill(process.pid, 'SIGKILL');`,
      { input: { servers, delayMs } },
    ).ended();

    expect(ended).toMatchObject({ signal: 'SIGKILL' });
    await until('the end of all servers', () => left().length === 0, 5000);
  });
});

describe('the watchdog', () => {
  it('is one for all threads of a process, and leaves with the last server', async () => {
    const one = tree('one');
    const run = program(
      `import { Worker } from 'node:worker_threads';
       import { once } from 'node:events';
       import { mcpTools } from 'espalier/node';
       const source = "(async () => { const { workerData, parentPort } = require('node:worker_threads'); const { mcpTools } = await import('espalier/node'); const toolset = await mcpTools([workerData]); parentPort.postMessage('up'); await new Promise((resolve) => parentPort.once('message', resolve)); await toolset.close(); process.exit(0); })();";
       const workers = [1, 2].map(() => new Worker(source, { eval: true, execArgv: [], workerData: input.quick }));
       await Promise.all(workers.map((worker) => once(worker, 'message')));
       const toolset = await mcpTools([input.one]);
       say('up');
       await new Promise((resolve) => process.once('SIGUSR2', resolve));
       await Promise.all(workers.map((worker) => { const exit = once(worker, 'exit'); worker.postMessage('end'); return exit; }));
       say('workers-ended');
       await new Promise((resolve) => process.once('SIGUSR2', resolve));
       await toolset.close();
       say('closed');
       setTimeout(() => {}, 60_000);`,
      { input: { one: one.config, quick: shellServer('quick', `${handshake}; while read l; do :; done`) } },
    );
    await run.says('up');
    const pids = await one.processes();
    const watchdogs = watchdogsOf(run.pid);
    expect(watchdogs).toHaveLength(1);
    run.process.kill('SIGUSR2');
    await run.says('workers-ended');
    expect(watchdogsOf(run.pid)).toEqual(watchdogs);
    expect(pids.map((pid) => isAlive(pid))).toEqual([true, true, true, true]);
    run.process.kill('SIGUSR2');
    await run.says('closed');

    expect(childrenOf(run.pid)).toEqual([]);
    expect(existsSync(`/proc/${watchdogs[0] ?? 0}`)).toBe(false);
  });

  it('is not kept by servers that could not be started', async () => {
    const run = program(
      `import { mcpTools } from 'espalier/node';
       const toolset = await mcpTools([1, 2, 3].map((n) => ({ type: 'stdio', name: 's' + n, command: '/no/such' })), { onDiagnostic() {} });
       say('failed');
       setTimeout(() => void toolset, 60_000);`,
    );
    await run.says('failed');
    await until('the end of the watchdog', () => childrenOf(run.pid).length === 0);
  });

  it('shares its line with no server, and its session neither', async () => {
    const run = program(
      `import { mcpTools } from 'espalier/node';
       const lines = [];
       const toolset = await mcpTools([input], { onDiagnostic() {}, onStderr: (_server, line) => lines.push(line) });
       say('lines', lines);
       await toolset.close();`,
      { input: shellServer('nosy', 'cut -d" " -f 5,6 /proc/$$/stat >&2; echo "$$ $$" >&2; ls -l /proc/$$/fd >&2') },
    );
    const [groupAndSession, own, ...descriptors] = (await run.says('lines')) as string[];
    expect(groupAndSession).toBe(own);
    // A process has its pipes, and whatever the host itself was started with.
    expect(descriptors.filter((line) => line.includes('pipe:')).length).toBeGreaterThanOrEqual(3);
    expect(descriptors.filter((line) => line.includes('socket:'))).toEqual([]);
    expect(await run.ended()).toMatchObject({ code: 0, stderr: '' });
  });
});
