// The MCP Inspector, whose command line the tests drive servers with. It is an npm package of a small manifest of its own: it
// needs a newer Node than the package, and its dependencies are none of ours.

import { join } from 'node:path';
import { ensurePackages } from './ensure.mjs';
import { root } from './run.mjs';
import { runtimes } from './runtimes.mjs';

const folder = join(root, '__test__/inspector/install');

/** Installs the Inspector if it is missing. Its command line is a program with arguments; undefined where no Node runs it. */
export async function inspector() {
  await ensurePackages({ folder, what: 'the MCP Inspector', args: ['--ignore-scripts'] });
  const recent = (await runtimes()).find(({ id }) => id === 'node24')?.command;
  if (recent === undefined) return undefined;
  return [
    recent,
    join(folder, 'node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js'),
    '--cli',
  ];
}
