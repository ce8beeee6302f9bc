// The package as npm would publish it, installed into a temporary folder. The platform package is made from its committed
// manifest and the addon that lies in `native/`, as the release does it.

import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, posix } from 'node:path';
import { promisify } from 'node:util';

import published from '../../package.json' with { type: 'json' };

const execute = promisify(execFile);

export const root: string = join(import.meta.dirname, '../..');

/** What programs can import. */
export const entryPoints: string[] = Object.keys(published.exports)
  .filter((entry) => !entry.endsWith('.json'))
  .map((entry) => posix.join('espalier', entry));

export interface Packed {
  /** Folder whose `node_modules` holds the installed package. */
  readonly folder: string;
  /** Paths inside the tarball. */
  readonly files: readonly string[];
  /** Runs a program text in that folder, under the Node at hand. */
  run(text: string, options?: { name?: string }): Promise<{ code: number; stdout: string; stderr: string }>;
  remove(): Promise<void>;
}

/** Packs and installs; `platform: false` leaves the platform package out, as `npm install --omit=optional` does. */
export async function pack({ platform = true }: { platform?: boolean } = {}): Promise<Packed> {
  const folder = await mkdtemp(join(tmpdir(), 'espalier-pack-'));
  const { stdout } = await npm(['pack', '--json', '--ignore-scripts', '--pack-destination', folder], root);
  const [tarball] = JSON.parse(stdout) as [{ filename: string; files: { path: string }[] }];
  await writeFile(join(folder, 'package.json'), JSON.stringify({ name: 'consumer', private: true }));
  const flags = ['--offline', '--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock'];
  await npm(['install', ...flags, join(folder, tarball.filename)], folder);
  if (platform) await installPlatformPackage(folder);
  return {
    folder,
    files: tarball.files.map((file) => file.path),
    run: async (text, { name = 'program.mjs' } = {}) => {
      const program = join(folder, name);
      await writeFile(program, text);
      return node([program], folder);
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

/** The name of the platform package that this system needs, by the file that was built for it. */
export async function builtPlatform(): Promise<string> {
  const built = (await readdir(join(root, 'native'))).find((name) => name.endsWith('.node'));
  if (built === undefined) throw new Error('no addon in native/: run `npm run build:fast`');
  return built.slice('espalier.'.length, -'.node'.length);
}

/** Runs Node on a file, to its end. A non-zero exit is a result. */
async function node(args: readonly string[], cwd: string): Promise<{ code: number; stdout: string; stderr: string }> {
  const env = { ...process.env, NODE_OPTIONS: '' };
  try {
    return { code: 0, ...(await execute(process.execPath, [...args], { cwd, env, timeout: 60_000 })) };
  } catch (error) {
    const failed = error as { code?: unknown; stdout?: string; stderr?: string };
    if (typeof failed.code !== 'number') throw error;
    return { code: failed.code, stdout: failed.stdout ?? '', stderr: failed.stderr ?? '' };
  }
}

async function installPlatformPackage(folder: string): Promise<void> {
  const platform = await builtPlatform();
  const manifest = join(root, 'npm', platform, 'package.json');
  const { name, main } = JSON.parse(await readFile(manifest, 'utf8')) as { name: string; main: string };
  const target = join(folder, 'node_modules', name);
  await mkdir(target, { recursive: true });
  await cp(manifest, join(target, 'package.json'));
  await cp(join(root, 'native', main), join(target, main));
}

function npm(args: readonly string[], cwd: string): Promise<{ stdout: string; stderr: string }> {
  const own = process.env['npm_execpath'];
  const cli = join(dirname(process.execPath), 'node_modules/npm/bin/npm-cli.js');
  const [command, first] = own?.endsWith('.js')
    ? [process.execPath, [own]]
    : process.platform === 'win32'
      ? [process.execPath, [cli]]
      : ['npm', []];
  return execute(command, [...first, ...args], { cwd, maxBuffer: 16 * 1024 * 1024 });
}
