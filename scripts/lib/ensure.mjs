// Makes what a script needs and nothing more: npm packages, the addon, the facade. Each part has a stamp that names the
// inputs it was made from, so that a run with nothing to do costs the reading of the sources. Says what it does while it does it.

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { Complaint, duration, must, npmCommand, packageBin, root, say, withHeartbeat, works } from './run.mjs';

/**
 * Everything that a script needs to run the built package. `profile` is what gets built when something is missing or
 * stale: an up-to-date `release` addon also serves where `fast` is asked for, never the other way round.
 */
export async function ensure({ profile = 'fast', force = false } = {}) {
  checkNode();
  await ensurePackages();
  await ensureAddon({ profile, force });
  await ensureFacade({ force });
}

/** Refuses a Node on which the package itself would not run. */
export function checkNode(version = process.versions.node) {
  const [major, minor] = version.split('.').map(Number);
  const fine = (major === 20 && minor >= 19) || (major === 22 && minor >= 12) || major > 22;
  if (!fine) {
    throw new Complaint(
      `Node ${version} is too old for espalier: install Node 20.19 or later, or 22.12 or later (https://nodejs.org)`,
    );
  }
}

/** Refuses a machine without Rust, before a long build fails in the middle. */
export async function checkRust() {
  if (await works('cargo', ['--version'])) return;
  throw new Complaint(
    'cargo was not found: the native part is built from source and needs a Rust toolchain (https://rustup.rs)',
  );
}

/** Installs exactly what the lock file says into `folder`, if that has not been done since the lock file changed. */
export async function ensurePackages({ folder = root, what = 'npm packages', args = [] } = {}) {
  const wanted = digest([join(folder, 'package-lock.json')]);
  const stamp = join(folder, 'node_modules', '.espalier-stamp');
  if (read(stamp) === wanted) return;
  if (installedAsLocked(folder)) {
    writeFileSync(stamp, wanted);
    return;
  }
  say(`> installing ${what} (npm ci)`);
  const started = Date.now();
  const [npm, first] = npmCommand();
  await withHeartbeat(`installing ${what}`, () =>
    must(npm, [...first, 'ci', '--no-audit', '--no-fund', ...args], { cwd: folder }),
  );
  writeFileSync(stamp, wanted);
  say(`  installed in ${duration(Date.now() - started)}`);
}

/** True when somebody's own `npm ci` or `npm install` has left just what the lock file says. */
function installedAsLocked(folder) {
  const locked = parse(read(join(folder, 'package-lock.json')))?.packages;
  const found = parse(read(join(folder, 'node_modules', '.package-lock.json')))?.packages;
  if (locked === undefined || found === undefined) return false;
  return Object.entries(locked).every(([path, { version, optional }]) => {
    if (path === '') return true;
    return found[path] === undefined ? optional === true : found[path].version === version;
  });
}

/** Builds `native/espalier.<platform>.node` and its generated loader when their inputs changed. */
export async function ensureAddon({ profile = 'fast', force = false } = {}) {
  const stampPath = join(root, 'native', '.addon-stamp.json');
  const inputs = digest(addonInputs(), [napiPart(), `${process.platform}-${process.arch}`]);
  const stamp = parse(read(stampPath));
  const good =
    !force &&
    stamp?.inputs === inputs &&
    (stamp.profile === profile || (profile === 'fast' && stamp.profile === 'release')) &&
    existsSync(join(root, 'native/binding.cjs')) &&
    existsSync(join(root, 'native/binding.d.cts')) &&
    stamp.binary === binaryState();
  if (good) return;
  await checkRust();
  say(`> building the native addon (profile ${profile}; the first time this takes minutes)`);
  const started = Date.now();
  rmSync(stampPath, { force: true });
  const [command, first] = packageBin('@napi-rs/cli', 'napi');
  await withHeartbeat(
    'building the native addon',
    () => must(command, [...first, 'build', ...napiBuildArgs(profile)], { env: { CARGO_TERM_PROGRESS_WHEN: 'never' } }),
    30_000,
  );
  write(stampPath, { profile, inputs, binary: binaryState() });
  say(`  addon built in ${duration(Date.now() - started)}`);
}

function napiBuildArgs(profile) {
  return [
    '--platform',
    '--output-dir',
    'native',
    '--js',
    'binding.cjs',
    '--dts',
    'binding.d.cts',
    '--no-const-enum',
    '--no-dts-cache',
    '--profile',
    profile,
  ];
}

/** Compiles `src-js/` to `dist/` when its inputs changed. */
export async function ensureFacade({ force = false } = {}) {
  const stampPath = join(root, 'native', '.facade-stamp.json');
  const out = join(root, 'dist');
  const inputs = digest([
    ...files('src-js'),
    join(root, 'tsconfig.json'),
    join(root, 'package.json'),
    join(root, 'native/binding.d.cts'),
    join(root, 'node_modules/typescript/package.json'),
  ]);
  const stamp = parse(read(stampPath));
  if (!force && stamp?.inputs === inputs && existsSync(out) && stamp.outputs === digest(files('dist'))) return;
  say('> compiling the TypeScript facade');
  rmSync(stampPath, { force: true });
  rmSync(out, { recursive: true, force: true });
  const [command, first] = packageBin('typescript', 'tsc');
  await must(command, [...first, '-p', 'tsconfig.json']);
  write(stampPath, { inputs, outputs: digest(files('dist')) });
}

/** A program of a folder with a manifest of its own, built for tests; cargo knows whether there is anything to do. */
export async function ensureCargoBuild(folder, what) {
  await checkRust();
  await withHeartbeat(`building ${what}`, () =>
    must('cargo', ['build', '--locked', '--quiet', '--target-dir', 'target'], { cwd: join(root, folder) }),
  );
}

/** The profile of the addon that lies in `native/`, for scripts that print it. */
export function builtProfile() {
  return parse(read(join(root, 'native', '.addon-stamp.json')))?.profile;
}

/** Every file below a folder of the repository, in a stable order; dot files are stamps and editor litter. */
export function files(folder) {
  const base = join(root, folder);
  if (!existsSync(base)) return [];
  return readdirSync(base, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.startsWith('.'))
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted();
}

/** One digest over names and contents. A missing file counts, as missing. */
function digest(paths, texts = []) {
  const hash = createHash('sha256');
  for (const path of paths) {
    hash.update(`${relative(root, path).split(sep).join('/')}\0`);
    hash.update(existsSync(path) ? readFileSync(path) : 'missing');
    hash.update('\0');
  }
  for (const text of texts) hash.update(`${text}\0`);
  return hash.digest('hex');
}

/** True when a command line tool of cargo's is there, as in `cargo nextest`. */
export function hasCargoTool(name) {
  return works('cargo', [name, '--version']);
}

/** The program and first arguments that run the Rust tests: nextest where it is installed, cargo's own otherwise. */
export async function rustTestCommand() {
  return (await hasCargoTool('nextest')) ? ['nextest', 'run'] : ['test'];
}

function addonInputs() {
  return [...files('src'), ...['Cargo.toml', 'Cargo.lock', 'build.rs'].map((name) => join(root, name))];
}

/** What the generated loader depends on outside the Rust sources. */
function napiPart() {
  const { name, version, napi } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const cli = JSON.parse(readFileSync(join(root, 'node_modules/@napi-rs/cli/package.json'), 'utf8')).version;
  return JSON.stringify({ name, version, napi, cli });
}

/** Size and time of the built addons, so that one built by hand or deleted is noticed. */
function binaryState() {
  const folder = join(root, 'native');
  if (!existsSync(folder)) return '';
  return readdirSync(folder)
    .filter((name) => name.endsWith('.node'))
    .toSorted()
    .map((name) => {
      const { size, mtimeMs } = statSync(join(folder, name));
      return `${name} ${size} ${mtimeMs}`;
    })
    .join('\n');
}

function read(path) {
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
}

function parse(text) {
  try {
    return text && JSON.parse(text);
  } catch {
    return undefined;
  }
}

function write(path, value) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`);
}
