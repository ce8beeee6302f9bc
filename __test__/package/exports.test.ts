import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { entryPoints, root } from './packed.js';

const execute = promisify(execFile);

describe('the export map', () => {
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'espalier-exports-'));
    await mkdir(join(folder, 'node_modules'));
    await symlink(root, join(folder, 'node_modules/espalier'), 'junction');
    await writeFile(join(folder, 'package.json'), JSON.stringify({ type: 'module' }));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it.each(entryPoints)(
    'gives %j the same names at run time as in its types',
    async (name) => {
      const runtime = Object.keys((await import(name)) as object);
      // An object literal of an exact record: the compiler names each name that only one side has.
      const file = `${name.replace('/', '-')}.ts`;
      const members = runtime.map((key) => `${JSON.stringify(key)}: true`).join(', ');
      await writeFile(
        join(folder, file),
        `export const names: Record<keyof typeof import('${name}'), true> = { ${members} };\n`,
      );
      expect(await compile(folder, file)).toBe('');
      expect(runtime).not.toContain('default');
    },
    60_000,
  );

  it('gives the root and the node entry the same names', async () => {
    expect(Object.keys(await import('espalier/node')).toSorted()).toEqual(
      Object.keys(await import('espalier')).toSorted(),
    );
  });

  it('gives the manifest, and no file that it does not name', async () => {
    const manifest = (await import('espalier/package.json', { with: { type: 'json' } })) as {
      default: { name: string };
    };
    expect(manifest.default.name).toBe('espalier');
    const inner = 'espalier/native/binding.cjs';
    await expect(
      execute(process.execPath, ['--input-type=module', '-e', `await import('${inner}')`], { cwd: folder }),
    ).rejects.toThrow('ERR_PACKAGE_PATH_NOT_EXPORTED');
  });
});

/** What the compiler has to say about one file; nothing is the good answer. */
async function compile(folder: string, file: string): Promise<string> {
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2023', '--skipLibCheck', 'false'];
  const types = [
    '--lib',
    'es2023,esnext.disposable',
    '--types',
    'node',
    '--typeRoots',
    join(root, 'node_modules/@types'),
  ];
  try {
    await execute(process.execPath, [tsc, ...options, ...types, file], { cwd: folder });
    return '';
  } catch (error) {
    const { stdout, message } = error as { stdout?: string; message: string };
    return stdout === undefined || stdout === '' ? message : stdout;
  }
}
