import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';

import { onTestFinished } from 'vitest';

import { until } from './until.js';

const packageRoot = fileURLToPath(new URL('../../', import.meta.url));

/** A program that runs in a process of its own. */
export interface Program {
  readonly process: ChildProcess;
  readonly pid: number;
  /** What it has printed so far. */
  stdout(): string;
  stderr(): string;
  /** Waits until it has printed a line that begins with `word`, and gives the rest of that line, parsed as JSON. */
  says(word: string, deadlineMs?: number): Promise<unknown>;
  /** Waits until it has ended. */
  ended(): Promise<Ended>;
}

/** How a program ended. */
export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
  /** Milliseconds from the line `mark` to the end of the process; `NaN` without such a line. */
  msSince(mark: string): number;
}

/** What a program may be given. */
export interface ProgramOptions {
  /** What it finds as `input`. */
  input?: unknown;
  env?: Record<string, string>;
  execArgv?: string[];
  /** A command that runs it. */
  under?: string[];
  /** Another Node than this one. */
  node?: string;
}

/**
 * Starts the source of an ES module with Node, in the folder of the package, so that it can import the package by its
 * name. It finds `input`, and `say(word, value)`, which prints a line that `says` can wait for.
 */
export function program(
  source: string,
  { input = null, env, execArgv = [], under = [], node = process.execPath }: ProgramOptions = {},
): Program {
  const text = `const input = ${JSON.stringify(input)};
    const say = (word, value = null) => process.stdout.write(word + ' ' + JSON.stringify(value) + '\\n');
    ${source}`;
  const whole = [node, ...execArgv, '--input-type=module', '--eval', text];
  const [command, ...args] = [...under, ...whole] as [string, ...string[]];
  const child = spawn(command, args, {
    cwd: packageRoot,
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(env === undefined ? {} : { env }),
  });
  let stdout = '';
  let stderr = '';
  // When each line came, by the monotonic clock of this process.
  const seenAt = new Map<string, number>();
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    stdout += chunk;
    for (const line of stdout.split('\n').slice(0, -1)) {
      const word = line.split(' ', 1)[0] ?? '';
      if (!seenAt.has(word)) seenAt.set(word, performance.now());
    }
  });
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk));
  // The exit gives the time; the end of both pipes, which comes with it or after it, the complete output.
  let exitedAt = Number.NaN;
  child.once('exit', () => (exitedAt = performance.now()));
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  onTestFinished(() => void child.kill('SIGKILL'));

  if (child.pid === undefined) throw new Error('the program could not be started');
  return {
    process: child,
    pid: child.pid,
    stdout: () => stdout,
    stderr: () => stderr,
    says: async (word, deadlineMs) => {
      const line = await until(
        `the line "${word}" of a program`,
        () =>
          stdout
            .split('\n')
            .slice(0, -1)
            .find((candidate) => candidate.startsWith(`${word} `)),
        deadlineMs,
      ).catch((error: unknown) => {
        throw new Error(`the program printed ${stdout}${stderr}`, { cause: error });
      });
      return JSON.parse(line.slice(word.length + 1)) as unknown;
    },
    ended: async () => {
      await closed;
      return {
        code: child.exitCode,
        signal: child.signalCode,
        stdout,
        stderr,
        msSince: (mark) => exitedAt - (seenAt.get(mark) ?? Number.NaN),
      };
    },
  };
}

/** A command that runs a program as the first process of a container, where the system lets us; otherwise none. */
export function firstProcess(): string[] {
  const command = ['--user', '--map-root-user', '--pid', '--fork', '--kill-child'];
  return spawnSync('unshare', [...command, 'true']).status === 0 ? ['unshare', ...command] : [];
}
