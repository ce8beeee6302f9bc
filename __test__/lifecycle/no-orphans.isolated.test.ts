// No server outlives the process that started it, however that ends. The servers here ignore the end of their input and
// SIGTERM, and have a helper in their process group: what is shown is that they are ended, not that they end.

import { describe, expect, it } from 'vitest';

import { allGone, isAlive } from '../helpers/processes.js';
import { program } from '../helpers/programs.js';
import { scripted, toolEntry, type Scripted } from '../helpers/scripted.js';

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
  it.each<[string, string, { code?: number; signal?: NodeJS.Signals }]>([
    ['after `close()`', 'await toolset.close();', { code: 0 }],
    ['after `process.exit()` while connected', 'process.exit(7);', { code: 7 }],
    ['after `process.exit()` during `close()`', 'void toolset.close(); process.exit(7);', { code: 7 }],
    ['after `process.exit()` during a call', `void toolset.call('srv__t', {}); process.exit(7);`, { code: 7 }],
    ['after an uncaught exception while connected', `setTimeout(() => { throw new Error('uncaught'); });`, { code: 1 }],
    ['after an unhandled rejection while connected', `void Promise.reject(new Error('unhandled'));`, { code: 1 }],
    ['after SIGKILL while connected', `process.kill(process.pid, 'SIGKILL');`, { signal: 'SIGKILL' }],
    ['after SIGTERM while connected', `process.kill(process.pid, 'SIGTERM');`, { signal: 'SIGTERM' }],
    ['after SIGINT while connected', `process.kill(process.pid, 'SIGINT');`, { signal: 'SIGINT' }],
    ['after an abort of the host', 'process.abort();', { signal: 'SIGABRT' }],
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

  it('after SIGKILL while connecting', async () => {
    const peer = scripted('srv', { ignoreStop: true, start: [{ helper: true }], on: { initialize: [[]] } });
    const run = program(
      `import { mcpTools } from 'espalier/node';
       await mcpTools([input]);`,
      { input: peer.config },
    );
    await peer.waitFor('initialize');
    run.process.kill('SIGKILL');

    expect(await run.ended()).toMatchObject({ signal: 'SIGKILL' });
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

it('what the package starts beside the servers ends with the process too', async () => {
  const peer = scripted('srv');
  const run = program(
    `import { mcpTools } from 'espalier/node';
     import { readdirSync, readFileSync } from 'node:fs';
     const toolset = await mcpTools([input]);
     const parentOf = (pid) => { try { const text = readFileSync('/proc/' + pid + '/stat', 'utf8'); return Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[1]); } catch { return 0; } };
     say('children', readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name)).map(Number).filter((pid) => parentOf(pid) === process.pid));
     process.kill(process.pid, 'SIGKILL');`,
    { input: peer.config },
  );
  await run.ended();
  const children = (await run.says('children')) as number[];

  expect(children).toContain((await peer.started()).pid);
  await allGone(children, 5000);
  expect(children.filter((pid) => isAlive(pid))).toEqual([]);
});
