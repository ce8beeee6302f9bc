// Entries that a caller must not see are as if they were not there.

import { type MCPServer, type VisibleTo } from 'espalier/server';
import { describe, expect, it } from 'vitest';

import { served } from '../helpers/wire.js';

const CASES: [name: string, isVisible: boolean, visibleTo: VisibleTo][] = [
  ['true', true, () => true],
  ['nothing', true, () => undefined],
  ['a promise of true', true, async () => true],
  ['false', false, () => false],
  ['a promise of false', false, async () => false],
  [
    'an exception',
    false,
    () => {
      throw new Error('x');
    },
  ],
  ['a rejection', false, () => Promise.reject(new Error('x'))],
];

/** Registers an entry of each kind, and each kind from a provider. */
function set(server: MCPServer, visibleTo: VisibleTo): void {
  const resource = { name: 'a', visibleTo, handler: () => ({ text: 'secret' }) };
  const prompt = { visibleTo, handler: () => 'secret' };
  server.registerResource({ ...resource, uri: 'memo://static' });
  server.registerResources(() => [
    { ...resource, uri: 'memo://provided' },
    { uri: 'memo://static', name: 'under a hidden one', handler: () => ({ text: 'provided' }) },
  ]);
  server.registerResourceTemplate({ ...resource, uriTemplate: 'day://{day}' });
  server.registerPrompt({ ...prompt, name: 'static' });
  server.registerPrompts(() => [{ ...prompt, name: 'provided' }]);
  server.registerCompletion(() => ['secret']);
}

describe.each(['2025-11-25', '2026-07-28'])('in %s', (revision) => {
  it.each(CASES)('an entry whose visibleTo gives %s is there: %s', async (_, isVisible, visibleTo) => {
    const { client } = await served({}, (server) => set(server, visibleTo), { revision });
    const list = async (method: string, key: string): Promise<unknown[]> =>
      (await client.ask(method))[key] as unknown[];
    expect(await list('resources/list', 'resources')).toHaveLength(isVisible ? 2 : 0);
    expect(await list('resources/templates/list', 'resourceTemplates')).toHaveLength(isVisible ? 1 : 0);
    expect(await list('prompts/list', 'prompts')).toHaveLength(isVisible ? 2 : 0);

    const unknown = {
      resource: (await client.request('resources/read', { uri: 'memo://unknown' })).error,
      prompt: (await client.request('prompts/get', { name: 'unknown' })).error,
      completion: (await complete({ type: 'ref/prompt', name: 'unknown' })).error,
    };
    function complete(ref: object) {
      return client.request('completion/complete', { ref, argument: { name: 'a', value: '' } });
    }
    for (const uri of ['memo://static', 'memo://provided', 'day://monday']) {
      const { result, error } = await client.request('resources/read', { uri });
      if (isVisible) expect(result).toMatchObject({ contents: [{ uri, text: 'secret' }] });
      else expect(JSON.stringify(error)).toBe(JSON.stringify(unknown.resource).replaceAll('memo://unknown', uri));
    }
    for (const name of ['static', 'provided']) {
      const { result, error } = await client.request('prompts/get', { name });
      if (isVisible) expect(JSON.stringify(result)).toContain('secret');
      else expect(JSON.stringify(error)).toBe(JSON.stringify(unknown.prompt).replaceAll('unknown', name));
      expect((await complete({ type: 'ref/prompt', name })).error?.code).toBe(
        isVisible ? undefined : unknown.completion?.code,
      );
    }
    expect((await complete({ type: 'ref/resource', uri: 'day://{day}' })).error?.code).toBe(
      isVisible ? undefined : unknown.completion?.code,
    );
  });
});

it('asks with the caller, anew for each list and read', async () => {
  let isVisible = true;
  const asked: unknown[] = [];
  const visibleTo: VisibleTo = (caller) => {
    asked.push(caller);
    return isVisible;
  };
  const { client } = await served({}, (server) => {
    server.registerResource({ uri: 'memo://a', name: 'a', visibleTo, handler: () => ({ text: 'x' }) });
  });
  expect(await client.ask('resources/list')).toHaveProperty('resources.length', 1);
  isVisible = false;
  expect(await client.ask('resources/list')).toHaveProperty('resources.length', 0);
  expect(asked).toEqual([
    { tenantId: undefined, sessionId: undefined },
    { tenantId: undefined, sessionId: undefined },
  ]);
});

it('does not tell of an update of a resource that is not there for its subscriber', async () => {
  let isVisible = true;
  const { server, client } = await served({}, (made) => {
    made.registerResource({ uri: 'memo://a', name: 'a', visibleTo: () => isVisible, handler: () => ({ text: 'x' }) });
    made.registerResource({ uri: 'memo://b', name: 'b', handler: () => ({ text: 'x' }) });
  });
  await client.ask('resources/subscribe', { uri: 'memo://a' });
  await client.ask('resources/subscribe', { uri: 'memo://b' });
  isVisible = false;
  server.notifyResourceUpdated('memo://a');
  server.notifyResourceUpdated('memo://b');
  expect(await client.hears('notifications/resources/updated')).toMatchObject({ uri: 'memo://b' });
  expect(client.notifications.filter(({ params }) => params['uri'] === 'memo://a')).toEqual([]);
});
