// What a user's function throws changes nothing else, and is reported as a process warning.

import { describe } from '../describe.js';

/** Calls a user's function, which may throw, or reject. */
export function guarded(name: string, call: () => unknown): void {
  try {
    const result = call();
    if (isThenable(result)) Promise.resolve(result).catch((error: unknown) => report(name, error));
  } catch (error) {
    report(name, error);
  }
}

export function report(name: string, thrown: unknown): void {
  warn(`${name} threw: ${describe(thrown)}`);
}

export function warn(text: string): void {
  try {
    process.emitWarning(text, 'EspalierWarning');
  } catch {
    // Somebody replaced the function that reports, and theirs throws: there is nobody left to tell.
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}
