import { chmodSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import { describe, expect, it } from 'vitest';

import { connect, type Connected } from '../helpers/connect.js';
import { allGone, isAlive } from '../helpers/processes.js';
import { scripted, type Script, toolEntry } from '../helpers/scripted.js';
import { echoServer, shellServer, type StdioConfig } from '../helpers/servers.js';
import { timed } from '../helpers/until.js';
import { workspace } from '../helpers/workspace.js';

/** Connects a server that fails beside one that does not, and gives the one message about it. */
async function failure(
  config: StdioConfig,
  options = {},
): Promise<{ message: string; connected: Connected; ms: number }> {
  const { value: connected, ms } = await timed(() => connect([config, echoServer('sibling')], options));
  expect(connected.of('connection-failure')).toEqual([
    {
      section: '7.2.2',
      rule: 'connection-failure',
      origin: config.name,
      message: expect.stringContaining(config.name),
    },
  ]);
  await expect(connected.toolset.call('sibling__echo', { text: 'fine' })).resolves.toBe('fine');
  expect(Object.keys(connected.toolset.tools).every((name) => name.startsWith('sibling__'))).toBe(true);
  return { message: connected.of('connection-failure')[0]?.message ?? '', connected, ms };
}

describe('a server that cannot be started', () => {
  it('because its command does not exist is a diagnostic that says so', async () => {
    const { message } = await failure({ type: 'stdio', name: 'broken', command: 'no-such-command-anywhere' });

    expect(message).toContain('no-such-command-anywhere');
    expect(message).not.toMatch(/working directory|cwd/i);
  });

  it('because the path of its command does not exist is a diagnostic that says so', async () => {
    const command = path.join(workspace(), 'absent');
    const { message } = await failure({ type: 'stdio', name: 'broken', command });

    expect(message).toContain(command);
    expect(message).not.toMatch(/working directory|cwd/i);
  });

  it('because its working directory does not exist is told apart from that', async () => {
    const cwd = path.join(workspace(), 'absent');
    const { message } = await failure({ ...echoServer('broken'), cwd });

    expect(message).toMatch(/working directory|cwd/i);
  });

  it('because its working directory is a file is told apart as well', async () => {
    const cwd = path.join(workspace(), 'file');
    writeFileSync(cwd, '');
    const { message } = await failure({ ...echoServer('broken'), cwd });

    expect(message).toMatch(/working directory|cwd/i);
  });

  it('because its command may not be run is a diagnostic', async () => {
    const command = path.join(workspace(), 'plain.txt');
    writeFileSync(command, 'not a program');
    chmodSync(command, 0o644);
    const { message } = await failure({ type: 'stdio', name: 'broken', command });

    expect(message).toContain(command);
  });

  it('because its command is a folder is a diagnostic', async () => {
    await failure({ type: 'stdio', name: 'broken', command: workspace() });
  });

  it.each<[string, Partial<StdioConfig>]>([
    ['command', { command: 'a\0b' }],
    ['arguments', { args: ['a\0b'] }],
    ['environment', { env: { A: 'a\0b' } }],
    ['working directory', { cwd: 'a\0b' }],
  ])('because there is a NUL in its %s is a diagnostic', async (_where, wrong) => {
    await failure({ ...echoServer('broken'), ...wrong });
  });

  it('does not put the values of its arguments into the diagnostic', async () => {
    const { message } = await failure({
      type: 'stdio',
      name: 'broken',
      command: 'no-such-command-anywhere',
      args: ['--password', 'correct-horse-battery'],
    });

    expect(message).not.toContain('correct-horse-battery');
  });
});

describe('a server that ends at once', () => {
  it('is a diagnostic within a second, with its exit status and the end of its stderr', async () => {
    // Alone: what is timed is the failure, not the sibling.
    const { value, ms } = await timed(() => connect([shellServer('broken', 'echo "need KEY" >&2; exit 3')]));

    expect(ms).toBeLessThan(1000);
    const [diagnostic] = value.of('connection-failure');
    expect(diagnostic?.message).toMatch(/broken.*\b3\b.*need KEY|broken.*need KEY.*\b3\b/s);
    expect(value.diagnostics).toHaveLength(1);
  });

  it('leaves its siblings alone', async () => {
    const { message } = await failure(shellServer('broken', 'echo "need KEY" >&2; exit 3'));

    expect(message).toContain('need KEY');
  });

  it('without a word and with status 0 is a diagnostic as well', async () => {
    const { message } = await failure(shellServer('broken', 'exit 0'));

    expect(message).toMatch(/\b0\b/);
  });

  it('by a signal is a diagnostic that names the signal', async () => {
    const { message } = await failure(shellServer('broken', 'kill -KILL $$'));

    expect(message).toMatch(/SIGKILL|signal 9|signal: 9/);
  });

  it('keeps the end of a long stderr, not its beginning', async () => {
    const { message } = await failure(
      shellServer(
        'broken',
        'echo "the beginning" >&2; i=0; while [ $i -lt 3000 ]; do echo "line $i of very many" >&2; i=$((i+1)); done; echo "the end" >&2; exit 1',
      ),
    );

    expect(message).toContain('the end');
    expect(message).not.toContain('the beginning');
  });

  it('after it answered `initialize` is a diagnostic', async () => {
    const server = scripted('broken', { on: { 'tools/list': [[{ stderr: 'out of luck\n' }, { exit: 7 }]] } });
    const { message } = await failure(server.config);

    expect(message).toMatch(/\b7\b/);
    expect(message).toContain('out of luck');
  });

  it('is a diagnostic even when something that it started holds its pipes', async () => {
    const { value, ms } = await timed(() => connect([shellServer('broken', 'sleep 20 & echo gone >&2; exit 4')]));

    expect(ms).toBeLessThan(5000);
    expect(value.of('connection-failure')).toEqual([
      expect.objectContaining({ message: expect.stringMatching(/\b4\b/) }),
    ]);
  });
});

describe('a server that closes its output and stays', () => {
  it('is a diagnostic without waiting for the time limit, and is stopped', async () => {
    const server = scripted('broken', { start: [{ closeStdout: true }] });
    const { ms } = await failure(server.config);

    expect(ms).toBeLessThan(5000);
    await allGone([(await server.started()).pid]);
  });
});

describe('a handshake that fails', () => {
  it.each<[string, Script, RegExp]>([
    ['an unknown revision', { protocolVersion: '1999-01-01' }, /1999-01-01/],
    ['a revision that has no handshake', { protocolVersion: '2026-07-28' }, /2026-07-28/],
    ['a revision that is no text', { protocolVersion: 7 }, /broken/],
    [
      'an error reply',
      { on: { initialize: [[{ error: { code: -32_000, message: 'not before noon' } }]] } },
      /not before noon/,
    ],
    ['an empty result', { on: { initialize: [[{ reply: {} }]] } }, /broken/],
    ['null', { on: { initialize: [[{ replyText: 'null' }]] } }, /broken/],
    ['a list', { on: { initialize: [[{ replyText: '[]' }]] } }, /broken/],
  ])('with %s is a diagnostic, and the process is stopped', async (_what, script, text) => {
    const server = scripted('broken', script);
    const { message } = await failure(server.config);

    expect(message).toMatch(text);
    await allGone([(await server.started()).pid]);
  });

  it('with silence is a diagnostic, and the process is stopped', async () => {
    const server = scripted('broken', { on: { initialize: [[]] } });
    await failure({ ...server.config, timeoutMs: 500 });

    await allGone([(await server.started()).pid]);
  });

  it('never sends `notifications/initialized`', async () => {
    const server = scripted('broken', { protocolVersion: '1999-01-01' });
    await failure(server.config);

    await allGone([(await server.started()).pid]);
    expect(server.received('notifications/initialized')).toEqual([]);
  });
});

describe('a listing that fails', () => {
  it.each<[string, Script, RegExp]>([
    ['is refused', { on: { 'tools/list': [[{ error: { code: -32_603, message: 'on strike' } }]] } }, /on strike/],
    ['holds no list', { on: { 'tools/list': [[{ reply: {} }]] } }, /broken/],
    ['holds something else', { on: { 'tools/list': [[{ reply: { tools: 'none' } }]] } }, /broken/],
    ['is null', { on: { 'tools/list': [[{ replyText: 'null' }]] } }, /broken/],
  ])('because it %s is a diagnostic, and the process is stopped', async (_what, script, text) => {
    const server = scripted('broken', script);
    const { message } = await failure(server.config);

    expect(message).toMatch(text);
    await allGone([(await server.started()).pid]);
  });
});

it('servers that flood cost only themselves, whatever they flood with', async () => {
  const limit = { timeoutMs: 1000 };
  const pings = { repeat: [{ message: { id: 1, method: 'ping' } }] };
  const floods = [
    shellServer('prose', 'exec yes "not a message"', limit),
    shellServer('line', "exec tr '\\0' 'a' < /dev/zero", limit),
    shellServer('stderr', 'exec yes "on stderr" >&2', limit),
    scripted('pings', { deaf: true, start: [pings] }, limit).config,
  ];
  const { toolset, of } = await connect([...floods, echoServer('sibling')], { maxMessageBytes: 1024 * 1024 });

  await expect(toolset.call('sibling__echo', { text: 'fine' })).resolves.toBe('fine');
  expect(
    of('connection-failure')
      .map(({ origin }) => origin)
      .toSorted(),
  ).toEqual(['line', 'pings', 'prose', 'stderr']);
  // Each reports a kind of violation once, however often it happens.
  const violations = of('protocol-violation').map(({ origin, message }) => `${origin}: ${message}`);
  expect(violations).toEqual([...new Set(violations)]);
});

it('a server that is given up at its time limit keeps nobody waiting until it has been stopped', async () => {
  const server = scripted('broken', { ignoreStop: true, on: { initialize: [[]] } });
  const { connected, ms } = await failure({ ...server.config, timeoutMs: 500 });

  expect(ms).toBeLessThan(2000);
  await connected.toolset.close();
  expect(isAlive((await server.started()).pid)).toBe(false);
});

it('all of them together fail one by one and leave the others', async () => {
  const good = [1, 2, 3].map((index) => scripted(`good${index}`, { tools: [toolEntry('t')] }).config);
  const [one, two, three] = good;
  const { toolset, of } = await connect([
    shellServer('exits', 'exit 1'),
    ...(one === undefined ? [] : [one]),
    { type: 'stdio', name: 'absent', command: 'no-such-command-anywhere' },
    ...(two === undefined ? [] : [two]),
    { ...shellServer('silent', 'exec sleep 60'), timeoutMs: 500 },
    ...(three === undefined ? [] : [three]),
    { ...shellServer('prose', 'echo hello; exec sleep 60'), timeoutMs: 500 },
  ]);

  expect(Object.keys(toolset.tools)).toEqual(['good1__t', 'good2__t', 'good3__t']);
  expect(
    of('connection-failure')
      .map(({ origin }) => origin)
      .toSorted(),
  ).toEqual(['absent', 'exits', 'prose', 'silent']);
  expect(toolset.servers().map(({ name, state }) => [name, state])).toEqual([
    ['exits', 'unavailable'],
    ['good1', 'ready'],
    ['absent', 'unavailable'],
    ['good2', 'ready'],
    ['silent', 'unavailable'],
    ['good3', 'ready'],
    ['prose', 'unavailable'],
  ]);
});
