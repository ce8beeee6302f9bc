import { describe, expect, it } from 'vitest';

import { connect } from '../helpers/connect.js';
import { rejection } from '../helpers/errors.js';
import { scripted, toolEntry } from '../helpers/scripted.js';
import { echoServer } from '../helpers/servers.js';

describe('`servers()`', () => {
  it('tells per server what it is and how it does', async () => {
    const { toolset } = await connect([echoServer()]);
    for (let n = 0; n < 3; n += 1) await toolset.call('echo__echo', { text: 'x' });
    await rejection(toolset.call('echo__fail', {}));

    const [report] = toolset.servers();
    expect(report).toMatchObject({
      name: 'echo',
      projectedName: 'echo',
      type: 'stdio',
      state: 'ready',
      era: 'session',
      protocolVersion: '2025-11-25',
      serverInfo: { name: 'echo', version: '1.2.3' },
      tools: 6,
      calls: 4,
      errors: 1,
    });
    expect(report?.connectMs).toBeGreaterThan(0);
    const { p50, p95, p99 } = report?.latencyMs ?? { p50: null, p95: null, p99: null };
    expect(p50).toBeGreaterThan(0);
    expect(p95).toBeGreaterThanOrEqual(p50 ?? Infinity);
    expect(p99).toBeGreaterThanOrEqual(p95 ?? Infinity);
  });

  it('lists the servers in the order of the configuration, those that failed included', async () => {
    const { toolset } = await connect([
      { type: 'stdio', name: 'absent', command: 'no-such-command-anywhere' },
      echoServer('b'),
      echoServer('a'),
    ]);

    expect(toolset.servers().map(({ name, state, tools }) => [name, state, tools])).toEqual([
      ['absent', 'unavailable', 0],
      ['b', 'ready', 6],
      ['a', 'ready', 6],
    ]);
    const [absent] = toolset.servers();
    expect(absent).toMatchObject({ era: null, protocolVersion: null, serverInfo: null });
    expect(JSON.stringify(absent?.lastError)).toContain('no-such-command-anywhere');
  });

  it('shows the projected name of a server whose name collides', async () => {
    const server = scripted('local', { tools: [toolEntry('t')] });
    const { toolset } = await connect([server.config, { ...server.config, env: { A: 'b' } }]);

    const reports = toolset.servers();
    expect(reports.map(({ name }) => name)).toEqual(['local', 'local']);
    expect(reports.map(({ projectedName }) => `${projectedName}__t`)).toEqual(Object.keys(toolset.tools));
  });

  it('gives a fresh report each time', async () => {
    const { toolset } = await connect([echoServer()]);

    const [first] = toolset.servers();
    if (first) first.state = 'closed';
    expect(toolset.servers()).toMatchObject([{ state: 'ready' }]);
  });

  it('passes what the server says of itself on', async () => {
    const serverInfo = { name: 'x', version: '1', title: 'The X', icons: [{ src: 'data:,' }] };
    const { toolset } = await connect([scripted('srv', { serverInfo }).config]);

    expect(toolset.servers()[0]?.serverInfo).toEqual(serverInfo);
  });
});
