import { describe, expect, it } from 'vitest';

import { connect } from '../helpers/connect.js';
import { mcpError } from '../helpers/errors.js';
import { scripted, textResult, toolEntry, type Script, type Scripted } from '../helpers/scripted.js';
import { timed } from '../helpers/until.js';

function server(name = 'srv'): Scripted {
  return scripted(name, { tools: [toolEntry('never'), toolEntry('t')], calls: { never: [[]] } });
}

/** A server that reports progress `times` times, every 100 ms, and then answers. */
function busy(times: number): Scripted {
  return scripted('srv', {
    tools: [toolEntry('busy')],
    calls: {
      busy: [
        [
          {
            repeat: [
              { wait: 100 },
              '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":$token,"progress":$n}}',
            ],
            times,
          },
          { reply: textResult('done') },
        ],
      ],
    },
  });
}

/** How long an error or a diagnostic says that it waited, in milliseconds. */
function waited(message: string): number {
  const [, ms] = /\b(\d+) ms\b/.exec(message) ?? [];
  return Number(ms);
}

describe('the time limit of a call', () => {
  it('rejects with `timeout`, says how long it waited and that the outcome is unknown', async () => {
    const { toolset } = await connect([server().config]);

    const { value: error, ms } = await timed(() =>
      mcpError(toolset.call('srv__never', {}, { timeoutMs: 300 }), 'timeout'),
    );
    expect(error.message).toContain('unknown');
    expect(waited(error.message)).toBeGreaterThanOrEqual(299);
    expect(waited(error.message)).toBeLessThanOrEqual(Math.ceil(ms));
    expect(ms).toBeLessThan(3000);
  });

  it('is sent to the server as a cancellation, once, with the exact id', async () => {
    const peer = server();
    const { toolset } = await connect([peer.config]);

    await mcpError(toolset.call('srv__never', {}, { timeoutMs: 100 }), 'timeout');
    await toolset.call('srv__t', {});
    const [call] = peer.received('tools/call');
    expect(peer.received('notifications/cancelled').map(({ params }) => params.requestId)).toEqual([call?.id]);
  });

  it('leaves the connection as it is', async () => {
    const { toolset } = await connect([server().config]);

    await mcpError(toolset.call('srv__never', {}, { timeoutMs: 100 }), 'timeout');
    await expect(toolset.call('srv__t', {})).resolves.toContain('"tool":"t"');
  });

  it('comes from the options of the toolset, unless the server has one, unless the call has one', async () => {
    // The same limits are those of connecting, which takes its time on a busy machine.
    const { toolset } = await connect([server('plain').config, { ...server('own').config, timeoutMs: 4000 }], {
      timeoutMs: 6000,
    });

    const [plain, own, call] = await Promise.all([
      mcpError(toolset.call('plain__never', {}), 'timeout'),
      mcpError(toolset.call('own__never', {}), 'timeout'),
      mcpError(toolset.call('own__never', {}, { timeoutMs: 200 }), 'timeout'),
    ]);
    expect(waited(plain.message)).toBeGreaterThanOrEqual(5999);
    expect(waited(own.message)).toBeGreaterThanOrEqual(3999);
    expect(waited(own.message)).toBeLessThan(5999);
    expect(waited(call.message)).toBeGreaterThanOrEqual(199);
    expect(waited(call.message)).toBeLessThan(3999);
  });

  it.each([2 ** 31, 2 ** 53, Number.MAX_VALUE, Number.POSITIVE_INFINITY])(
    'may be as large as %d, which acts as large',
    async (timeoutMs) => {
      const peer = scripted('srv', {
        tools: [toolEntry('slow')],
        calls: { slow: [[{ wait: 150 }, { reply: textResult('in time') }]] },
      });
      const { toolset } = await connect([{ ...peer.config, timeoutMs }], { timeoutMs });

      await expect(toolset.call('srv__slow', {}, { timeoutMs })).resolves.toBe('in time');
    },
  );

  it.each([0, -1, Number.NaN, Number.NEGATIVE_INFINITY])(
    'cannot be %d: the call is refused before it is sent',
    async (timeoutMs) => {
      const peer = server();
      const { toolset } = await connect([peer.config]);

      const error = await mcpError(toolset.call('srv__t', {}, { timeoutMs }), 'invalid-option');
      expect(error.message).toContain('timeoutMs');
      await toolset.call('srv__t', {});
      expect(peer.received('tools/call')).toHaveLength(1);
    },
  );
});

describe('progress', () => {
  it('starts the time of its call anew', async () => {
    const { toolset } = await connect([busy(12).config]);

    await expect(toolset.call('srv__busy', {}, { timeoutMs: 800 })).resolves.toBe('done');
  });

  it('does not when `resetTimeoutOnProgress` is false', async () => {
    const { toolset } = await connect([busy(12).config], { resetTimeoutOnProgress: false });

    await mcpError(toolset.call('srv__busy', {}, { timeoutMs: 800 }), 'timeout');
  });

  it('does not lift the ceiling of `maxTotalTimeoutMs`', async () => {
    const { toolset } = await connect([busy(100).config], { timeoutMs: 5000, maxTotalTimeoutMs: 1000 });

    const { value: error, ms } = await timed(() =>
      mcpError(toolset.call('srv__busy', {}, { timeoutMs: 800 }), 'timeout'),
    );
    expect(waited(error.message)).toBeGreaterThanOrEqual(999);
    expect(ms).toBeGreaterThanOrEqual(999);
    expect(ms).toBeLessThan(4000);
  });

  it('of another call does not start the time of this one anew', async () => {
    const peer = scripted('srv', {
      tools: [toolEntry('busy'), toolEntry('never')],
      calls: {
        busy: [[{ repeat: [{ wait: 50 }, { progress: { progress: 1 } }], times: 40 }, { reply: textResult('done') }]],
        never: [[]],
      },
    });
    const { toolset } = await connect([peer.config]);

    const busyCall = toolset.call('srv__busy', {});
    await mcpError(toolset.call('srv__never', {}, { timeoutMs: 500 }), 'timeout');
    await expect(busyCall).resolves.toBe('done');
  });
});

describe('the time limit of connecting', () => {
  it.each<[string, Script]>([
    ['never answers `initialize`', { on: { initialize: [[]] } }],
    ['never answers `tools/list`', { on: { 'tools/list': [[]] } }],
    [
      'takes too long for all pages together',
      { on: { 'tools/list': [[{ wait: 100 }, { replyText: '{"tools":[],"nextCursor":"$n"}' }]] } },
    ],
    ['does not even read', { deaf: true }],
  ])('is a diagnostic when the server %s', async (_what, script) => {
    const peer = scripted('srv', script);
    const { of } = await connect([peer.config], { timeoutMs: 500 });

    expect(of('connection-failure')).toEqual([
      { section: '7.2.2', rule: 'connection-failure', origin: 'srv', message: expect.stringContaining('srv') },
    ]);
    // The whole time, not that of the last request.
    expect(waited(of('connection-failure')[0]?.message ?? '')).toBeGreaterThanOrEqual(499);
    // `initialize` is never cancelled.
    expect(peer.received('notifications/cancelled').map(({ params }) => params.requestId)).not.toContain(
      peer.received('initialize')[0]?.id ?? 'nothing was read',
    );
  });

  it('can be set for one server alone', async () => {
    const patient = scripted('patient', {
      tools: [toolEntry('t')],
      on: { initialize: [[{ wait: 600 }, { default: true }]] },
    });
    const { toolset, of } = await connect(
      [{ ...scripted('hasty', { on: { initialize: [[]] } }).config, timeoutMs: 300 }, patient.config],
      { timeoutMs: 20_000 },
    );

    expect(Object.keys(toolset.tools)).toEqual(['patient__t']);
    expect(of('connection-failure').map(({ origin }) => origin)).toEqual(['hasty']);
  });
});
