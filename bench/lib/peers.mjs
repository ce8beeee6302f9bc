// Builds the native programs that answer or that make the load: small crates under `bench/peers`.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { must } from '../../scripts/lib/run.mjs';

const PEERS = fileURLToPath(new URL('../peers/', import.meta.url));

/** Builds `bench/peers/<name>` where it is not up to date; returns the path of its program. */
export async function buildPeer(name, log) {
  const folder = join(PEERS, name);
  const target = join(folder, 'target');
  const program = join(target, 'release', process.platform === 'win32' ? `${name}.exe` : name);
  if (!existsSync(program)) log(`building the peer ${name} (cargo, a few seconds)`);
  const manifest = join(folder, 'Cargo.toml');
  await must('cargo', [
    'build',
    '--release',
    '--locked',
    '--quiet',
    '--manifest-path',
    manifest,
    '--target-dir',
    target,
  ]);
  return program;
}
