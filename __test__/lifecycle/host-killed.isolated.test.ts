// No server outlives the process that started it, even when that is killed and can do nothing about it. The servers here
// ignore the end of their input and SIGTERM, and have a helper in their process group.

import { describe, expect, it } from 'vitest';

import { allGone, isAlive } from '../helpers/processes.js';
import { program } from '../helpers/programs.js';
import { scripted, toolEntry, type Scripted } from '../helpers/scripted.js';

async function processesOf(peer: Scripted): Promise<number[]> {
  const { pid } = await peer.started();
  const helpers = peer.helpers();
  expect(helpers).toHaveLength(1);
  return [pid, ...helpers];
}

describe('no process is left', () => {
  it.each<[string, string, NodeJS.Signals]>([
    ['SIGKILL', `process.kill(process.pid, 'SIGKILL');`, 'SIGKILL'],
    ['SIGTERM', `process.kill(process.pid, 'SIGTERM');`, 'SIGTERM'],
    ['SIGINT', `process.kill(process.pid, 'SIGINT');`, 'SIGINT'],
    ['an abort of the host', 'process.abort();', 'SIGABRT'],
  ])('after %s while connected', async (_what, end, signal) => {
    const peer = scripted('srv', { ignoreStop: true, start: [{ helper: true }], tools: [toolEntry('t')] });
    const ended = await program(
      `import { mcpTools } from 'espalier/node';
       const toolset = await mcpTools([input]);
       ${end}
       setTimeout(() => void toolset, 60_000);`,
      { input: peer.config },
    ).ended();

    expect(ended).toMatchObject({ signal });
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
