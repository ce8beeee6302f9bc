import type { TestContext } from 'vitest';

import { program } from './programs.js';

/**
 * Runs a program under a Node of 22 or later, which some frameworks ask for, and gives the JSON that it prints as `result`.
 * Skips the test where npm has no such Node for this system.
 */
export async function underNewerNode(context: TestContext, source: string, input: unknown): Promise<unknown> {
  const node = await newerNode();
  if (node === undefined) return context.skip('no build of Node 24 on npm for this system');
  return program(source, { input, node }).says('result', 60_000);
}

async function newerNode(): Promise<string | undefined> {
  if (Number.parseInt(process.versions.node, 10) >= 22) return process.execPath;
  const { runtimes } = (await import('../../scripts/lib/runtimes.mjs')) as {
    runtimes: () => Promise<{ id: string; command: string | undefined }[]>;
  };
  return (await runtimes()).find(({ id }) => id === 'node24')?.command;
}
