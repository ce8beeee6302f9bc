import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import { onTestFinished } from 'vitest';

import { isAlive } from './processes.js';
import { fixture, type StdioConfig } from './servers.js';
import { until } from './until.js';
import { workspace } from './workspace.js';

/**
 * One thing that the server does. In text, `$id`, `$token` and `$n` stand for the id of the request at hand, its progress
 * token (both as JSON) and its ordinal among the requests of its kind (in a `repeat`: the round).
 */
export type Step =
  /** A line, as it is. */
  | string
  /** Text without an end of line. */
  | { raw: string }
  /** Bytes. */
  | { hex: string }
  /** The result of the request. */
  | { reply: unknown }
  /** The result of the request, as JSON text. */
  | { replyText: string }
  /** An error reply. */
  | { error: { code: number; message: string; data?: unknown } }
  /** What the server would do without a script. */
  | { default: true }
  /** The result of the request, one byte per write with a pause after each. */
  | { bytewise: unknown }
  /** A text result of so many bytes. */
  | { filler: number; idLast?: boolean }
  /** A message of the server's own. */
  | { message: Record<string, unknown> }
  /** `notifications/progress` for the request, when it carries a token. */
  | { progress: Record<string, unknown> }
  | { wait: number }
  /** Goes on when such a message was seen, now or earlier. */
  | { waitFor: { method: string; tool?: string } | { reply: string | number } }
  | { stderr: string; times?: number }
  | { repeat: Step[]; times?: number }
  | { closeStdout: true }
  /** Starts a process of its own, in the same process group. */
  | { helper: true }
  | { exit: number }
  | { kill: NodeJS.Signals };

/** What a scripted server does. */
export interface Script {
  /** Before anything is read. */
  start?: Step[];
  /** Per method: what to do at the first request, the second, and so on; the last entry serves all that follow. */
  on?: Record<string, Step[][]>;
  /** The same for `tools/call`, per tool; `*` for any other. Without an entry the call is given back as JSON text. */
  calls?: Record<string, Step[][]>;
  /** What `tools/list` answers, on one page. */
  tools?: unknown[];
  protocolVersion?: unknown;
  capabilities?: unknown;
  serverInfo?: unknown;
  /** Stays when its standard input ends and when it gets SIGTERM. */
  ignoreStop?: boolean;
  /** Never reads. */
  deaf?: boolean;
  /** The status to leave with when the standard input ends. */
  exitCode?: number;
}

/** A JSON-RPC message from the client. */
export interface Received {
  jsonrpc?: unknown;
  id?: string | number;
  method?: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- what a test looks into
  params?: any;
  result?: unknown;
  error?: { code: number; message: string; data?: unknown };
}

interface Start {
  pid: number;
  cwd: string;
  env: Record<string, string>;
}

type Entry =
  | ({ kind: 'start' } & Start)
  | { kind: 'line'; text: string }
  | { kind: 'end' }
  | { kind: 'signal'; name: string }
  | { kind: 'helper'; pid: number };

/** A scripted server and its journal. */
export interface Scripted {
  readonly config: StdioConfig;
  /** Every process that was started for it so far. */
  starts(): Start[];
  /** Waits for the first start. */
  started(): Promise<Start>;
  /** The processes that a `helper` step started. */
  helpers(): number[];
  /** The lines that it read, as they were. */
  lines(): string[];
  /** The messages that it read; with a method, only those. */
  received(method?: string): Received[];
  /** Waits until at least `count` messages of a method were read, and gives them. */
  waitFor(method: string, count?: number): Promise<Received[]>;
  /** Waits until it read the client's reply to a request of its own. */
  replyTo(id: string | number): Promise<Received>;
  /** Kinds of the events after the start, in order, without the lines. */
  events(): string[];
}

/** Prepares a scripted server for the running test. */
export function scripted(name: string, script: Script = {}, more: Partial<StdioConfig> = {}): Scripted {
  const folder = workspace();
  const journal = path.join(folder, 'journal.jsonl');
  const file = path.join(folder, 'script.json');
  writeFileSync(file, JSON.stringify({ ...script, journal }));

  const entries = (): Entry[] => {
    if (!existsSync(journal)) return [];
    const lines = readFileSync(journal, 'utf8').split('\n');
    // What follows the last end of line is still being written.
    return lines.slice(0, -1).map((line) => JSON.parse(line) as Entry);
  };
  const starts = (): Start[] => entries().filter((entry) => entry.kind === 'start');
  const lines = (): string[] => entries().flatMap((entry) => (entry.kind === 'line' ? [entry.text] : []));
  const helpers = (): number[] => entries().flatMap((entry) => (entry.kind === 'helper' ? [entry.pid] : []));
  const received = (method?: string): Received[] =>
    lines()
      .map((line) => JSON.parse(line) as Received)
      .filter((message) => method === undefined || message.method === method);

  // Whatever a failing test leaves behind must not stay on the machine.
  onTestFinished(() => {
    for (const pid of [...starts().map((start) => start.pid), ...helpers()].filter((one) => isAlive(one))) {
      process.kill(pid, 'SIGKILL');
    }
  });
  return {
    config: { type: 'stdio', name, command: process.execPath, args: [fixture('scripted.mjs'), file], ...more },
    starts,
    started: () => until(`the start of ${name}`, () => starts()[0]),
    helpers,
    lines,
    received,
    waitFor: (method, count = 1) =>
      until(`${count} ${method} at ${name}`, () => {
        const found = received(method);
        return found.length >= count && found;
      }),
    replyTo: (id) =>
      until(`the reply to ${id} at ${name}`, () =>
        received().find((message) => message.method === undefined && message.id === id),
      ),
    events: () =>
      entries().flatMap((entry) =>
        entry.kind === 'signal' ? [entry.name] : entry.kind === 'end' ? ['end of input'] : [],
      ),
  };
}

/** A tool of a scripted server that takes anything. */
export function toolEntry(name: string, more: Record<string, unknown> = {}): Record<string, unknown> {
  return { name, description: `The tool ${name}.`, inputSchema: { type: 'object' }, ...more };
}

/** A result with one text block. */
export function textResult(text: string): { content: { type: 'text'; text: string }[] } {
  return { content: [{ type: 'text', text }] };
}
