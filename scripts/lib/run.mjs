// Starting other programs from the scripts: always with an argument list, never through a shell line, never with our
// stdin. Owns nothing else. Node's own modules only: these scripts run before `npm ci` has.

import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');

/** A failure that needs no stack: the person reads the message and knows what to do. */
export class Complaint extends Error {}

/**
 * Runs a program to its end. Its output goes to ours as it comes (`show`, the default) and is returned as well.
 * Rejects with a Complaint when the program cannot be started; a non-zero exit is a result, not an exception.
 */
export function run(command, args, { cwd = root, env = {}, show = true, timeoutMs } = {}) {
  return new Promise((done, fail) => {
    const child = spawn(command, args, {
      cwd,
      env: {
        ...process.env,
        ...(show && process.stdout.isTTY ? { CARGO_TERM_COLOR: 'always', FORCE_COLOR: '1' } : {}),
        ...env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
    });
    const output = [];
    const collect = (stream, target) =>
      stream.on('data', (chunk) => {
        output.push(chunk);
        if (show) target.write(chunk);
      });
    collect(child.stdout, process.stdout);
    collect(child.stderr, process.stderr);
    child.once('exit', (_code, signal) => {
      // Stopped at its time limit: what it started may live on and hold the pipes, and is not waited for.
      if (timeoutMs !== undefined && signal === 'SIGKILL') {
        child.stdout.destroy();
        child.stderr.destroy();
      }
    });
    child.once('error', (error) => fail(new Complaint(`cannot start ${command}: ${error.message}`)));
    child.once('close', (code, signal) => {
      done({ code: code ?? 1, signal, output: Buffer.concat(output).toString('utf8') });
    });
  });
}

/** Like `run`, but a non-zero exit is a Complaint. */
export async function must(command, args, options) {
  const result = await run(command, args, options);
  if (result.code !== 0) {
    const shown = options?.show === false ? `\n${result.output.trimEnd()}` : '';
    throw new Complaint(`${[command, ...args].join(' ')} failed (exit ${result.code})${shown}`);
  }
  return result;
}

/** True when the program starts and ends well; used to ask for tools that may be missing. */
export async function works(command, args) {
  try {
    return (await run(command, args, { show: false })).code === 0;
  } catch {
    return false;
  }
}

/**
 * Command line of a program that an npm package brings: no shell shim, so the same on every system.
 * @returns {[command: string, firstArgs: string[]]}
 */
export function packageBin(packageName, binName = packageName) {
  const folder = join(root, 'node_modules', packageName);
  const manifestPath = join(folder, 'package.json');
  if (!existsSync(manifestPath)) throw new Complaint(`${packageName} is not installed: run npm ci`);
  const { bin } = JSON.parse(readFileSync(manifestPath, 'utf8'));
  const file = typeof bin === 'string' ? bin : bin?.[binName];
  if (file === undefined) throw new Complaint(`${packageName} brings no program ${binName}`);
  return [process.execPath, [join(folder, file)]];
}

/** Runs a program of an npm package with Node. */
export function runBin(packageName, args, { bin = packageName, ...options } = {}) {
  const [command, first] = packageBin(packageName, bin);
  return run(command, [...first, ...args], options);
}

/**
 * Command line of npm itself: the one that runs us when there is one.
 * @returns {[command: string, firstArgs: string[]]}
 */
export function npmCommand() {
  const own = process.env.npm_execpath;
  if (own?.endsWith('.js') && existsSync(own)) return [process.execPath, [own]];
  if (process.platform !== 'win32') return ['npm', []];
  return [process.execPath, [join(dirname(process.execPath), 'node_modules/npm/bin/npm-cli.js')]];
}

/** Runs the body of a script: a Complaint is printed as text, anything else with its stack; the exit code says which way it went. */
export async function main(body) {
  try {
    process.exitCode = (await body()) ?? 0;
  } catch (error) {
    process.stderr.write(`\n${error instanceof Complaint ? error.message : error.stack}\n`);
    process.exitCode = 1;
  }
}

/** `12.3 s`, or `4 min 05 s`. */
export function duration(ms) {
  const seconds = ms / 1000;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  return `${Math.floor(seconds / 60)} min ${String(Math.round(seconds % 60)).padStart(2, '0')} s`;
}

/** Says something of our own between the output of other programs. */
export function say(text) {
  process.stdout.write(`${process.stdout.isTTY ? `\x1b[1m${text}\x1b[0m` : text}\n`);
}

/** Repeats a line now and then while a silent program works, so that a person knows it is alive. */
export async function withHeartbeat(what, work, everyMs = 10_000) {
  const started = Date.now();
  const timer = setInterval(() => say(`  ... still ${what} (${duration(Date.now() - started)})`), everyMs);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}
