import { fileURLToPath } from 'node:url';

import { started } from './official.js';
import type { Target } from './official-clients.js';

const file = fileURLToPath(new URL('../fixtures/served/full.mjs', import.meta.url));

/** Our own server with something of everything, as a program of its own: what reaches it over a transport. */
export async function fullServer(
  transport: 'stdio' | 'http' | 'sse',
  env: Record<string, string> = {},
): Promise<Target> {
  if (transport === 'stdio') return { command: process.execPath, args: [file, 'stdio'] };
  const url = await started(process.execPath, [file, transport], env);
  return transport === 'sse' ? { sse: url } : { url };
}
