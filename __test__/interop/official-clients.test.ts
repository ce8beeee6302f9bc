// The official clients, version 1 and version 2, against a server of the package, over every transport and in both eras.

import { describe, expect, it } from 'vitest';

import { rejection } from '../helpers/errors.js';
import { type OfficialClient, officialClient, type OfficialOptions, textOf } from '../helpers/official-clients.js';
import { fullServer } from '../helpers/served.js';
import { until } from '../helpers/until.js';
import type { Json } from '../helpers/wire.js';

const CAPABILITIES = { elicitation: { form: {}, url: {} }, sampling: {}, roots: { listChanged: true } };
const SAID: Json = { name: 'Ann', colour: 'green', dish: 'soup' };
const ANSWERS = {
  'elicitation/create': ({ mode, requestedSchema }: Json): Json => {
    if (mode === 'url') return { action: 'accept' };
    const [topic = ''] = Object.keys((requestedSchema as { properties: Json }).properties);
    return { action: 'accept', content: { [topic]: SAID[topic] } };
  },
  'sampling/createMessage': (): Json => ({
    role: 'assistant',
    model: 'm',
    content: { type: 'text', text: 'sampled' },
  }),
  'roots/list': (): Json => ({ roots: [{ uri: 'file:///work' }] }),
};

describe.each([
  ['v1', 'session', 'stdio'],
  ['v1', 'session', 'http'],
  ['v1', 'session', 'sse'],
  ['v2', 'session', 'stdio'],
  ['v2', 'session', 'http'],
  ['v2', 'session', 'sse'],
  ['v2', 'stateless', 'stdio'],
  ['v2', 'stateless', 'http'],
] as const)('the official client %s in the %s era over %s', (version, era, transport) => {
  const open = async (more: OfficialOptions = {}): Promise<OfficialClient> =>
    officialClient(version, await fullServer(transport), { era, ...more });
  const isStateless = era === 'stateless';

  it('hears who serves and what there is', async () => {
    const client = await open();

    expect(client.serverInfo()).toEqual({ name: 'full', version: '1.2.3', title: 'Full' });
    expect(client.instructions()).toBe('Ask away.');
    expect(client.capabilities()).toMatchObject({
      tools: { listChanged: true },
      resources: { subscribe: true, listChanged: true },
      prompts: { listChanged: true },
      completions: {},
    });
    if (!isStateless) await client.ping();
  });

  it('lists page by page', async () => {
    const client = await open();
    const names: unknown[] = [];
    const sizes: number[] = [];
    let cursor: string | undefined;
    // What version 2 lists without a cursor are all pages, and so the first of them has to be asked for otherwise.
    if (version === 'v2') names.push(...(await client.tools()).tools.map(({ name }) => name));
    else {
      do {
        const page = await client.tools(cursor === undefined ? {} : { cursor });
        names.push(...page.tools.map(({ name }) => name));
        sizes.push(page.tools.length);
        cursor = page.nextCursor;
      } while (cursor !== undefined);
      expect(sizes.slice(0, -1).every((size) => size === 5)).toBe(true);
    }
    expect(names).toHaveLength(18);
    expect(new Set(names).size).toBe(18);
    expect(await rejection(client.tools({ cursor: 'made up' }))).toMatchObject({ code: -32_602 });
    expect(await rejection(client.tools({ cursor: '' }))).toMatchObject({ code: -32_602 });
  });

  it('calls tools, and gets text, blocks, structured content and failures', async () => {
    const client = await open();

    const { tools } = await client.tools();
    expect(tools.find(({ name }) => name === 'sum')).toMatchObject({
      title: 'Sum',
      annotations: { readOnlyHint: true },
      outputSchema: { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] },
    });
    expect(await client.call('echo', { text: '価格 — ✅\u2028\0' })).toMatchObject({
      content: [{ type: 'text', text: '価格 — ✅\u2028\0' }],
    });
    expect(await client.call('sum', { a: 2, b: 40 })).toMatchObject({
      content: [{ type: 'text', text: '{"sum":42}' }],
      structuredContent: { sum: 42 },
    });
    expect((await client.call('blocks')).content.map(({ type }) => type)).toEqual(['text', 'image', 'resource_link']);
    expect(await client.call('fail')).toMatchObject({ isError: true, content: [{ text: 'as asked' }] });
    // The client of standard input is the local operator; others only get a reference.
    const thrown = transport === 'stdio' ? /^the wires are crossed$/ : /^Tool failed \(ref [a-z2-7]{12}\)$/i;
    expect(await client.call('throw')).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(thrown) }],
    });
    expect(await rejection(client.call('missing'))).toMatchObject({ code: -32_602 });
  });

  it('answers many calls at once', async () => {
    const client = await open();
    const numbers = Array.from({ length: 64 }, (_, n) => n);

    const results = await Promise.all(numbers.map((n) => client.call('sum', { a: n, b: 1 })));
    expect(results.map(({ structuredContent }) => structuredContent)).toEqual(numbers.map((n) => ({ sum: n + 1 })));
  });

  it('reads resources, and what a template describes', async () => {
    const client = await open();

    expect((await client.resources()).resources.map(({ uri }) => uri)).toEqual([
      'note://one',
      'note://two',
      'bytes://all',
    ]);
    expect((await client.templates()).resourceTemplates).toMatchObject([
      { uriTemplate: 'file:///{+path}', name: 'files' },
    ]);
    expect((await client.read('note://one')).contents).toEqual([
      { uri: 'note://one', mimeType: 'text/plain', text: 'the text of note://one' },
    ]);
    const [bytes] = (await client.read('bytes://all')).contents;
    expect([...Buffer.from(String(bytes?.['blob']), 'base64')]).toEqual(Array.from({ length: 256 }, (_, byte) => byte));
    expect((await client.read('file:///a/b.md')).contents).toMatchObject([{ text: 'the file a/b.md' }]);
    expect(await rejection(client.read('note://three'))).toMatchObject({
      // Version 2 says it with the newer code in both eras.
      code: version === 'v2' ? -32_602 : -32_002,
    });
  });

  it('gets prompts and completions', async () => {
    const client = await open();

    expect((await client.prompts()).prompts).toEqual([
      { name: 'greet', description: 'Greets somebody.', arguments: [{ name: 'who', required: true }] },
    ]);
    expect(await client.prompt('greet', { who: 'Ann' })).toMatchObject({
      messages: [{ role: 'user', content: { type: 'text', text: 'Greet Ann' } }],
    });
    expect(await rejection(client.prompt('greet'))).toMatchObject({ code: -32_602 });
    const prompt = { type: 'ref/prompt', name: 'greet' };
    expect(await client.complete(prompt, { name: 'who', value: 'An' }, { arguments: { not: 'Ann' } })).toMatchObject({
      completion: { values: ['Anton'] },
    });
    const files = { type: 'ref/resource', uri: 'file:///{+path}' };
    expect(await client.complete(files, { name: 'path', value: 'no' })).toMatchObject({
      completion: { values: ['notes.md'] },
    });
  });

  it('is told of progress', async () => {
    const client = await open();
    const seen: Json[] = [];
    const steps: Promise<unknown>[] = [];
    const onProgress = (progress: Json): void => {
      seen.push(progress);
      steps.push(client.call('step'));
    };

    expect(textOf(await client.call('progress', {}, { onProgress }))).toBe('done');
    await Promise.all(steps);
    expect(seen).toMatchObject([1, 2, 3].map((progress) => ({ progress, total: 3, message: `step ${progress}` })));
  });

  it('gives a call up, and the handler hears of it', async () => {
    const client = await open();
    // A call that is given up this early may never reach its handler.
    await until('a handler to hear of it', async () => {
      const controller = new AbortController();
      const long = rejection(client.call('slow', {}, { signal: controller.signal }));
      await client.call('echo');
      controller.abort();
      expect(await long).toBeInstanceOf(Error);
      return textOf(await client.call('aborted')) !== '0';
    });
  });

  it('is told what the server logs, from the level it wants', async () => {
    const client = await open();
    await client.logFrom('info');

    expect(textOf(await client.call('log'))).toBe('logged');
    const messages = (): Json[] =>
      client.told.filter(({ method }) => method === 'notifications/message').map(({ params }) => params);
    await until('the message', () => messages().length > 0);
    expect(messages()).toMatchObject([{ level: 'warning', data: { what: 'a warning' } }]);
  });

  it('is told of changed lists', async () => {
    const client = await open();
    await client.follow();
    // In sessions over HTTP what nobody asked for comes on a stream that the client opens by itself; it may not be there yet.
    await until('all three changes', async () => {
      await client.call('rename');
      const heard = new Set(client.told.map(({ method }) => method));
      return ['tools', 'resources', 'prompts'].every((what) => heard.has(`notifications/${what}/list_changed`));
    });
    const { tools } = await client.tools();
    const all = version === 'v2' ? tools : [...tools, ...(await restOf(client))];
    expect(all.map(({ name }) => name)).toContain('new-1');
  });

  it('is told of updates of what it has subscribed to', async () => {
    const client = await open();
    await client.subscribe('note://one');
    const updates = (): unknown[] =>
      client.told
        .filter(({ method }) => method === 'notifications/resources/updated')
        .map(({ params }) => params['uri']);
    await until('an update', async () => {
      await client.call('touch', { uri: 'note://two' });
      await client.call('touch', { uri: 'note://one' });
      return updates().length > 0;
    });
    expect(new Set(updates())).toEqual(new Set(['note://one']));
    await client.unsubscribe('note://one');
  });

  it('answers three questions of one handler', async () => {
    const client = await open({ capabilities: CAPABILITIES, answers: ANSWERS });

    expect(textOf(await client.call('interview'))).toMatch(/^Ann, green, soup; /);
  });

  it('opens a page, samples, and says its roots', async () => {
    const client = await open({ capabilities: CAPABILITIES, answers: ANSWERS });

    expect(textOf(await client.call('visit'))).toBe('accept');
    expect(textOf(await client.call('sample'))).toBe('sampled');
    expect(textOf(await client.call('roots'))).toBe('file:///work');
  });

  it('is not asked for what it cannot do', async () => {
    const client = await open();

    for (const name of ['interview', 'visit', 'sample', 'roots']) {
      const outcome = await client.call(name).catch((error: unknown) => error);
      expect(outcome, name).toMatchObject(isStateless ? { code: -32_021 } : { isError: true });
    }
    expect(textOf(await client.call('echo', { text: 'fine' }))).toBe('fine');
  });
});

async function restOf(client: OfficialClient): Promise<Json[]> {
  const rest: Json[] = [];
  let { nextCursor } = await client.tools();
  while (nextCursor !== undefined) {
    const page = await client.tools({ cursor: nextCursor });
    rest.push(...page.tools);
    ({ nextCursor } = page);
  }
  return rest;
}
