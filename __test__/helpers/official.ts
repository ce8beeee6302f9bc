import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { onTestFinished } from 'vitest';

const root = new URL('../../', import.meta.url);
const rmcpFolder = fileURLToPath(new URL('bench/peers/rmcp-server/', root));

/** Starts a server on the official TypeScript SDK for the running test, and gives its origin. */
export function sdkServer(version: 'v1', mode: 'stateful' | 'stateless' | 'sse'): Promise<string>;
export function sdkServer(version: 'v2', mode: 'both' | 'stateless'): Promise<string>;
export function sdkServer(version: string, mode: string): Promise<string> {
  return started(process.execPath, [
    fileURLToPath(new URL(`../fixtures/official/${version}.mjs`, import.meta.url)),
    mode,
  ]);
}

/** Starts the server on the official Rust SDK for the running test, and gives its address. */
export function rmcpServer(mode: 'session' | 'stateless' | 'both'): Promise<string> {
  const program = `${rmcpFolder}target/debug/rmcp-server${process.platform === 'win32' ? '.exe' : ''}`;
  if (!existsSync(program)) throw new Error('the server is not built: buildRmcpServer() comes first');
  return started(program, [mode]);
}

/** Builds that server, which takes a minute or two the first time; `npm test` has done it before. */
export async function buildRmcpServer(): Promise<void> {
  const child = spawn('cargo', ['build', '--locked', '--quiet', '--target-dir', 'target'], {
    cwd: rmcpFolder,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  if (code !== 0) throw new Error(`cargo build of rmcp-server failed:\n${stderr}`);
}

/** The first line that a program prints. It serves until its standard input ends. */
export function started(command: string, args: string[], env: Record<string, string> = {}): Promise<string> {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'], env: { ...process.env, ...env } });
  onTestFinished(() => {
    child.stdin.end();
    child.kill('SIGKILL');
  });
  return new Promise((resolve, reject) => {
    let printed = '';
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      printed += chunk;
      if (printed.includes('\n')) resolve(printed.trim());
    });
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`${args.join(' ')} ended with ${code}`)));
  });
}
