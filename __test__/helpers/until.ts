import { setTimeout as sleep } from 'node:timers/promises';

/** Polls until `read` gives something other than `undefined` or `false`, and gives that; fails after `deadlineMs`. */
export async function until<T>(
  what: string,
  read: () => T | undefined | false | Promise<T | undefined | false>,
  deadlineMs = 10_000,
): Promise<T> {
  const deadline = performance.now() + deadlineMs;
  for (;;) {
    const value = await read();
    if (value !== undefined && value !== false) return value;
    if (performance.now() > deadline) throw new Error(`waited ${deadlineMs} ms in vain for ${what}`);
    await sleep(10);
  }
}

/** Runs `work` and gives what it resolved to, with how many milliseconds it took. */
export async function timed<T>(work: () => Promise<T>): Promise<{ value: T; ms: number }> {
  const begin = performance.now();
  const value = await work();
  return { value, ms: performance.now() - begin };
}

/**
 * Polls without letting anything else of this thread run: what comes for it meanwhile waits, and then comes in one piece.
 * Fails after `deadlineMs`.
 */
export function blockUntil(what: string, read: () => boolean, deadlineMs = 10_000): void {
  const deadline = performance.now() + deadlineMs;
  const nothing = new Int32Array(new SharedArrayBuffer(4));
  while (!read()) {
    // The thread stays blocked, and leaves its processor to the others.
    Atomics.wait(nothing, 0, 0, 5);
    if (performance.now() > deadline) throw new Error(`blocked ${deadlineMs} ms in vain for ${what}`);
  }
}
