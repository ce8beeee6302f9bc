// While a server speaks over the process's standard output, anything else that JavaScript writes there would break its
// messages, and goes to standard error instead.

import { Console } from 'node:console';
import type { Method } from './check.js';

/** What of a console writes to standard output. */
const METHODS = [
  'log',
  'info',
  'debug',
  'dir',
  'dirxml',
  'table',
  'group',
  'groupCollapsed',
  'count',
  'timeEnd',
  'timeLog',
] as const satisfies readonly (keyof Console)[];

type Restore = () => void;

/** Standard output for one server. */
export interface StdoutGuard {
  /** Writes past the guard. */
  readonly write: (text: string) => boolean;
  /** Gives standard output back; once. */
  release(): void;
}

let guards = 0;
let redirection: { write: (text: string) => boolean; restore: Restore } | undefined;

/** Turns standard output over to a server. */
export function guardStdout(): StdoutGuard {
  guards += 1;
  redirection ??= redirect();
  const { write } = redirection;
  let isGuarding = true;
  return {
    write,
    release() {
      if (!isGuarding) return;
      isGuarding = false;
      guards -= 1;
      if (guards > 0) return;
      redirection?.restore();
      redirection = undefined;
    },
  };
}

function redirect(): NonNullable<typeof redirection> {
  const { stdout, stderr } = process;
  const write: (chunk: string | Uint8Array, ...rest: never[]) => boolean = stdout.write.bind(stdout);
  // Whoever has put theirs around this function goes on to call it when the guard is gone.
  const elsewhere = (chunk: string | Uint8Array, ...rest: never[]): boolean =>
    redirection === undefined ? write(chunk, ...rest) : stderr.write(chunk, ...rest);
  const restores = [replace(stdout, 'write', elsewhere)];
  // Node's console writes through the stream, which is enough. Bun's does not.
  if (process.versions['bun'] !== undefined) {
    const redirected = new Console(stderr, stderr);
    for (const method of METHODS) {
      const member = (...args: unknown[]): void =>
        Reflect.apply(redirected[method] as Method, redirected, args) as void;
      restores.push(replace(console, method, member));
    }
  }
  const restore = (): void => {
    for (const undo of restores) undo();
  };
  return { write, restore };
}

/** Puts a member in the place of another. It is taken out again unless somebody put theirs there meanwhile. */
function replace<Target extends object, Key extends keyof Target>(
  target: Target,
  key: Key,
  member: Target[Key],
): Restore {
  const descriptor = Object.getOwnPropertyDescriptor(target, key);
  Object.defineProperty(target, key, { value: member, configurable: true, enumerable: false, writable: true });
  return () => {
    if (target[key] !== member) return;
    if (descriptor === undefined) delete target[key];
    else Object.defineProperty(target, key, descriptor);
  };
}
