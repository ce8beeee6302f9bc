import { describe, expect, it } from 'vitest';

import { connect } from '../helpers/connect.js';
import { mcpError, rejection } from '../helpers/errors.js';
import { isAlive } from '../helpers/processes.js';
import { scripted, toolEntry, type Scripted, type Step } from '../helpers/scripted.js';
import { echoServer, shellServer } from '../helpers/servers.js';
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

  it('fails the call when it only closes its output, although there are always more calls to send', async () => {
    const { toolset } = await connect([dies({ closeStdout: true }, { wait: 60_000 }).config]);

    const first = timed(() => mcpError(toolset.call('srv__dies', {}, { timeoutMs: 10_000 }), 'connection-lost'));
    // More often than the patience with the end of a server is long.
    const more = setInterval(() => void rejection(toolset.call('srv__never', {})), 40);
    try {
      expect((await first).ms).toBeLessThan(3000);
    } finally {
      clearInterval(more);
    }
  });

  it('leaves the other servers alone', async () => {
    const { toolset } = await connect([dies({ exit: 1 }).config, echoServer()]);

    await mcpError(toolset.call('srv__dies', {}), 'connection-lost');
    await expect(toolset.call('echo__echo', { text: 'fine' })).resolves.toBe('fine');
  });
});

describe('after a server has died', () => {
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

describe('a server that closes its input and lives on', () => {
  const deaf = shellServer(
    'srv',
    `read l; echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}}}}'
     read l; read l; echo '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"t"}]}}'
     read l; exec 0<&-
     echo '{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"'$$'"}]}}'
     exec sleep 1000`,
  );

  it('fails its next call soon, and is started again by the one after it', async () => {
    const { toolset } = await connect([deaf], { timeoutMs: 10_000 });
    const pid = Number(await toolset.call('srv__t', {}));
    const { value: error, ms } = await timed(() => mcpError(toolset.call('srv__t', {}), 'connection-lost'));
    expect(error.message).toContain('closed its standard input');
    expect(ms).toBeLessThan(3000);
    expect(toolset.servers()).toMatchObject([{ state: 'unavailable' }]);

    // Not before the first one is gone.
    await expect(toolset.call('srv__t', {})).resolves.not.toBe(String(pid));
    expect(isAlive(pid)).toBe(false);
  });
});
