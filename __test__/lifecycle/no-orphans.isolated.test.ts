// No server outlives the process that started it when that ends in an orderly way. The servers here ignore the end of their input and
// SIGTERM, and have a helper in their process group: what is shown is that they are ended, not that they end.

import { describe, expect, it, onTestFinished } from 'vitest';

import { allGone, withArgument } from '../helpers/processes.js';
import { firstProcess, program } from '../helpers/programs.js';
import { scripted, toolEntry, type Scripted } from '../helpers/scripted.js';
import { shellServer } from '../helpers/servers.js';
import { until } from '../helpers/until.js';

function stubborn(): Scripted {
  return scripted('srv', { ignoreStop: true, start: [{ helper: true }], tools: [toolEntry('t')] });
}

async function processesOf(peer: Scripted): Promise<number[]> {
  const { pid } = await peer.started();
  const helpers = peer.helpers();
  expect(helpers).toHaveLength(1);
  return [pid, ...helpers];
}

describe('no process is left', () => {
  it.each<[string, string, { code: number }]>([
    ['after `close()`', 'await toolset.close();', { code: 0 }],
    ['after `process.exit()` while connected', 'process.exit(7);', { code: 7 }],
    ['after `process.exit()` during `close()`', 'void toolset.close(); process.exit(7);', { code: 7 }],
    ['after `process.exit()` during a call', `void toolset.call('srv__t', {}); process.exit(7);`, { code: 7 }],
    ['after an uncaught exception while connected', `setTimeout(() => { throw new Error('uncaught'); });`, { code: 1 }],
    ['after an unhandled rejection while connected', `void Promise.reject(new Error('unhandled'));`, { code: 1 }],
  ])('%s', async (_when, end, how) => {
    const peer = stubborn();
    const ended = await program(
      `import { mcpTools } from 'espalier/node';
       const toolset = await mcpTools([input]);
       ${end}`,
      { input: peer.config },
    ).ended();

    expect(ended).toMatchObject(how);
    await allGone(await processesOf(peer), 5000);
  });

  it('after a server that connected and one that failed, both closed', async () => {
    const fine = scripted('fine', { start: [{ helper: true }] });
    const broken = scripted('broken', { ignoreStop: true, start: [{ helper: true }], protocolVersion: 'no such' });
    const ended = await program(
      `import { mcpTools } from 'espalier/node';
       const toolset = await mcpTools(input);
       await toolset.close();`,
      { input: [fine.config, broken.config] },
    ).ended();

    expect(ended).toMatchObject({ code: 0, stderr: '' });
    await allGone([...(await processesOf(fine)), ...(await processesOf(broken))], 5000);
  });
});

// What is being started just then is known to nobody but the thread that starts it.
describe('no process is left after `process.exit()` while 16 servers are started', () => {
  it.each([0, 0.5, 1, 1.5, 2, 4, 8, 16])('%d ms after the beginning', async (delayMs) => {
    // They never read: the end of the pipe does not end them.
    const marker = `0.${process.pid}${delayMs * 10}1`;
    const left = (): number[] => withArgument(marker);
    onTestFinished(() => {
      for (const pid of left()) process.kill(pid, 'SIGKILL');
    });
    const servers = Array.from({ length: 16 }, (_, n) => ({
      type: 'stdio',
      name: `s${n}`,
      command: 'sleep',
      args: ['1000', marker],
    }));
    const ended = await program(
      `import { mcpTools } from 'espalier/node';
       mcpTools(input.servers).catch(() => {});
       await new Promise(setImmediate);
       const until = performance.now() + input.delayMs;
       while (performance.now() < until);
       process.exit(7);`,
      { input: { servers, delayMs } },
    ).ended();

    expect(ended).toMatchObject({ code: 7, stderr: '' });
    await until('the end of all servers', () => left().length === 0, 5000);
  });
});

it('a helper that outlives its server does not hold up `close()`, where nobody else would reap it', async () => {
  const quick = shellServer(
    'srv',
    `sleep 1000 &
     read l; echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}}}}'
     read l; read l; echo '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"t"}]}}'
     read l`,
  );
  // As the first process of a container, whose children the orphans become.
  const ended = await program(
    `import { mcpTools } from 'espalier/node';
     const toolset = await mcpTools([input]);
     const begin = performance.now();
     await toolset.close();
     say('closed', { tools: Object.keys(toolset.tools), ms: performance.now() - begin });`,
    { input: quick, under: firstProcess() },
  ).ended();

  expect(ended).toMatchObject({ code: 0, stderr: '' });
  const closed = JSON.parse(ended.stdout.slice('closed '.length)) as { tools: string[]; ms: number };
  expect(closed).toMatchObject({ tools: ['srv__t'] });
  expect(closed.ms).toBeLessThan(1500);
});
