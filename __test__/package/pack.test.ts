import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { entryPoints, pack, root, type Packed } from './packed.js';

describe('the packed package', () => {
  let packed: Packed;

  beforeAll(async () => {
    packed = await pack();
  }, 120_000);
  afterAll(() => packed?.remove());

  it('holds the facade, its types and the loader, and nothing else', () => {
    const top = packed.files.filter((path) => !path.startsWith('dist/')).toSorted();
    expect(top).toEqual([
      'LICENSE',
      'LICENSE-APACHE',
      'LICENSE-MIT',
      'README.md',
      'index.d.ts',
      'native/binding.cjs',
      'native/binding.d.cts',
      'package.json',
    ]);
    expect(packed.files).toEqual(expect.arrayContaining(['dist/index.js', 'dist/node.js', 'dist/server.js']));
    expect(packed.files.filter((path) => path.startsWith('dist/') && !/\.(js|d\.ts)$/.test(path))).toEqual([]);
  });

  it('has every file that its export map names', async () => {
    const { exports } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
      exports: Record<string, string | Record<string, string>>;
    };
    const named = Object.values(exports).flatMap((entry) =>
      typeof entry === 'string' ? [entry] : Object.values(entry),
    );
    expect(named.filter((path) => !packed.files.includes(path.replace('./', '')))).toEqual([]);
  });

  it('loads from a folder of its own and drives a server', async () => {
    const smoke = await readFile(join(root, '__test__/runtimes/smoke.mjs'), 'utf8');
    const { code, stdout, stderr } = await packed.run(smoke);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^smoke ok node /m);
  }, 60_000);

  it('holds nothing by being imported', async () => {
    const entries = entryPoints.map((name) => `import '${name}';`);
    const { code, stderr } = await packed.run(entries.join('\n'), { name: 'import.mjs' });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  }, 60_000);
});
