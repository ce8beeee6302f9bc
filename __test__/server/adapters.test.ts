// Artifacts, sandbox files and prompts of a host as resources and prompts.

import {
  ADAPTER_RESOURCE_CACHE_MAX_KEYS,
  ADAPTER_RESOURCE_CACHE_TTL_MS,
  adaptHarnessArtifacts,
  adaptHarnessPrompts,
  adaptSandboxFiles,
  type ArtifactLike,
  type HostContent,
  refreshArtifactCache,
  refreshSandboxCache,
  type RuntimeLike,
  type SandboxEntryLike,
} from 'espalier/server';
import { afterEach, describe, expect, it, vi } from 'vitest';

import { served } from '../helpers/wire.js';

/** A host that says what it was asked. */
function host(entries: { artifacts?: ArtifactLike[]; files?: SandboxEntryLike[]; content?: HostContent } = {}) {
  const asked: unknown[] = [];
  const content = entries.content ?? { text: 'content' };
  const runtime: RuntimeLike = {
    artifacts: {
      list: async (query) => {
        asked.push(query);
        return entries.artifacts ?? [];
      },
      read: async (query) => {
        asked.push(query);
        return content;
      },
    },
    sandbox: {
      list: async (query) => {
        asked.push(query);
        return entries.files ?? [];
      },
      read: async (query) => {
        asked.push(query);
        return content;
      },
    },
  };
  return { runtime, asked };
}

const artifact: ArtifactLike = {
  chatId: 'chat/1',
  artifactId: 'plan ü',
  name: 'The plan',
  description: 'What to do.',
  mimeType: 'text/markdown',
  size: 7,
};

describe('adaptHarnessArtifacts', () => {
  it('lists artifacts under URIs of encoded segments, and reads them by the host’s ids', async () => {
    const { runtime, asked } = host({ artifacts: [artifact] });
    const { client } = await served({ runtime }, (server) => {
      server.registerResources(() => adaptHarnessArtifacts(runtime, { chatId: 'chat/1', tenantId: 'acme' }));
    });
    const uri = 'pleach://artifact/chat%2F1/plan%20%C3%BC';
    expect(await client.ask('resources/list')).toEqual({
      resources: [{ uri, name: 'The plan', description: 'What to do.', mimeType: 'text/markdown', size: 7 }],
    });
    expect(await client.ask('resources/read', { uri })).toEqual({
      contents: [{ uri, mimeType: 'text/markdown', text: 'content' }],
    });
    expect(asked).toEqual([
      { chatId: 'chat/1', tenantId: 'acme' },
      { chatId: 'chat/1', artifactId: 'plan ü', tenantId: 'acme' },
    ]);
  });

  it('takes another scheme, and refuses one that is none', async () => {
    const { runtime } = host({ artifacts: [{ chatId: 'c', artifactId: 'a' }] });
    const [resource] = await adaptHarnessArtifacts(runtime, { scheme: 'my-app' });
    expect(resource).toMatchObject({ uri: 'my-app://artifact/c/a', name: 'a' });
    await expect(adaptHarnessArtifacts(runtime, { scheme: '1:' })).rejects.toThrow(/scheme/);
    await expect(adaptHarnessArtifacts(runtime, { other: 1 } as never)).rejects.toThrow(/other/);
    await expect(adaptHarnessArtifacts(runtime, { chatId: 1 as never })).rejects.toThrow(/chatId/);
    await expect(adaptHarnessArtifacts(undefined as never)).rejects.toThrow(TypeError);
  });

  it('lists nothing of a runtime without artifacts', async () => {
    expect(await adaptHarnessArtifacts({})).toEqual([]);
    expect(await adaptSandboxFiles({})).toEqual([]);
    expect(await adaptHarnessPrompts({})).toEqual([]);
  });

  it('leaves out what is no artifact, with a process warning', async () => {
    const warnings: string[] = [];
    const listener = (warning: Error): void => void warnings.push(warning.message);
    process.on('warning', listener);
    const { runtime } = host({
      artifacts: [null, { chatId: 1 }, { chatId: 'c' }, { chatId: 'c', artifactId: 'a' }] as never,
    });
    expect(await adaptHarnessArtifacts(runtime)).toMatchObject([{ uri: 'pleach://artifact/c/a' }]);
    await new Promise(setImmediate);
    process.off('warning', listener);
    expect(warnings.filter((text) => text.startsWith('an artifact is left out'))).toHaveLength(3);
  });
});

describe('adaptSandboxFiles', () => {
  const files: SandboxEntryLike[] = [
    { chatId: 'c', path: 'src/a b.md' },
    { chatId: 'c', path: 'logo.png', name: 'Logo', size: 3 },
    { chatId: 'c', path: 'data', mimeType: 'text/csv' },
    { chatId: 'c', path: 'unknown' },
  ];

  it('lists files by path, with MIME types in their order', async () => {
    const { runtime } = host({ files });
    expect(await adaptSandboxFiles(runtime)).toMatchObject([
      { uri: 'pleach://sandbox/c/src/a%20b.md', name: 'src/a b.md', mimeType: 'text/markdown' },
      { uri: 'pleach://sandbox/c/logo.png', name: 'Logo', mimeType: 'image/png', size: 3 },
      { mimeType: 'text/csv' },
      { mimeType: 'application/octet-stream' },
    ]);
    const mimeTypeResolver = ({ path }: SandboxEntryLike): string | undefined =>
      path === 'data' ? 'text/x-data' : undefined;
    expect(await adaptSandboxFiles(runtime, { mimeTypeResolver })).toMatchObject([
      { mimeType: 'text/markdown' },
      { mimeType: 'image/png' },
      { mimeType: 'text/x-data' },
      { mimeType: 'application/octet-stream' },
    ]);
  });

  it.each([
    ['bytes of a text type as text', 'a.md', { blob: Buffer.from('grün') }, { text: 'grün' }],
    ['base64 of a text type as text', 'a.md', { blob: Buffer.from('grün').toString('base64') }, { text: 'grün' }],
    [
      'bytes of another type as bytes',
      'a.png',
      { blob: Buffer.from('grün') },
      { blob: Buffer.from('grün').toString('base64') },
    ],
    ['bytes that are no text as bytes', 'a.md', { blob: Buffer.from([0xff, 0xfe]) }, { blob: '//4=' }],
    ['text as text', 'a.png', { text: 'x' }, { text: 'x' }],
  ])('reads %s', async (_, path, content, expected) => {
    const { runtime } = host({ files: [{ chatId: 'c', path }], content });
    const { client } = await served({ runtime }, (server) =>
      server.registerResources(() => adaptSandboxFiles(runtime)),
    );
    const { contents } = (await client.ask('resources/read', { uri: `pleach://sandbox/c/${path}` })) as {
      contents: object[];
    };
    expect(contents).toEqual([
      { uri: `pleach://sandbox/c/${path}`, mimeType: expect.any(String) as string, ...expected },
    ]);
  });

  it.each(['../etc/passwd', 'a/../../b', 'a\\..\\b', 'a\0b', '..'])(
    'does not read %j, and answers like for an unknown one',
    async (path) => {
      const { runtime, asked } = host({ files: [{ chatId: 'c', path }] });
      const { client } = await served({ runtime }, (server) =>
        server.registerResources(() => adaptSandboxFiles(runtime)),
      );
      const [resource] = await adaptSandboxFiles(runtime);
      asked.length = 0;
      expect((await client.request('resources/read', { uri: resource?.uri })).error?.code).toBe(-32002);
      expect(asked).toEqual([]);
    },
  );

  it('reads a path with dots in its names', async () => {
    const { runtime } = host({ files: [{ chatId: 'c', path: 'a..b/...md' }] });
    const { client } = await served({ runtime }, (server) =>
      server.registerResources(() => adaptSandboxFiles(runtime)),
    );
    expect(await client.ask('resources/read', { uri: 'pleach://sandbox/c/a..b/...md' })).toBeDefined();
  });
});

describe('the cache of listings', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it('has its published numbers', () => {
    expect([ADAPTER_RESOURCE_CACHE_TTL_MS, ADAPTER_RESOURCE_CACHE_MAX_KEYS]).toEqual([5000, 256]);
  });

  it('lets listings of one key share one call, and is one per runtime, tenant and chat', async () => {
    const one = host();
    const other = host();
    await Promise.all(Array.from({ length: 10 }, () => adaptHarnessArtifacts(one.runtime, { chatId: 'a' })));
    expect(one.asked).toHaveLength(1);
    await adaptHarnessArtifacts(one.runtime, { chatId: 'a', scheme: 'other' });
    expect(one.asked).toHaveLength(1);
    await adaptHarnessArtifacts(one.runtime, { chatId: 'b' });
    await adaptHarnessArtifacts(one.runtime, { tenantId: 'a' });
    await adaptHarnessArtifacts(one.runtime);
    await adaptSandboxFiles(one.runtime, { chatId: 'a' });
    expect(one.asked).toHaveLength(5);
    await adaptHarnessArtifacts(other.runtime, { chatId: 'a' });
    expect(other.asked).toHaveLength(1);
  });

  it('lasts five seconds after the host has answered', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const { runtime, asked } = host();
    await adaptHarnessArtifacts(runtime);
    vi.advanceTimersByTime(4999);
    await adaptHarnessArtifacts(runtime);
    expect(asked).toHaveLength(1);
    vi.advanceTimersByTime(1);
    await adaptHarnessArtifacts(runtime);
    expect(asked).toHaveLength(2);
  });

  it('keeps 256 keys, and lets go of the one that was used least recently', async () => {
    const { runtime, asked } = host();
    const list = (key: number): Promise<unknown> => adaptHarnessArtifacts(runtime, { chatId: `chat-${key}` });
    for (let key = 0; key < ADAPTER_RESOURCE_CACHE_MAX_KEYS; key += 1) await list(key);
    await list(0);
    expect(asked).toHaveLength(ADAPTER_RESOURCE_CACHE_MAX_KEYS);
    await list(ADAPTER_RESOURCE_CACHE_MAX_KEYS);
    await list(0);
    expect(asked).toHaveLength(ADAPTER_RESOURCE_CACHE_MAX_KEYS + 1);
    await list(1);
    expect(asked).toHaveLength(ADAPTER_RESOURCE_CACHE_MAX_KEYS + 2);
  });

  it('is not kept of a listing that failed', async () => {
    let fails = true;
    const runtime: RuntimeLike = {
      artifacts: {
        list: async () => {
          if (fails) throw new Error('broken');
          return [{ chatId: 'c', artifactId: 'a' }];
        },
        read: async () => ({ text: '' }),
      },
    };
    await expect(adaptHarnessArtifacts(runtime)).rejects.toThrow('broken');
    fails = false;
    expect(await adaptHarnessArtifacts(runtime)).toHaveLength(1);
  });

  it('is dropped for one runtime, and there for one tenant or chat', async () => {
    const { runtime, asked } = host();
    const other = host();
    const scopes = [{}, { chatId: 'a' }, { tenantId: 't', chatId: 'a' }, { tenantId: 't', chatId: 'b' }];
    const listAll = async (): Promise<number> => {
      asked.length = 0;
      for (const scope of scopes) await adaptHarnessArtifacts(runtime, scope);
      await adaptHarnessArtifacts(other.runtime);
      return asked.length;
    };
    expect(await listAll()).toBe(4);
    expect(await listAll()).toBe(0);
    refreshArtifactCache(runtime);
    expect(await listAll()).toBe(4);
    refreshArtifactCache(runtime, { tenantId: 't' });
    expect(await listAll()).toBe(2);
    refreshArtifactCache(runtime, { chatId: 'a' });
    expect(await listAll()).toBe(2);
    refreshArtifactCache(runtime, { tenantId: 't', chatId: 'a' });
    expect(await listAll()).toBe(1);
    refreshSandboxCache(runtime);
    refreshArtifactCache({ tools: { list: () => [] } });
    expect(await listAll()).toBe(0);
    expect(other.asked).toHaveLength(1);
  });

  it('is dropped in the older form for every runtime', async () => {
    const one = host();
    const other = host();
    const list = async (): Promise<void> => {
      for (const { runtime } of [one, other]) {
        await adaptSandboxFiles(runtime, { chatId: 'a' });
        await adaptSandboxFiles(runtime, { chatId: 'b' });
      }
    };
    await list();
    refreshSandboxCache({ chatId: 'a' });
    await list();
    expect([one.asked.length, other.asked.length]).toEqual([3, 3]);
    refreshSandboxCache();
    await list();
    expect([one.asked.length, other.asked.length]).toEqual([5, 5]);
  });

  it('does not come back from a listing that began before it was dropped', async () => {
    const answers: ((listed: ArtifactLike[]) => void)[] = [];
    const runtime: RuntimeLike = {
      artifacts: {
        list: () => new Promise((resolve) => void answers.push(resolve)),
        read: async () => ({ text: '' }),
      },
    };
    const before = adaptHarnessArtifacts(runtime);
    refreshArtifactCache(runtime);
    const after = adaptHarnessArtifacts(runtime);
    answers[1]?.([{ chatId: 'c', artifactId: 'new' }]);
    answers[0]?.([{ chatId: 'c', artifactId: 'old' }]);
    expect(await before).toMatchObject([{ name: 'old' }]);
    expect(await after).toMatchObject([{ name: 'new' }]);
    expect(await adaptHarnessArtifacts(runtime)).toMatchObject([{ name: 'new' }]);
  });
});

describe('adaptHarnessPrompts', () => {
  const prompts = [
    {
      name: 'greet',
      title: 'Greet',
      description: 'Greets.',
      arguments: [{ name: 'who', required: true }],
      render: ({ who }: Record<string, string>) => `Hello ${who}.`,
    },
    {
      name: 'long',
      render: async () => ({ description: 'd', messages: [{ role: 'assistant' as const, content: 'Hi.' }] }),
    },
  ];

  it.each([
    ['a list', prompts],
    ['what lists them', { list: () => prompts }],
    ['what lists them in time', { list: async () => prompts }],
  ])('projects each contribution of %s', async (_, contributed) => {
    const runtime: RuntimeLike = { prompts: contributed };
    const { client } = await served({ runtime }, (server) =>
      server.registerPrompts(() => adaptHarnessPrompts(runtime)),
    );
    expect(await client.ask('prompts/list')).toEqual({
      prompts: [
        { name: 'greet', title: 'Greet', description: 'Greets.', arguments: [{ name: 'who', required: true }] },
        { name: 'long' },
      ],
    });
    expect(await client.ask('prompts/get', { name: 'greet', arguments: { who: 'you' } })).toEqual({
      messages: [{ role: 'user', content: { type: 'text', text: 'Hello you.' } }],
    });
    expect(await client.ask('prompts/get', { name: 'long' })).toEqual({
      description: 'd',
      messages: [{ role: 'assistant', content: { type: 'text', text: 'Hi.' } }],
    });
  });
});
