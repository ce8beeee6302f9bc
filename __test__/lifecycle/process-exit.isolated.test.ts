// When a process that uses the package ends by itself, and when it does not.

import { describe, expect, it } from 'vitest';

import { allGone, isAlive } from '../helpers/processes.js';
import { program } from '../helpers/programs.js';
import { scripted, toolEntry } from '../helpers/scripted.js';
import { echoServer } from '../helpers/servers.js';

describe('a process ends by itself', () => {
  it.each(['espalier', 'espalier/node', 'espalier/server'])('after importing %s and nothing else', async (entry) => {
    const ended = await program(`await import('${entry}'); say('imported');`).ended();

    expect(ended).toMatchObject({ code: 0, signal: null, stderr: '' });
    expect(ended.msSince('imported')).toBeLessThan(2000);
  });

  it('within 2 s of `close()`, although it gave callbacks, and has called', async () => {
    const ended = await program(
      `import { mcpTools } from 'espalier/node';
       const ignore = () => {};
       const toolset = await mcpTools([input, { type: 'stdio', name: 'absent', command: 'no-such-command' }], {
         onDiagnostic: ignore, onProgress: ignore, onStderr: ignore, signal: new AbortController().signal,
       });
       await toolset.call('echo__echo', { text: 'x' }, { timeoutMs: 600_000, onProgress: ignore, signal: new AbortController().signal });
       await toolset.close();
       say('closed');`,
      { input: echoServer() },
    ).ended();

    expect(ended).toMatchObject({ code: 0, signal: null, stderr: '' });
    expect(ended.msSince('closed')).toBeLessThan(2000);
  });

  it('within 2 s of `close()` although a call was under way', async () => {
    const ended = await program(
      `import { mcpTools } from 'espalier/node';
       const toolset = await mcpTools([input]);
       const call = toolset.call('echo__slow', { ms: 600_000 }).catch((error) => say('rejected', error.code));
       await toolset.close();
       await call;
       say('closed');`,
      { input: echoServer() },
    ).ended();

    expect(ended).toMatchObject({ code: 0, signal: null, stderr: '' });
    expect(ended.stdout).toContain('rejected "closed"');
    expect(ended.msSince('closed')).toBeLessThan(2000);
  });

  it('after an aborted connect', async () => {
    const peer = scripted('srv', { on: { initialize: [[]] } });
    const ended = await program(
      `import { mcpTools } from 'espalier/node';
       const controller = new AbortController();
       setTimeout(() => controller.abort(), 100);
       await mcpTools([input], { signal: controller.signal }).catch((error) => say('rejected', error.name));`,
      { input: peer.config },
    ).ended();

    expect(ended).toMatchObject({ code: 0, signal: null, stderr: '' });
    expect(ended.stdout).toBe('rejected "AbortError"\n');
    expect(ended.msSince('rejected')).toBeLessThan(4500);
  });
});

describe('a connected toolset', () => {
  // A timer without a hold on the process fires only if something else holds it.
  const later = `setTimeout(() => { say('still-here'); void toolset.close(); }, 700).unref();`;

  it('keeps its process alive until `close()`', async () => {
    const ended = await program(
      `import { mcpTools } from 'espalier/node';
       const toolset = await mcpTools([input]);
       ${later}`,
      { input: echoServer() },
    ).ended();

    expect(ended).toMatchObject({ code: 0, signal: null, stdout: 'still-here null\n', stderr: '' });
    expect(ended.msSince('still-here')).toBeLessThan(2000);
  });

  it('lets it go after `unref()`, with its servers', async () => {
    const peer = scripted('srv', { tools: [toolEntry('t')] });
    const ended = await program(
      `import { mcpTools } from 'espalier/node';
       const toolset = await mcpTools([input]);
       toolset.unref();
       ${later}
       say('connected');`,
      { input: peer.config },
    ).ended();

    expect(ended).toMatchObject({ code: 0, signal: null, stdout: 'connected null\n', stderr: '' });
    expect(ended.msSince('connected')).toBeLessThan(650);
    await allGone([(await peer.started()).pid]);
  });

  it('can be called after `unref()`, while something else holds the process', async () => {
    const ended = await program(
      `import { mcpTools } from 'espalier/node';
       const toolset = await mcpTools([input]);
       toolset.unref();
       const hold = setInterval(() => {}, 1000);
       say('answer', await toolset.call('echo__echo', { text: 'x' }));
       clearInterval(hold);`,
      { input: echoServer() },
    ).ended();

    expect(ended).toMatchObject({ code: 0, stdout: 'answer "x"\n', stderr: '' });
  });

  it('lets the process go when it is closed after `unref()` or twice', async () => {
    const peer = scripted('srv');
    const ended = await program(
      `import { mcpTools } from 'espalier/node';
       const toolset = await mcpTools([input]);
       toolset.unref();
       toolset.unref();
       await toolset.close();
       await toolset.close();
       toolset.unref();
       say('closed');`,
      { input: peer.config },
    ).ended();

    expect(ended).toMatchObject({ code: 0, stdout: 'closed null\n', stderr: '' });
    expect(isAlive((await peer.started()).pid)).toBe(false);
  });
});
