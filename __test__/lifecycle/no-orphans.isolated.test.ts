// No server outlives the process that started it when that ends in an orderly way. The servers here ignore the end of their input and
// SIGTERM, and have a helper in their process group: what is shown is that they are ended, not that they end.

import { describe, expect, it } from 'vitest';

import { allGone } from '../helpers/processes.js';
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
