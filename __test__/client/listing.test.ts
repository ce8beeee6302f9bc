import { describe, expect, it } from 'vitest';

import { connect } from '../helpers/connect.js';
import { allGone } from '../helpers/processes.js';
import { scripted, type Script, toolEntry } from '../helpers/scripted.js';
import { echoServer, shellServer } from '../helpers/servers.js';

function page(names: string[], nextCursor?: string | null): { reply: unknown } {
  return {
    reply: { tools: names.map((name) => toolEntry(name)), ...(nextCursor === undefined ? {} : { nextCursor }) },
  };
}

function pages(...all: { reply: unknown }[]): Script {
  return { on: { 'tools/list': all.map((step) => [step]) } };
}

/** Pages of one tool each, without end, each with a cursor that was never there before. */
const endless: Script = {
  on: {
    'tools/list': [
      [
        {
          replyText:
            '{"tools":[{"name":"t$n","description":"A tool.","inputSchema":{"type":"object"}}],"nextCursor":"c$n"}',
        },
      ],
    ],
  },
};

describe('a listing in pages', () => {
  it('is read to its end; the first request has no cursor and each later one the cursor as it came', async () => {
    const peer = scripted('srv', pages(page(['a', 'b'], ' opaque/"é\\ud800 '), page([], 'third'), page(['c'])));
    const { toolset, diagnostics } = await connect([peer.config]);

    expect(Object.keys(toolset.tools)).toEqual(['srv__a', 'srv__b', 'srv__c']);
    expect(
      peer.received('tools/list').map(({ params }) => (params as { cursor?: string } | undefined)?.cursor),
    ).toEqual([undefined, ' opaque/"é\\ud800 ', 'third']);
    expect(diagnostics).toEqual([]);
  });

  it('goes on at an empty cursor, which is a cursor like any other', async () => {
    const peer = scripted('srv', pages(page(['a'], ''), page(['b'])));
    const { toolset, diagnostics } = await connect([peer.config]);

    expect(Object.keys(toolset.tools)).toEqual(['srv__a', 'srv__b']);
    expect(peer.received('tools/list')[1]?.params).toMatchObject({ cursor: '' });
    expect(diagnostics).toEqual([]);
  });

  it('ends at a cursor of null', async () => {
    const peer = scripted('srv', pages(page(['a'], null)));
    const { toolset } = await connect([peer.config]);

    expect(Object.keys(toolset.tools)).toEqual(['srv__a']);
    expect(peer.received('tools/list')).toHaveLength(1);
  });
});

describe('a cursor that comes back', () => {
  it.each<[string, Script, string[], number]>([
    ['at once', pages(page(['a', 'b', 'c'], 'c')), ['srv__a', 'srv__b', 'srv__c'], 2],
    ['in a circle', pages(page(['a'], 'c1'), page(['b'], 'c2'), page(['c'], 'c1')), ['srv__a', 'srv__b', 'srv__c'], 3],
    ['although it is empty', pages(page(['a'], ''), page(['b'], '')), ['srv__a', 'srv__b'], 2],
  ])('%s stops the listing with a diagnostic and keeps what is known', async (_how, script, tools, requests) => {
    const peer = scripted('srv', script);
    const { toolset, of } = await connect([peer.config]);

    expect(Object.keys(toolset.tools)).toEqual(tools);
    expect(peer.received('tools/list')).toHaveLength(requests);
    expect(of('listing-limited')).toEqual([
      {
        section: '7.2.2',
        rule: 'listing-limited',
        origin: 'srv',
        message: expect.stringMatching(new RegExp(String.raw`cursor.*\b${requests}\b|\b${requests}\b.*cursor`, 'is')),
      },
    ]);
  });
});

describe('a page that comes again', () => {
  it('does not count against `maxTools`', async () => {
    const peer = scripted('srv', pages(page(['a', 'b', 'c'], 'c')));
    const { toolset, of } = await connect([peer.config], { maxTools: 5 });

    expect(Object.keys(toolset.tools)).toEqual(['srv__a', 'srv__b', 'srv__c']);
    expect(of('listing-limited')).toEqual([
      expect.objectContaining({ message: expect.stringContaining('nextCursor') }),
    ]);
    // They are no doubling of the server's.
    expect(of('server-entry-invalid')).toEqual([]);
  });
});

describe('odd entries', () => {
  it('by the thousand are told of a hundred times and then summed up, and crowd out nothing', async () => {
    const noisy = scripted('noisy', { tools: [...Array.from({ length: 9000 }, () => 7), toolEntry('t')] });
    const { toolset, of } = await connect([noisy.config, shellServer('broken', 'exit 3')]);

    expect(Object.keys(toolset.tools)).toEqual(['noisy__t']);
    expect(of('connection-failure')).toEqual([expect.objectContaining({ origin: 'broken' })]);
    const invalid = of('server-entry-invalid');
    expect(invalid).toHaveLength(101);
    expect(invalid.at(-1)?.message).toContain('8900');
  });

  it('by the thousand are told of no more often when they are names given twice', async () => {
    const names = Array.from({ length: 1000 }, (_, n) => toolEntry(`t${n}`));
    const { toolset, of } = await connect([scripted('srv', { tools: [...names, ...names] }).config]);

    expect(Object.keys(toolset.tools)).toHaveLength(1000);
    expect(of('server-entry-invalid')).toHaveLength(101);
    expect(of('server-entry-invalid').at(-1)?.message).toContain('900');
  });

  it('are names of more than 4 KiB: they are skipped, and not repeated', async () => {
    const servers = ['a', 'b', 'c', 'd', 'e'].map((name) =>
      scripted(name, { tools: [toolEntry('n'.repeat(1_000_000)), toolEntry('é'.repeat(2049)), toolEntry('t')] }),
    );
    const { toolset, of, diagnostics } = await connect(servers.map(({ config }) => config));

    expect(Object.keys(toolset.tools)).toEqual(['a__t', 'b__t', 'c__t', 'd__t', 'e__t']);
    expect(of('server-entry-invalid')).toHaveLength(10);
    expect(Math.max(...diagnostics.map(({ message }) => message.length))).toBeLessThan(1000);
  });

  it('are not names of just 4 KiB', async () => {
    const { toolset, diagnostics } = await connect([scripted('srv', { tools: [toolEntry('n'.repeat(4096))] }).config]);

    expect(Object.keys(toolset.tools)).toHaveLength(1);
    expect(diagnostics).toEqual([]);
  });
});

describe('a listing without end', () => {
  it('stops at `maxTools` and keeps nothing of that server', async () => {
    const peer = scripted('srv', endless);
    const { toolset, of } = await connect([peer.config, echoServer('sibling')], { maxTools: 50 });

    expect(Object.keys(toolset.tools).filter((name) => name.startsWith('srv__'))).toEqual([]);
    expect(Object.keys(toolset.tools)).toContain('sibling__echo');
    expect(of('listing-limited')).toEqual([
      {
        section: '7.2.2',
        rule: 'listing-limited',
        origin: 'srv',
        message: expect.stringMatching(/\d.*maxTools|maxTools.*\d/s),
      },
    ]);
    expect(peer.received('tools/list').length).toBeLessThanOrEqual(51);
  });

  it('stops at `maxCatalogBytes` and keeps nothing of that server', async () => {
    const peer = scripted('srv', endless);
    const { toolset, of } = await connect([peer.config, echoServer('sibling')], { maxCatalogBytes: 4000 });

    expect(Object.keys(toolset.tools).filter((name) => name.startsWith('srv__'))).toEqual([]);
    expect(Object.keys(toolset.tools)).toContain('sibling__echo');
    expect(of('listing-limited')).toEqual([
      {
        section: '7.2.2',
        rule: 'listing-limited',
        origin: 'srv',
        message: expect.stringMatching(/\d.*maxCatalogBytes|maxCatalogBytes.*\d/s),
      },
    ]);
  });

  it('leaves no process behind', async () => {
    const peer = scripted('srv', endless);
    const { toolset } = await connect([peer.config], { maxTools: 5 });

    await toolset.close();
    await allGone([(await peer.started()).pid]);
  });
});

describe('the limits', () => {
  const names = Array.from({ length: 5 }, (_, index) => `t${index}`);

  it('allow exactly `maxTools` tools', async () => {
    const { toolset, diagnostics } = await connect([scripted('srv', pages(page(names))).config], { maxTools: 5 });

    expect(Object.keys(toolset.tools)).toHaveLength(5);
    expect(diagnostics).toEqual([]);
  });

  it('refuse one more', async () => {
    const { toolset, of } = await connect([scripted('srv', pages(page(names))).config], { maxTools: 4 });

    expect(Object.keys(toolset.tools)).toEqual([]);
    expect(of('listing-limited')).toHaveLength(1);
  });
});

describe('a server that does not announce tools', () => {
  it('is asked all the same', async () => {
    const peer = scripted('srv', { capabilities: {}, tools: [toolEntry('t')] });
    const { toolset, diagnostics } = await connect([peer.config]);

    expect(Object.keys(toolset.tools)).toEqual(['srv__t']);
    expect(diagnostics).toEqual([]);
  });

  it('may refuse, silently', async () => {
    const peer = scripted('srv', {
      capabilities: { prompts: {} },
      on: { 'tools/list': [[{ error: { code: -32_601, message: 'Method not found' } }]] },
    });
    const { toolset, diagnostics } = await connect([peer.config]);

    expect(Object.keys(toolset.tools)).toEqual([]);
    expect(diagnostics).toEqual([]);
    expect(toolset.servers()).toMatchObject([{ name: 'srv', state: 'ready', tools: 0 }]);
  });
});
