import { existsSync, readdirSync, readFileSync } from 'node:fs';

import { until } from './until.js';

/** Whether a process runs. A zombie does not: it is only waiting to be reaped. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  if (!existsSync('/proc/self')) return true;
  return state(pid) !== 'Z';
}

/** Waits until none of `pids` runs any more. */
export async function allGone(pids: readonly number[], deadlineMs = 10_000): Promise<void> {
  await until(`the end of processes ${pids.join(', ')}`, () => pids.every((pid) => !isAlive(pid)), deadlineMs);
}

/** The running processes whose parent is `parent`, by `/proc`. */
export function childrenOf(parent: number): number[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number)
    .filter((pid) => parentOf(pid) === parent && state(pid) !== 'Z');
}

/** The watchdogs that a process has started. */
export function watchdogsOf(host: number): number[] {
  return childrenOf(host).filter((pid) => commandLine(pid).includes('espalier-watchdog'));
}

/** The running processes that were given `argument`, by `/proc`. */
export function withArgument(argument: string): number[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number)
    .filter((pid) => commandLine(pid).includes(argument) && state(pid) !== 'Z');
}

function commandLine(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  } catch {
    return [];
  }
}

function state(pid: number): string | undefined {
  return stat(pid)?.[0];
}

function parentOf(pid: number): number | undefined {
  const parent = stat(pid)?.[1];
  return parent === undefined ? undefined : Number(parent);
}

// The fields behind the command, which is in brackets and may itself hold brackets and blanks.
function stat(pid: number): string[] | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}
