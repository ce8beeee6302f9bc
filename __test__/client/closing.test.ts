import { describe, expect, it } from 'vitest';

import { connect, tool } from '../helpers/connect.js';
import { mcpError } from '../helpers/errors.js';
import { allGone, isAlive } from '../helpers/processes.js';
import { scripted, toolEntry, type Scripted } from '../helpers/scripted.js';
import { timed } from '../helpers/until.js';

function server(): Scripted {
  return scripted('srv', { tools: [toolEntry('never'), toolEntry('t')], calls: { never: [[]] } });
}

describe('closing a toolset', () => {
  it('closes the input of its servers and waits until they have ended', async () => {
    const peers = [scripted('a'), scripted('b')];
    const { toolset } = await connect(peers.map(({ config }) => config));
    const pids = await Promise.all(peers.map(async (peer) => (await peer.started()).pid));

    await toolset.close();
    expect(pids.filter((pid) => isAlive(pid))).toEqual([]);
    expect(peers.map((peer) => peer.events())).toEqual([['end of input'], ['end of input']]);
  });

  it('rejects the calls under way with `closed`', async () => {
    const peer = server();
    const { toolset } = await connect([peer.config]);
    const calls = [toolset.call('srv__never', {}), tool(toolset, 'srv__never').execute({})].map((call) =>
      mcpError(call, 'closed'),
    );
    await peer.waitFor('tools/call', 2);

    const { ms } = await timed(() => toolset.close());
    await Promise.all(calls);
    expect(ms).toBeLessThan(2000);
  });

  it('makes later calls reject with `closed`, which also says that the server is unavailable', async () => {
    const { toolset } = await connect([server().config]);
    const { execute } = tool(toolset, 'srv__t');
    await toolset.close();

    for (const call of [toolset.call('srv__t', {}), execute({})]) {
      const error = await mcpError(call, 'closed');
      expect(error.message).toContain('unavailable');
    }
  });

  it('makes calls reject from the moment it begins', async () => {
    const peer = server();
    const { toolset } = await connect([peer.config]);

    const closing = toolset.close();
    await mcpError(toolset.call('srv__t', {}), 'closed');
    await closing;
    expect(peer.received('tools/call')).toEqual([]);
  });

  it('may be asked for twice, at once and again', async () => {
    const { toolset } = await connect([server().config]);

    await Promise.all([toolset.close(), toolset.close()]);
    await expect(toolset.close()).resolves.toBeUndefined();
    expect(toolset.servers()).toMatchObject([{ name: 'srv', state: 'closed' }]);
  });

  it('also happens by `Symbol.asyncDispose`', async () => {
    const peer = server();
    const { toolset } = await connect([peer.config]);

    await toolset[Symbol.asyncDispose]();
    await allGone([(await peer.started()).pid]);
    await mcpError(toolset.call('srv__t', {}), 'closed');
  });

  it('reports nothing', async () => {
    const { toolset, diagnostics } = await connect([server().config, { ...scripted('other', { exitCode: 5 }).config }]);

    await toolset.close();
    expect(diagnostics).toEqual([]);
  });

  it('leaves other toolsets alone', async () => {
    const one = await connect([server().config]);
    const other = await connect([server().config]);

    await one.toolset.close();
    await expect(other.toolset.call('srv__t', {})).resolves.toContain('"tool":"t"');
  });
});

it('servers that do not want to end get SIGTERM after 2 s and are killed after 2 s more, helpers and all', async () => {
  const peers = ['a', 'b', 'c'].map((name) => scripted(name, { ignoreStop: true, start: [{ helper: true }] }));
  const { toolset } = await connect(peers.map(({ config }) => config));
  const pids = await Promise.all(peers.map(async (peer) => (await peer.started()).pid));

  const { ms } = await timed(() => toolset.close());
  expect(pids.filter((pid) => isAlive(pid))).toEqual([]);
  await allGone(
    peers.flatMap((peer) => peer.helpers()),
    1000,
  );
  for (const peer of peers) expect(peer.events()).toEqual(['end of input', 'SIGTERM']);
  // All at the same time, not one after another.
  expect(ms).toBeGreaterThanOrEqual(3900);
  expect(ms).toBeLessThan(6500);
});

it('a server that ends politely leaves none of its helpers behind', async () => {
  const peer = scripted('srv', { start: [{ helper: true }] });
  const { toolset } = await connect([peer.config]);

  await toolset.close();
  expect(peer.helpers()).toHaveLength(1);
  await allGone(peer.helpers(), 1000);
});
