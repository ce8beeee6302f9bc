// What a server's operator is told. Nothing of it goes to standard output, and nothing that a logger throws goes anywhere.

import { inspect } from 'node:util';
import { describe } from '../describe.js';
import type { ServerLogger } from '../types/server.js';

type Level = keyof ServerLogger;

export const LOG_LEVELS: readonly Level[] = ['error', 'warn', 'info', 'debug'];

/** Writes lines to standard error. */
export const stderrLogger: ServerLogger = {
  error: (message) => write('error', message),
  warn: (message) => write('warn', message),
  info: (message) => write('info', message),
  debug: (message) => write('debug', message),
};

/** Logs, whatever becomes of it. */
export function log(logger: ServerLogger, level: Level, message: string): void {
  try {
    const logged: unknown = logger[level](message);
    // A logger that writes somewhere slow may fail native.
    if (logged instanceof Promise) logged.catch(() => {});
  } catch {
    // Who logs cannot be told that logging fails.
  }
}

/** All that is known of what was thrown, with its stack; never throws itself. */
export function inspectThrown(thrown: unknown): string {
  try {
    return inspect(thrown);
  } catch {
    return describe(thrown);
  }
}

function write(level: Level, message: string): void {
  process.stderr.write(`[espalier] ${level}: ${message}\n`);
}
