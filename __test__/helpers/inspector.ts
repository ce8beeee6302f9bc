import { spawn } from 'node:child_process';
import path from 'node:path';

import { onTestFinished, type TestContext } from 'vitest';

import { workspace } from './workspace.js';

/**
 * Runs the command line of the MCP Inspector, and gives the JSON that it prints: what the server answered. Skips the test
 * where no Node runs the Inspector.
 */
export async function inspect(context: TestContext, ...args: string[]): Promise<unknown> {
  const { inspector } = (await import('../../scripts/lib/inspector.mjs')) as {
    inspector: () => Promise<[string, ...string[]] | undefined>;
  };
  const command = await inspector();
  if (command === undefined) return context.skip('no build of Node 24 on npm for this system');
  const [program, ...first] = command;
  const folder = workspace();
  const child = spawn(program, [...first, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    // What it keeps between runs must not come from, or stay in, the home of whoever runs the tests.
    env: { ...process.env, HOME: folder, USERPROFILE: folder, MCP_CATALOG_PATH: path.join(folder, 'catalog.json') },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const code = await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  if (code !== 0) throw new Error(`the Inspector ended with ${String(code)}: ${stdout}${stderr}`);
  return JSON.parse(stdout) as unknown;
}
