// Finds the program of an MCP server that is installed as an npm package, so that it starts without npx and without a network.

import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');

/** The version of an installed package, and how to start its program with the Node that runs us. */
export function installedServer(packageName) {
  const folder = join(root, 'node_modules', packageName);
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const file = typeof manifest.bin === 'string' ? manifest.bin : Object.values(manifest.bin)[0];
  return { version: manifest.version, launch: { command: process.execPath, args: [join(folder, file)] } };
}
