import { describe, expect, it } from 'vitest';

import { connect, tool } from '../helpers/connect.js';
import { mcpError } from '../helpers/errors.js';
import { scripted, textResult, toolEntry } from '../helpers/scripted.js';
import { shellServer } from '../helpers/servers.js';
import { timed } from '../helpers/until.js';

const ok = '{"jsonrpc":"2.0","id":$id,"result":{"content":[{"type":"text","text":"ok"}]}}';

describe('text', () => {
  it('is not torn when it arrives one byte at a time', async () => {
    const description = '价格 — ✅ 😀';
    const peer = scripted('srv', {
      on: { 'tools/list': [[{ bytewise: { tools: [toolEntry('t', { description })] } }]] },
      calls: { t: [[{ bytewise: textResult(description) }]] },
    });
    const { toolset, diagnostics } = await connect([peer.config]);

    expect(tool(toolset, 'srv__t').description).toBe(description);
    await expect(toolset.call('srv__t', {})).resolves.toBe(description);
    expect(diagnostics).toEqual([]);
  });

  it('that is no UTF-8 does not end the connection', async () => {
    const peer = scripted('srv', {
      tools: [toolEntry('t')],
      calls: { t: [[{ hex: 'fffe80c30a' }, { hex: '22c3220a' }, ok]] },
    });
    const { toolset } = await connect([peer.config]);

    await expect(toolset.call('srv__t', {})).resolves.toBe('ok');
  });
});

describe('lines', () => {
  it.each<[string, string[]]>([
    ['CRLF at their ends', [`${ok}\r`]],
    ['blank lines between them', ['', ' ', '\t', '\r', ok]],
    ['white space around them', [`  \t${ok}  `]],
    ['a byte order mark', [`\ufeff${ok}`]],
  ])('may have %s', async (_what, lines) => {
    const peer = scripted('srv', { tools: [toolEntry('t')], calls: { t: [lines] } });
    const { toolset } = await connect([peer.config]);

    await expect(toolset.call('srv__t', {})).resolves.toBe('ok');
  });

  it('may be CRLF and begin with a byte order mark from the first one on', async () => {
    const peer = scripted('srv', {
      tools: [toolEntry('t')],
      on: {
        initialize: [
          [
            '\ufeff{"jsonrpc":"2.0","id":$id,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"x","version":"1"}}}\r',
          ],
        ],
      },
    });
    const { toolset, of } = await connect([peer.config]);

    expect(Object.keys(toolset.tools)).toEqual(['srv__t']);
    expect(of('connection-failure')).toEqual([]);
  });

  it('may come many in one piece, and one in many pieces', async () => {
    const peer = scripted('srv', {
      tools: ['a', 'b', 'c'].map((name) => toolEntry(name)),
      calls: {
        a: [[]],
        b: [[]],
        c: [
          [
            { raw: '{"jsonrpc":"2.0","id":$id,"res' },
            { wait: 20 },
            {
              raw: 'ult":{"content":[{"type":"text","text":"c"}]}}\n{"jsonrpc":"2.0","method":"notifications/message","params":{}}\n\n{"jsonrpc":',
            },
            { wait: 20 },
            { raw: '"2.0","method":"notifications/message","params":{}}\n' },
          ],
        ],
        d: [[]],
      },
    });
    const { toolset, diagnostics } = await connect([peer.config]);

    await expect(toolset.call('srv__c', {})).resolves.toBe('c');
    expect(diagnostics).toEqual([]);
  });
});

describe('a batch', () => {
  it('of replies is taken apart in the revision that has batches', async () => {
    // The second call answers both, with the id of the first in front.
    const peer = scripted('srv', {
      protocolVersion: '2025-03-26',
      tools: [toolEntry('t')],
      calls: {
        t: [
          [
            {
              raw: '[{"jsonrpc":"2.0","method":"notifications/message","params":{}},{"jsonrpc":"2.0","id":$id,"result":{"content":[{"type":"text","text":"ok"}]}}]\n',
            },
          ],
        ],
      },
    });
    const { toolset, of } = await connect([peer.config]);

    await expect(toolset.call('srv__t', {})).resolves.toBe('ok');
    expect(of('protocol-violation')).toEqual([]);
  });
});

describe('a batch that is too long', () => {
  const notification = '{"jsonrpc":"2.0","method":"notifications/message","params":{}}';
  const batch = (count: number): string => `[${Array.from({ length: count }, () => notification).join(',')}]`;

  it('is one violation of the protocol, and what follows is read', async () => {
    const peer = scripted('srv', {
      protocolVersion: '2025-03-26',
      tools: [toolEntry('t')],
      calls: { t: [[batch(1001), ok]] },
    });
    const { toolset, of } = await connect([peer.config]);

    await expect(toolset.call('srv__t', {})).resolves.toBe('ok');
    expect(of('protocol-violation')).toHaveLength(1);
  });

  it('is none of a thousand messages', async () => {
    const peer = scripted('srv', {
      protocolVersion: '2025-03-26',
      tools: [toolEntry('t')],
      calls: { t: [[batch(999).replace(/\]$/, `,${ok}]`)]] },
    });
    const { toolset, diagnostics } = await connect([peer.config]);

    await expect(toolset.call('srv__t', {})).resolves.toBe('ok');
    expect(diagnostics).toEqual([]);
  });
});

describe('what is no message', () => {
  it.each<[string, string[]]>([
    ['a banner, colours and a number', ['demo-server 1.0 ready', '\u001b[32mok\u001b[0m', '123']],
    ['other values of JSON', ['null', 'true', '"text"', '[]', '{}', '[1,2]']],
    ['broken JSON', ['{"jsonrpc":"2.0","id":1,"result":', '}}', '{"a":1}{"b":2}']],
    ['objects of another protocol', ['{"jsonrpc":"1.0","x":1}', '{"level":"info","msg":"started"}']],
    ['NUL', ['\0', '\0{"jsonrpc":"2.0"}\0', '{"a":"\0"}']],
    ['deep nesting', ['['.repeat(50_000), '{"a":'.repeat(50_000)]],
  ])('is skipped before `initialize` is answered, and no kind of it is reported twice: %s', async (_what, lines) => {
    const peer = scripted('srv', { tools: [toolEntry('t')], on: { initialize: [[...lines, { default: true }]] } });
    const { toolset, of, diagnostics } = await connect([peer.config]);

    expect(Object.keys(toolset.tools)).toEqual(['srv__t']);
    const violations = of('protocol-violation').map(({ message }) => message);
    // At most one per kind.
    expect(violations).toEqual([...new Set(violations)]);
    expect(diagnostics).toEqual(of('protocol-violation'));
  });

  it('is one kind of violation, be it prose, colours or a number', async () => {
    const lines = ['demo-server 1.0 ready', '\u001b[32mok\u001b[0m', '123', 'more prose', '-7', '{"broken'];
    const peer = scripted('srv', { start: lines, tools: [toolEntry('t')] });
    const { of } = await connect([peer.config]);

    expect(of('protocol-violation')).toHaveLength(1);
  });

  it('is skipped during a call as well', async () => {
    const peer = scripted('srv', {
      tools: [toolEntry('t')],
      calls: { t: [['debug: got a call', '{"not":"ours"}', ok, 'debug: answered']] },
    });
    const { toolset, of } = await connect([peer.config]);

    for (let round = 0; round < 5; round += 1) await expect(toolset.call('srv__t', {})).resolves.toBe('ok');
    // At most one per kind and minute.
    expect(of('protocol-violation').length).toBeLessThanOrEqual(2);
  });

  it('is reported with the name of the server and what was wrong', async () => {
    const peer = scripted('srv', { start: ['demo-server 1.0 ready'], tools: [toolEntry('t')] });
    const { of } = await connect([peer.config]);

    expect(of('protocol-violation')).toEqual([
      {
        section: '7.2.2',
        rule: 'protocol-violation',
        origin: 'srv',
        message: expect.stringMatching(/srv.*not a JSON-RPC message/),
      },
    ]);
  });

  it('is reported for each server on its own', async () => {
    const noisy = (name: string) => scripted(name, { start: ['hello', 'hello again'] }).config;
    const { of } = await connect([noisy('one'), noisy('two')]);

    expect(
      of('protocol-violation')
        .map(({ origin }) => origin)
        .toSorted(),
    ).toEqual(['one', 'two']);
  });

  it('is never answered', async () => {
    const peer = scripted('srv', {
      tools: [toolEntry('t')],
      start: [
        'prose',
        '{"jsonrpc":"2.0"}',
        '{"jsonrpc":"2.0","id":5}',
        '{"jsonrpc":"2.0","id":5,"method":7}',
        '{"id":[1],"method":"ping"}',
      ],
    });
    const { toolset } = await connect([peer.config]);

    await toolset.call('srv__t', {});
    expect(peer.received().filter(({ method }) => method === undefined)).toEqual([]);
  });
});

describe('a message over `maxMessageBytes`', () => {
  it.each([
    ['in front of its result', false],
    ['behind its result', true],
  ])('fails its call alone, with `too-large`: the id is %s', async (_where, idLast) => {
    const peer = scripted('srv', {
      tools: [toolEntry('big'), toolEntry('waits')],
      calls: {
        big: [[{ filler: 50_000, idLast }]],
        waits: [[{ waitFor: { method: 'tools/call', tool: 'big' } }, { wait: 100 }, { reply: textResult('mine') }]],
      },
    });
    const { toolset } = await connect([peer.config], { maxMessageBytes: 20_000, timeoutMs: 5000 });

    const [other, error] = await Promise.all([
      toolset.call('srv__waits', {}),
      mcpError(toolset.call('srv__big', {}), 'too-large'),
    ]);
    expect(other).toBe('mine');
    expect(error.message).toContain('maxMessageBytes');
    await expect(toolset.call('srv__waits', {})).resolves.toBe('mine');
  });

  it('passes when it is just at the limit', async () => {
    const overhead = '{"jsonrpc":"2.0","id":99,"result":{"content":[{"type":"text","text":""}]}}'.length;
    const peer = scripted('srv', { tools: [toolEntry('t')], calls: { t: [[{ filler: 20_000 - overhead }]] } });
    const { toolset } = await connect([peer.config], { maxMessageBytes: 20_000 });

    await expect(toolset.call('srv__t', {})).resolves.toHaveLength(20_000 - overhead);
  });

  it('is a diagnostic when it is the listing', async () => {
    const tools = [toolEntry('t', { description: 'x'.repeat(50_000) })];
    const { toolset, of } = await connect([scripted('srv', { tools }).config], {
      maxMessageBytes: 20_000,
      timeoutMs: 5000,
    });

    expect(Object.keys(toolset.tools)).toEqual([]);
    expect(of('connection-failure')).toEqual([
      expect.objectContaining({ origin: 'srv', message: expect.stringContaining('maxMessageBytes') }),
    ]);
  });
});

it('a reply of 40 MiB takes less than five times as long as one of 10 MiB', async () => {
  const result = (count: number): string =>
    `printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"' "$id"
     head -c ${count * 1024 * 1024} /dev/zero | tr '\\0' x; echo '"}]}}'`;
  const script = `read l; echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}}}}'
    read l; read l; echo '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"small"},{"name":"large"}]}}'
    id=2; while read l; do case "$l" in *small*) ${result(10)};; *) ${result(40)};; esac; id=$((id + 1)); done`;
  const { toolset } = await connect([shellServer('srv', script)]);
  // Both of a round meet the same machine, and one quiet round shows the rule: time that grows with the square of the size
  // would make it sixteen times as long in each of them.
  let least = Infinity;
  for (let round = 0; round < 8 && (round < 2 || least >= 5); round += 1) {
    const took = { small: 0, large: 0 };
    for (const [kind, count] of [
      ['small', 10],
      ['large', 40],
    ] as const) {
      const { value, ms } = await timed(() => toolset.call(`srv__${kind}`, {}));
      expect((value as string).length).toBe(count * 1024 * 1024);
      took[kind] = ms;
    }
    if (process.env['ESPALIER_SOAK'] !== undefined) console.log(`10 MiB: ${took.small} ms, 40 MiB: ${took.large} ms`);
    least = Math.min(least, took.large / took.small);
  }

  expect(least).toBeLessThan(5);
}, 120_000);

it('a reply of 32 MiB arrives whole', async () => {
  const peer = scripted('srv', { tools: [toolEntry('t')], calls: { t: [[{ filler: 32 * 1024 * 1024 }]] } });
  const { toolset } = await connect([peer.config]);

  await expect(toolset.call('srv__t', {})).resolves.toHaveLength(32 * 1024 * 1024);
});

it('a thousand calls at once get a thousand answers, each its own', async () => {
  const peer = scripted('srv', { tools: [toolEntry('t')] });
  const { toolset } = await connect([peer.config]);

  const answers = await Promise.all(Array.from({ length: 1000 }, (_, n) => toolset.call('srv__t', { n })));
  expect(answers.map((answer) => (JSON.parse(String(answer)) as { arguments: { n: number } }).arguments.n)).toEqual(
    Array.from({ length: 1000 }, (_, n) => n),
  );
});
