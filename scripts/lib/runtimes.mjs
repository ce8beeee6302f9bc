// The other JavaScript runtimes that the built package is tried under. They are npm packages of their own small manifest,
// kept out of the root `node_modules` so that `node` in an npm script stays the user's own. The manifest has a folder to itself:
// beside the smoke it would be the smoke's own package, and `espalier` would not resolve from there.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensurePackages } from './ensure.mjs';
import { root, run } from './run.mjs';

const folder = join(root, '__test__/runtimes');
const installFolder = join(folder, 'install');

/** Installs the runtimes if they are missing, and lists them: `command` is undefined where no build exists for this system. */
export async function runtimes() {
  await ensurePackages({
    folder: installFolder,
    what: 'Bun and Node 24 for the smoke tests',
    args: ['--ignore-scripts'],
  });
  return [
    { id: 'this', name: 'this Node', command: process.execPath },
    { id: 'node24', name: 'Node 24', command: installed('node'), missing: 'no build of it on npm for this system' },
    { id: 'bun', name: 'Bun', command: installed('bun'), missing: 'no build of it on npm for this system' },
  ];
}

/** Runs the smoke under one runtime: an exit code. A run that does not end by itself is stopped, and has failed. */
export async function smoke({ command }) {
  const { code, signal, output } = await run(command, [join(folder, 'smoke.mjs')], { timeoutMs: 30_000 });
  if (signal !== null) process.stderr.write(`the smoke did not end by itself and was stopped (${signal})\n`);
  return code === 0 && /^smoke ok /m.test(output) ? 0 : 1;
}

function installed(program) {
  const { optionalDependencies } = JSON.parse(readFileSync(join(installFolder, 'package.json'), 'utf8'));
  const suffix = process.platform === 'win32' ? '.exe' : '';
  return Object.keys(optionalDependencies)
    .filter((name) => (program === 'bun' ? name.startsWith('@oven/') : name.startsWith('node-')))
    .map((name) => join(installFolder, 'node_modules', name, 'bin', `${program}${suffix}`))
    .find((path) => existsSync(path));
}
