// The checks that are not tests: one table, so that `npm run lint` and the gate run the same ones. Each check returns an exit code.

import { run, runBin } from './run.mjs';
import { cargoDeny, typos } from './tools.mjs';

/** Crates that are not the addon, each with a manifest of its own. */
export const sideCrates = [
  'fuzz',
  'bench/peers/line-echo',
  'bench/peers/http-echo',
  'bench/peers/load',
  'bench/peers/rmcp-server',
];

const denyWarnings = ['--', '-D', 'warnings'];
const cargo = async (...args) => (await run('cargo', args)).code;
const bin = async (name, args, options) => (await runBin(name, args, options)).code;

/** Checks that read sources alone; cheap ones first. */
export const sourceChecks = [
  { name: 'one version', run: async () => (await run(process.execPath, ['scripts/versions.mjs'])).code },
  { name: 'rustfmt', run: () => cargo('fmt', '--', '--check') },
  ...sideCrates.map((folder) => ({
    name: `rustfmt of ${folder}`,
    run: () => cargo('fmt', '--manifest-path', `${folder}/Cargo.toml`, '--', '--check'),
  })),
  { name: 'oxfmt', run: () => bin('oxfmt', ['--check']) },
  { name: 'typos', run: async () => (await run(await typos(), ['--format', 'brief'])).code },
  {
    name: 'clippy without node',
    run: () => cargo('clippy', '--all-targets', '--no-default-features', ...denyWarnings),
  },
  { name: 'clippy with node', run: () => cargo('clippy', ...denyWarnings) },
  {
    name: 'the pure modules without tokio (cargo check of fuzz/)',
    run: () => cargo('check', '--manifest-path', 'fuzz/Cargo.toml', '--all-targets'),
  },
  ...['line-echo', 'http-echo', 'load'].map((peer) => ({
    name: `clippy of bench/peers/${peer}`,
    run: () => cargo('clippy', '--manifest-path', `bench/peers/${peer}/Cargo.toml`, '--all-targets', ...denyWarnings),
  })),
];

/** Checks that know the types, and so need the built facade. */
export const typedChecks = [
  {
    name: 'oxlint',
    run: () => bin('oxlint', ['--type-aware', '--deny-warnings', '--report-unused-disable-directives']),
  },
];

/** Checks of the package as it would be published, and of what it depends on. */
export const packageChecks = [
  { name: 'publint', run: () => bin('publint', ['--strict']) },
  {
    name: 'attw',
    run: () => bin('@arethetypeswrong/cli', ['--pack', '.', '--profile', 'esm-only', '--no-emoji'], { bin: 'attw' }),
  },
  { name: 'knip', run: () => bin('knip', []) },
  {
    name: 'cargo-deny',
    run: async () =>
      (await run(await cargoDeny(), ['--log-level', 'error', 'check', 'licenses', 'bans', 'sources'])).code,
  },
];
