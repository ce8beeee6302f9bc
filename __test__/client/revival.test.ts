// A server that has died is started again by the next call, and by nothing else.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import { describe, expect, it } from 'vitest';

import { connect } from '../helpers/connect.js';
import { mcpError, rejection } from '../helpers/errors.js';
import { allGone } from '../helpers/processes.js';
import { scripted, toolEntry, type Script, type Scripted } from '../helpers/scripted.js';
import { echoServer, shellServer } from '../helpers/servers.js';
import { timed, until } from '../helpers/until.js';
import { workspace } from '../helpers/workspace.js';

/** A server that exits when it is asked to die, and otherwise gives the name of the tool. */
function mortal(more: Script = {}): Scripted {
  const tools = ['echo', 'dies', 'never'].map((name) => toolEntry(name));
  return scripted('srv', { tools, calls: { dies: [[{ exit: 42 }]], never: [[]] }, ...more });
}

/** A server that works until it is called, dies of the call, and does something else from its second start on. */
function changed(then: string): { config: ReturnType<typeof shellServer>; repair: () => void } {
  const folder = workspace();
  const config = shellServer(
    'srv',
    `if [ -e died ] && ! [ -e repaired ]; then echo again >> starts; ${then}; fi
     read l; echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}}}}'
     read l; if ! [ -e died ]; then
       read l; echo '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"t"}]}}'
       read l; touch died; exit 7
     fi
     read l; echo '{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"fine"}]}}'
     read l`,
    { cwd: folder },
  );
  return { config, repair: () => writeFileSync(path.join(folder, 'repaired'), '') };
}

describe('a server that has died', () => {
  it('is started again by the next call, with a handshake and without a listing', async () => {
    const server = mortal();
    const { toolset, diagnostics } = await connect([server.config]);
    await mcpError(toolset.call('srv__dies', {}), 'connection-lost');
    expect(toolset.servers()).toMatchObject([{ state: 'unavailable' }]);
    expect(server.starts()).toHaveLength(1);

    await expect(toolset.call('srv__echo', { again: true })).resolves.toContain('"again":true');
    expect(server.starts()).toHaveLength(2);
    expect(server.received('initialize')).toHaveLength(2);
    expect(server.received('notifications/initialized')).toHaveLength(2);
    expect(server.received('tools/list')).toHaveLength(1);
    expect(toolset.servers()).toMatchObject([{ state: 'ready', era: 'session', tools: 3 }]);
    expect(diagnostics).toEqual([]);
  });

  it('is started once for all calls that come meanwhile, and is `connecting` until then', async () => {
    const server = mortal({ on: { initialize: [[{ wait: 100 }, { default: true }]] } });
    const { toolset } = await connect([server.config]);
    await mcpError(toolset.call('srv__dies', {}), 'connection-lost');

    const calls = Array.from({ length: 32 }, (_, n) => toolset.call('srv__echo', { n }));
    expect(toolset.servers()).toMatchObject([{ state: 'connecting', tools: 3 }]);
    const results = await Promise.all(calls);
    for (const [n, result] of results.entries()) expect(result).toContain(`"n":${n}}`);
    expect(server.starts()).toHaveLength(2);
  });

  it('is spoken to in the era it had, without being asked', async () => {
    const server = mortal({
      on: {
        initialize: [[{ error: { code: -32_601, message: 'Method not found' } }]],
        'server/discover': [[{ reply: { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } } }]],
      },
    });
    const { toolset, diagnostics } = await connect([server.config]);
    expect(toolset.servers()).toMatchObject([{ state: 'ready', era: 'stateless' }]);
    await mcpError(toolset.call('srv__dies', {}), 'connection-lost');

    await expect(toolset.call('srv__echo', { again: true })).resolves.toContain('"again":true');
    expect(server.received('initialize')).toHaveLength(1);
    expect(server.received('server/discover')).toHaveLength(2);
    expect(toolset.servers()).toMatchObject([{ state: 'ready', era: 'stateless', tools: 3 }]);
    expect(diagnostics).toEqual([]);
  });

  it('says so through `on`', async () => {
    const server = mortal();
    const { toolset } = await connect([server.config]);
    const states: string[] = [];
    toolset.on('status', ({ state }) => void states.push(state));
    await mcpError(toolset.call('srv__dies', {}), 'connection-lost');
    await toolset.call('srv__echo', {});

    await until('its states', () => states.length >= 3);
    expect(states).toEqual(['unavailable', 'connecting', 'ready']);
  });

  it('gets no call again that was under way', async () => {
    const server = mortal();
    const { toolset } = await connect([server.config]);
    const lost = [mcpError(toolset.call('srv__never', {}), 'connection-lost')];
    await server.waitFor('tools/call');
    lost.push(mcpError(toolset.call('srv__dies', {}), 'connection-lost'));
    await Promise.all(lost);
    await toolset.call('srv__echo', {});

    const called = server.received('tools/call').map(({ params }) => (params as { name: string }).name);
    expect(called).toEqual(['never', 'dies', 'echo']);
  });

  it('is started again three times within a minute, and then left alone', async () => {
    const server = mortal();
    const { toolset, diagnostics } = await connect([server.config, echoServer()]);
    for (let n = 0; n < 4; n += 1) await mcpError(toolset.call('srv__dies', {}), 'connection-lost');
    const { value: error, ms } = await timed(() => mcpError(toolset.call('srv__echo', {}), 'unavailable'));

    expect(error.message).toMatch(/3 times.*exit status 42/);
    expect(ms).toBeLessThan(500);
    expect(server.starts()).toHaveLength(4);
    expect(toolset.servers()).toMatchObject([{ state: 'unavailable' }, { state: 'ready' }]);
    expect(diagnostics).toEqual([]);
    await expect(toolset.call('echo__echo', { text: 'fine' })).resolves.toBe('fine');
  });

  it('and cannot be started again fails every call that waits, with the cause, and the next call tries again', async () => {
    const server = changed('echo out of memory >&2; exit 9');
    const { toolset, of } = await connect([server.config]);
    await mcpError(toolset.call('srv__t', {}), 'connection-lost');

    const calls = await Promise.all([1, 2, 3].map(() => mcpError(toolset.call('srv__t', {}), 'unavailable')));
    for (const error of calls) expect(error.message).toMatch(/exit status 9.*out of memory/);
    expect(of('connection-failure')).toEqual([
      {
        section: '7.2.2',
        rule: 'connection-failure',
        origin: 'srv',
        message: expect.stringMatching(/srv.*exit status 9/),
      },
    ]);
    expect(toolset.servers()).toMatchObject([
      { state: 'unavailable', lastError: expect.stringContaining('exit status 9') },
    ]);
    server.repair();
    await expect(toolset.call('srv__t', {})).resolves.toBe('fine');
    expect(of('connection-failure')).toHaveLength(1);
  });
});

describe('a call that waits for its server', () => {
  // It takes its time to come up again, or for ever.
  const hangs = (): ReturnType<typeof changed> => changed('exec sleep 1000');

  it('waits no longer than its own time limit, and says that it was not sent', async () => {
    const { toolset } = await connect([hangs().config]);
    await mcpError(toolset.call('srv__t', {}), 'connection-lost');
    const { value: error, ms } = await timed(() => mcpError(toolset.call('srv__t', {}, { timeoutMs: 300 }), 'timeout'));

    expect(error.message).toMatch(/timed out after \d+ ms, before it could be sent/);
    expect(ms).toBeLessThan(2000);
  });

  it('ends at once when it is aborted, and takes no other with it', async () => {
    const server = mortal({ on: { initialize: [[{ wait: 200 }, { default: true }]] } });
    const { toolset } = await connect([server.config]);
    await mcpError(toolset.call('srv__dies', {}), 'connection-lost');
    const controller = new AbortController();
    const aborted = rejection(toolset.call('srv__never', {}, { signal: controller.signal }));
    const other = toolset.call('srv__echo', {});
    controller.abort('enough');

    await expect(Promise.race([aborted, other])).resolves.toMatchObject({ name: 'AbortError', cause: 'enough' });
    await expect(other).resolves.toContain('"tool":"echo"');
    const called = server.received('tools/call').map(({ params }) => (params as { name: string }).name);
    expect(called).toEqual(['dies', 'echo']);
  });

  it('does not outlive `close()`, and neither does what was begun', async () => {
    const folder = workspace();
    const pidFile = path.join(folder, 'pid');
    const { toolset } = await connect([changed(`echo $$ > '${pidFile}'; exec sleep 1000`).config]);
    await mcpError(toolset.call('srv__t', {}), 'connection-lost');
    const waiting = mcpError(toolset.call('srv__t', {}), 'closed');
    const pid = await until('the second start', () => existsSync(pidFile) && Number(readFileSync(pidFile, 'utf8')));
    await toolset.close();

    expect((await waiting).message).toMatch(/unavailable/);
    await allGone([pid]);
    expect(toolset.servers()).toMatchObject([{ state: 'closed' }]);
  });
});
