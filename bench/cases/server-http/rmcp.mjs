// Subject: the official Rust SDK, in a process of its own, which is measured in place of this one.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

export async function start({ rmcp: { command, args } }) {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const closed = once(child, 'close');
  const [url] = await Promise.race([
    once(createInterface({ input: child.stdout }), 'line'),
    closed.then(() => Promise.reject(new Error('rmcp-server ended before it listened'))),
  ]);
  return {
    info: { url },
    pid: child.pid,
    async close() {
      child.stdin.end();
      await closed;
    },
  };
}
