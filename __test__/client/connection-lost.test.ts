import { describe, expect, it } from 'vitest';

import { connect } from '../helpers/connect.js';
import { mcpError } from '../helpers/errors.js';
import { scripted, toolEntry, type Scripted, type Step } from '../helpers/scripted.js';
import { echoServer } from '../helpers/servers.js';
import { timed } from '../helpers/until.js';

function dies(...steps: Step[]): Scripted {
  return scripted('srv', { tools: [toolEntry('dies'), toolEntry('never')], calls: { dies: [steps], never: [[]] } });
}

describe('a server that dies during a call', () => {
  it('fails the call at once, with its status, the end of its stderr, and that the outcome is unknown', async () => {
    const { toolset } = await connect([dies({ stderr: 'out of memory\n' }, { exit: 42 }).config]);

    const { value: error, ms } = await timed(() => mcpError(toolset.call('srv__dies', {}), 'connection-lost'));
    expect(error.message).toContain('42');
    expect(error.message).toContain('out of memory');
    expect(error.message).toContain('unknown');
    expect(ms).toBeLessThan(2000);
  });

  it('names the signal that ended it', async () => {
    const { toolset } = await connect([dies({ kill: 'SIGKILL' }).config]);

    const error = await mcpError(toolset.call('srv__dies', {}), 'connection-lost');
    expect(error.message).toMatch(/SIGKILL|signal 9|signal: 9/);
  });

  it('fails all calls under way', async () => {
    const peer = dies({ waitFor: { method: 'tools/call', tool: 'never' } }, { exit: 1 });
    const { toolset } = await connect([peer.config]);

    const calls = ['srv__never', 'srv__never', 'srv__dies'].map((name) =>
      mcpError(toolset.call(name, {}), 'connection-lost'),
    );
    await Promise.all(calls);
  });

  it('still delivers what it said before', async () => {
    const peer = scripted('srv', {
      tools: [toolEntry('last')],
      calls: { last: [[{ default: true }, { exit: 1 }]] },
    });
    const { toolset } = await connect([peer.config]);

    await expect(toolset.call('srv__last', {})).resolves.toContain('"tool":"last"');
  });

  it('fails the call when it only closes its output', async () => {
    const { toolset } = await connect([dies({ closeStdout: true }, { wait: 60_000 }).config]);

    const { value: error, ms } = await timed(() => mcpError(toolset.call('srv__dies', {}), 'connection-lost'));
    expect(error.message).toContain('unknown');
    expect(ms).toBeLessThan(3000);
  });

  it('leaves the other servers alone', async () => {
    const { toolset } = await connect([dies({ exit: 1 }).config, echoServer()]);

    await mcpError(toolset.call('srv__dies', {}), 'connection-lost');
    await expect(toolset.call('echo__echo', { text: 'fine' })).resolves.toBe('fine');
  });
});

describe('after a server has died', () => {
  it('its next call is `unavailable`, at once, and says why', async () => {
    const { toolset } = await connect([dies({ stderr: 'out of memory\n' }, { exit: 42 }).config]);
    await mcpError(toolset.call('srv__dies', {}), 'connection-lost');

    const { value: error, ms } = await timed(() => mcpError(toolset.call('srv__never', {}), 'unavailable'));
    expect(error.message).toContain('srv');
    expect(ms).toBeLessThan(500);
  });

  it('its state says so', async () => {
    const { toolset } = await connect([dies({ exit: 42 }).config]);
    await mcpError(toolset.call('srv__dies', {}), 'connection-lost');

    expect(toolset.servers()).toMatchObject([{ state: 'unavailable', calls: 1, errors: 1 }]);
    expect(JSON.stringify(toolset.servers()[0]?.lastError)).toContain('42');
  });

  it('closing is quick', async () => {
    const { toolset } = await connect([dies({ exit: 42 }).config]);
    await mcpError(toolset.call('srv__dies', {}), 'connection-lost');

    const { ms } = await timed(() => toolset.close());
    expect(ms).toBeLessThan(1000);
  });
});
