import { isProviderLegalToolName } from 'espalier/node';
import { describe, expect, it } from 'vitest';

import { connect, tool } from '../helpers/connect.js';
import { scripted, toolEntry } from '../helpers/scripted.js';
import { echoServer } from '../helpers/servers.js';
import { fnv1a32, vectors } from '../helpers/vectors.js';

describe('the names of projected tools', () => {
  it('are those of the reference, and each call reaches the tool under its own name', async () => {
    const publishedBy = (server: string) => vectors.toolNames.filter((vector) => vector.server === server);
    const names = [...new Set(vectors.toolNames.map(({ server }) => server))];
    const servers = names.map((name) =>
      scripted(name, { tools: publishedBy(name).map((vector) => toolEntry(vector.tool)) }),
    );
    const { toolset, diagnostics } = await connect(servers.map(({ config }) => config));

    expect(Object.keys(toolset.tools)).toEqual(
      names.flatMap((name) => publishedBy(name).map(({ projected }) => projected)),
    );
    expect(diagnostics).toEqual([]);
    for (const entry of vectors.toolNames) {
      const answer = await tool(toolset, entry.projected).execute({});
      expect(JSON.parse(String(answer))).toEqual({ tool: entry.tool, arguments: {} });
    }
  });

  it('are told apart when cleaning or cutting would make them equal, and are legal for model providers', async () => {
    const long = 'x'.repeat(70);
    const names = ['a.b', 'a_b', 'a/b', 'A_b', `${long}${'y'.repeat(20)}`, `${long}${'z'.repeat(20)}`];
    const { toolset } = await connect([scripted('srv', { tools: names.map((name) => toolEntry(name)) }).config]);

    const projected = Object.keys(toolset.tools);
    expect(projected).toHaveLength(names.length);
    expect(projected.filter((name) => !isProviderLegalToolName(name))).toEqual([]);
    expect(projected).toEqual(expect.arrayContaining(['srv__a_b', 'srv__A_b']));
    for (const [index, name] of projected.entries()) {
      expect(JSON.parse(String(await tool(toolset, name).execute()))).toMatchObject({ tool: names[index] });
    }
  });

  it('are the same whatever the order of the listing', async () => {
    const names = ['a.b', 'a/b', 'a_b', 'ü', 'é'];
    const forward = scripted('srv', { tools: names.map((name) => toolEntry(name)) });
    const backward = scripted('srv', { tools: names.toReversed().map((name) => toolEntry(name)) });
    const [one, other] = await Promise.all([connect([forward.config]), connect([backward.config])]);

    expect(Object.keys(other.toolset.tools)).toEqual(Object.keys(one.toolset.tools).toReversed());
  });
});

describe('tools that meet on one name', () => {
  it('leave the first in place and skip the second with a diagnostic that names it', async () => {
    const first = scripted('a', { tools: [toolEntry('b__c')] });
    const second = scripted('a__b', { tools: [toolEntry('c'), toolEntry('d')] });
    const { toolset, of } = await connect([first.config, second.config]);

    expect(Object.keys(toolset.tools)).toEqual(['a__b__c', 'a__b__d']);
    expect(of('server-entry-invalid')).toEqual([
      expect.objectContaining({ section: '7.2.2', message: expect.stringMatching(/\bc\b/) }),
    ]);
    // Routed by what is stored, not by splitting the name.
    expect(JSON.parse(String(await tool(toolset, 'a__b__c').execute()))).toMatchObject({ tool: 'b__c' });
    expect(JSON.parse(String(await tool(toolset, 'a__b__d').execute()))).toMatchObject({ tool: 'd' });
  });

  it('also when one of them is a legal name that equals the rewritten name of another', async () => {
    const rewritten = `a_b_${fnv1a32('srv__a/b')}`;
    const server = scripted('srv', { tools: [toolEntry('a/b'), toolEntry(rewritten)] });
    const { toolset, of } = await connect([server.config]);

    expect(Object.keys(toolset.tools)).toEqual([`srv__${rewritten}`]);
    expect(of('server-entry-invalid')).toEqual([
      expect.objectContaining({ message: expect.stringContaining(rewritten) }),
    ]);
    expect(JSON.parse(String(await tool(toolset, `srv__${rewritten}`).execute()))).toMatchObject({ tool: 'a/b' });
  });
});

describe('a name that is published twice in one listing', () => {
  it('stands for the last definition, and is reported', async () => {
    const server = scripted('srv', {
      tools: [toolEntry('t', { description: 'first' }), toolEntry('u'), toolEntry('t', { description: 'last' })],
    });
    const { toolset, of } = await connect([server.config]);

    expect(Object.keys(toolset.tools).toSorted()).toEqual(['srv__t', 'srv__u']);
    expect(tool(toolset, 'srv__t').description).toBe('last');
    expect(of('server-entry-invalid')).toEqual([
      expect.objectContaining({ origin: 'srv', message: expect.stringMatching(/\bt\b/) }),
    ]);
  });

  it('also across pages', async () => {
    const server = scripted('srv', {
      on: {
        'tools/list': [
          [{ reply: { tools: [toolEntry('t', { description: 'first' })], nextCursor: '2' } }],
          [{ reply: { tools: [toolEntry('t', { description: 'last' })] } }],
        ],
      },
    });
    const { toolset, of } = await connect([server.config]);

    expect(tool(toolset, 'srv__t').description).toBe('last');
    expect(of('server-entry-invalid')).toHaveLength(1);
  });
});

describe('the tool map', () => {
  it('is in configuration order, then listing order, whatever order the servers answered in', async () => {
    const third = scripted('third', { tools: [toolEntry('z'), toolEntry('a')] });
    const second = scripted('second', {
      tools: [toolEntry('m'), toolEntry('10'), toolEntry('9')],
      on: { 'tools/list': [[{ wait: 100 }, { default: true }]] },
    });
    const first = scripted('first', {
      tools: [toolEntry('b'), toolEntry('a')],
      on: { 'tools/list': [[{ wait: 200 }, { default: true }]] },
    });
    const { toolset } = await connect([first.config, second.config, third.config]);

    expect(Object.keys(toolset.tools)).toEqual([
      'first__b',
      'first__a',
      'second__m',
      'second__10',
      'second__9',
      'third__z',
      'third__a',
    ]);
  });

  it.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'then'])(
    'holds a tool called %s as an own, enumerable, callable entry and changes nothing else',
    async (name) => {
      const server = scripted('srv', { tools: [toolEntry(name), toolEntry('plain')] });
      const { toolset } = await connect([server.config]);

      const projected = `srv__${name}`;
      expect(Object.keys(toolset.tools)).toEqual([projected, 'srv__plain']);
      expect(Object.getOwnPropertyDescriptor(toolset.tools, projected)).toMatchObject({ enumerable: true });
      const spread = { ...toolset.tools };
      expect(JSON.parse(String(await spread[projected]?.execute({ a: 1 })))).toEqual({
        tool: name,
        arguments: { a: 1 },
      });
    },
  );

  it('has no prototype, so that no name is found in it that no server published', async () => {
    const { toolset } = await connect([echoServer()]);

    expect(Object.getPrototypeOf(toolset.tools)).toBeNull();
    for (const name of ['__proto__', 'constructor', 'toString', 'valueOf']) expect(toolset.tools[name]).toBeUndefined();
    expect(Object.getPrototypeOf({})).toBe(Object.prototype);
  });

  it('is empty without servers, and such a toolset closes like any other', async () => {
    const { toolset, diagnostics } = await connect([]);

    expect(Object.keys(toolset.tools)).toEqual([]);
    await expect(toolset.reconciled).resolves.toBeUndefined();
    await expect(toolset.close()).resolves.toBeUndefined();
    expect(diagnostics).toEqual([]);
  });
});

describe('a projected tool', () => {
  it('carries its name, its description and `replay`, and is called through `execute`', async () => {
    const { toolset } = await connect([echoServer()]);

    const sum = tool(toolset, 'echo__sum');
    expect(sum).toMatchObject({ name: 'echo__sum', description: 'Adds two numbers.', replay: true });
    await expect(sum.execute({ a: 2, b: 40 })).resolves.toBe('42');
  });

  it('has nothing else, and no trace of annotations, which decide nothing here', async () => {
    const annotations = { readOnlyHint: true, destructiveHint: false };
    const { toolset } = await connect([scripted('srv', { tools: [toolEntry('t', { annotations })] }).config]);

    expect(Object.keys(tool(toolset, 'srv__t')).toSorted()).toEqual([
      'description',
      'execute',
      'input',
      'name',
      'replay',
    ]);
  });

  it('keeps working when `execute` is taken off it', async () => {
    const { toolset } = await connect([echoServer()]);

    const { execute } = tool(toolset, 'echo__echo');
    await expect(execute({ text: 'loose' })).resolves.toBe('loose');
  });

  it('is described by its name when the server gives no description', async () => {
    const { toolset } = await connect([
      scripted('srv', { tools: [{ name: 'bare.name', inputSchema: { type: 'object' } }] }).config,
    ]);

    const [only] = Object.values(toolset.tools);
    expect(only?.description).toBe('bare.name');
  });

  it('can be called by name through the toolset as well', async () => {
    const { toolset } = await connect([echoServer()]);

    await expect(toolset.call('echo__echo', { text: 'by name' })).resolves.toBe('by name');
  });
});

describe('entries of a listing that cannot be used', () => {
  it('are skipped one by one, each with a diagnostic, and the others stay', async () => {
    const server = scripted('srv', {
      tools: [null, toolEntry('first'), 5, 'text', {}, { name: 7 }, [], toolEntry('last')],
    });
    const { toolset, of } = await connect([server.config]);

    expect(Object.keys(toolset.tools)).toEqual(['srv__first', 'srv__last']);
    expect(of('server-entry-invalid')).toHaveLength(6);
    expect(of('server-entry-invalid').every(({ origin }) => origin === 'srv')).toBe(true);
  });

  it('among them a name with half a surrogate pair, which no call could carry', async () => {
    const listing = '{"tools":[{"name":"a\\ud800b"},{"name":"whole 😀","description":"half \\ud800"}]}';
    const { toolset, of } = await connect([
      scripted('srv', { on: { 'tools/list': [[{ replyText: listing }]] } }).config,
    ]);

    expect(Object.values(toolset.tools).map(({ description }) => description)).toEqual([
      expect.stringMatching(/^half .$/),
    ]);
    expect(of('server-entry-invalid')).toHaveLength(1);
  });
});
