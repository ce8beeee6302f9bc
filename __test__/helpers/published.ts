import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

import type { StdioConfig } from './servers.js';

const require = createRequire(import.meta.url);

/** A configuration of one of the servers that the protocol's own project publishes, found through its package. */
export function publishedServer(
  name: 'everything' | 'filesystem' | 'memory',
  { args = [], ...more }: Partial<StdioConfig> = {},
): StdioConfig {
  const manifest = require.resolve(`@modelcontextprotocol/server-${name}/package.json`);
  const { bin } = JSON.parse(readFileSync(manifest, 'utf8')) as { bin: Record<string, string> };
  const [program] = Object.values(bin);
  if (program === undefined) throw new Error(`server-${name} has no program`);
  return {
    type: 'stdio',
    name,
    command: process.execPath,
    args: [path.join(path.dirname(manifest), program), ...args],
    ...more,
  };
}
