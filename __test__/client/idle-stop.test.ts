// `idleStopMs`: a child that nobody calls is stopped, and started again by the next call.

import { describe, expect, it } from 'vitest';

import { connect } from '../helpers/connect.js';
import { mcpError } from '../helpers/errors.js';
import { allGone, isAlive } from '../helpers/processes.js';
import { scripted, toolEntry, type Script, type Scripted } from '../helpers/scripted.js';
import { until } from '../helpers/until.js';

function server(script: Script = {}, idleStopMs = 200, name = 'srv'): Scripted {
  return scripted(name, { tools: [toolEntry('t'), toolEntry('slow')], ...script }, { idleStopMs });
}

describe('a child that nobody calls', () => {
  it('is stopped, keeps its tools, and is started by the next call, again and again', async () => {
    const peer = server();
    const { toolset, diagnostics } = await connect([peer.config]);
    const states: string[] = [];
    toolset.on('status', ({ state }) => void states.push(state));
    // More often than a child that dies would be started.
    for (let n = 1; n <= 5; n += 1) {
      await until('its stop', () => toolset.servers()[0]?.state === 'stopped');
      await allGone(peer.starts().map(({ pid }) => pid));
      expect(Object.keys(toolset.tools)).toEqual(['srv__t', 'srv__slow']);
      await expect(toolset.call('srv__t', { n })).resolves.toContain(`"n":${n}}`);
      expect(peer.starts()).toHaveLength(n + 1);
    }

    expect(peer.received('tools/list')).toHaveLength(1);
    expect(peer.received('tools/call')).toHaveLength(5);
    expect(peer.received('initialize')).toHaveLength(6);
    await until('the last stop', () => states.filter((state) => state === 'stopped').length === 6);
    expect(states.slice(0, 4)).toEqual(['stopped', 'connecting', 'ready', 'stopped']);
    expect(toolset.servers()).toMatchObject([{ era: 'session', errors: 0, lastError: null }]);
    expect(diagnostics).toEqual([]);
  });

  it('is asked politely: its input ends', async () => {
    const peer = server();
    await connect([peer.config]);
    await allGone([(await peer.started()).pid]);

    expect(peer.events()).toEqual(['end of input']);
  });

  it('is not stopped while a call runs, however long', async () => {
    const peer = server({ calls: { slow: [[{ wait: 1000 }, { default: true }]] } }, 100);
    const { toolset } = await connect([peer.config]);

    await expect(toolset.call('srv__slow', {})).resolves.toContain('slow');
    await until('its stop', () => toolset.servers()[0]?.state === 'stopped');
  });

  it('is not stopped while somebody is subscribed to one of its resources', async () => {
    const peer = server(
      {
        capabilities: { tools: {}, resources: { subscribe: true } },
        on: {
          'resources/subscribe': [
            [
              { reply: {} },
              { wait: 600 },
              { message: { method: 'notifications/resources/updated', params: { uri: 'a:b' } } },
            ],
          ],
          'resources/unsubscribe': [[{ reply: {} }]],
        },
      },
      100,
    );
    const { toolset } = await connect([peer.config]);
    let tell = (_uri: string): void => {};
    const told = new Promise<string>((resolve) => (tell = resolve));
    const unsubscribe = await toolset.resources.subscribe('srv', 'a:b', (uri) => tell(uri));
    // It may have been stopped before.
    const before = peer.events();

    await expect(told).resolves.toBe('a:b');
    expect(peer.events()).toEqual(before);
    await unsubscribe();
    await until('its stop', () => toolset.servers()[0]?.state === 'stopped');
  });

  it('is stopped in the stateless era as well, where a stream for changes stays open, and keeps its era', async () => {
    const peer = server({
      on: {
        initialize: [[{ error: { code: -32_601, message: 'Method not found' } }]],
        'server/discover': [
          [{ reply: { supportedVersions: ['2026-07-28'], capabilities: { tools: { listChanged: true } } } }],
        ],
        'subscriptions/listen': [[]],
      },
    });
    const { toolset, diagnostics } = await connect([peer.config]);
    await peer.waitFor('subscriptions/listen');
    await until('its stop', () => toolset.servers()[0]?.state === 'stopped');
    await expect(toolset.call('srv__t', {})).resolves.toContain('"t"');

    expect(peer.received('initialize')).toHaveLength(1);
    expect(toolset.servers()).toMatchObject([{ era: 'stateless' }]);
    expect(diagnostics).toEqual([]);
  });
});

it('a child that dies is not mistaken for one that was stopped', async () => {
  const peer = server({ tools: [toolEntry('dies')], calls: { dies: [[{ exit: 3 }]] } }, 60_000);
  const { toolset } = await connect([peer.config]);
  await mcpError(toolset.call('srv__dies', {}), 'connection-lost');

  expect(toolset.servers()).toMatchObject([{ state: 'unavailable' }]);
});

it('a stop under way does not outlive `close()`, and a start after it waits for it', async () => {
  const peer = server({ ignoreStop: true }, 100);
  const { toolset } = await connect([peer.config]);
  const { pid } = await peer.started();
  await until('the beginning of the stop', () => peer.events().includes('end of input'));
  expect(isAlive(pid)).toBe(true);
  const call = toolset.call('srv__t', {});
  await expect(call).resolves.toContain('"t"');
  expect(isAlive(pid)).toBe(false);
  await toolset.close();

  await allGone(
    peer.starts().map((start) => start.pid),
    0,
  );
});

it('the option holds for all children, is off by default, and `Infinity` is never', async () => {
  const [stopped, never, off] = [
    scripted('stopped', { tools: [toolEntry('t')] }),
    server({}, Infinity, 'never'),
    scripted('off', { tools: [toolEntry('t')] }),
  ];
  const { toolset } = await connect([stopped.config, never.config], { idleStopMs: 100 });
  const other = await connect([off.config]);
  await until('the stop of one', () => toolset.servers()[0]?.state === 'stopped');
  await allGone([(await stopped.started()).pid]);

  expect(toolset.servers()).toMatchObject([{ state: 'stopped' }, { state: 'ready' }]);
  expect(other.toolset.servers()).toMatchObject([{ state: 'ready' }]);
});

it.each([0, -1, Number.NaN, '5', null].filter((value) => value !== null))('%s is no time', async (idleStopMs) => {
  const error = await mcpError(connect([], { idleStopMs: idleStopMs as number }), 'invalid-option');

  expect(error.message).toContain('idleStopMs');
});
