import { describe, expect, it } from 'vitest';

import { connect } from '../helpers/connect.js';
import { scripted, textResult, toolEntry } from '../helpers/scripted.js';
import { shellServer } from '../helpers/servers.js';
import { until } from '../helpers/until.js';

describe('stderr of a server', () => {
  it('does not block it, however much it writes without a line end before each reply', async () => {
    const flood = { stderr: 'e'.repeat(1024), times: 4096 };
    const peer = scripted('srv', {
      tools: [toolEntry('t')],
      on: { initialize: [[flood, { default: true }]] },
      calls: { t: [[flood, { reply: textResult('through') }]] },
    });
    const { toolset, diagnostics } = await connect([peer.config]);

    await expect(toolset.call('srv__t', {})).resolves.toBe('through');
    await expect(toolset.call('srv__t', {})).resolves.toBe('through');
    expect(diagnostics).toEqual([]);
  });

  it('is no failure', async () => {
    const peer = scripted('srv', { start: [{ stderr: 'ERROR: panic: fatal\n' }], tools: [toolEntry('t')] });
    const { toolset, diagnostics } = await connect([peer.config]);

    expect(Object.keys(toolset.tools)).toEqual(['srv__t']);
    expect(diagnostics).toEqual([]);
  });
});

describe('`onStderr`', () => {
  it('gets every line with the configured name of its server', async () => {
    const lines: [string, string][] = [];
    const server = (name: string) =>
      scripted(name, {
        tools: [toolEntry('t')],
        start: [{ stderr: `${name} one\r\n\n` }, { stderr: `${name} 价` }, { stderr: '格\nrest' }],
      }).config;
    const { toolset } = await connect([server('a'), server('b')], {
      onStderr: (name, line) => void lines.push([name, line]),
    });
    await toolset.close();

    for (const name of ['a', 'b']) {
      expect(lines.filter(([from]) => from === name).map(([, line]) => line)).toEqual([
        `${name} one`,
        '',
        `${name} 价格`,
        'rest',
      ]);
    }
  });

  it('gets the last words of a server that fails', async () => {
    const lines: string[] = [];
    await connect([shellServer('srv', 'printf "one\\ntwo" >&2; exit 1')], {
      onStderr: (_name, line) => void lines.push(line),
    });

    await until('both lines', () => lines.length === 2);
    expect(lines).toEqual(['one', 'two']);
  });

  it('may throw, and changes nothing by it', async () => {
    let called = 0;
    const peer = scripted('srv', { start: [{ stderr: 'a\nb\n' }], tools: [toolEntry('t')] });
    const { toolset } = await connect([peer.config], {
      onStderr() {
        called += 1;
        throw new Error('from onStderr');
      },
    });

    await until('both lines', () => called === 2);
    await expect(toolset.call('srv__t', {})).resolves.toContain('"tool":"t"');
  });

  it('gets bytes that are no UTF-8 as replacement characters', async () => {
    const lines: string[] = [];
    await connect([shellServer('srv', String.raw`printf 'a\377b\n' >&2; exit 1`)], {
      onStderr: (_name, line) => void lines.push(line),
    });

    await until('the line', () => lines.length === 1);
    expect(lines).toEqual(['a\ufffdb']);
  });
});
