// Starts `bench/peers/http-echo` from inside a measured process. It ends with that process, or when it is closed.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** Resolves once the servers listen: their URLs, and `close()`, after which their account of themselves is written. */
export async function startHttpEcho({ command, args }) {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const closed = once(child, 'close');
  const [line] = await Promise.race([
    once(createInterface({ input: child.stdout }), 'line'),
    closed.then(() => Promise.reject(new Error('http-echo ended before it listened'))),
  ]);
  return {
    urls: JSON.parse(line),
    async close() {
      child.stdin.end();
      await closed;
    },
  };
}
