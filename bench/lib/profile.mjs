// Where the time goes: one subject, one round under V8's profiler, and one under `perf` where that is wanted.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';

import { Run } from './harness.mjs';
import { root } from './machine.mjs';
import { number, profileLines, table } from './report.mjs';

/** Profiles `subject` on one variant; files go to `folder`. Returns printable lines. */
export async function profileVariant(benchCase, variant, { subject, seconds, context, folder, perf, execPath }) {
  const scratch = await mkdtemp(join(os.tmpdir(), 'espalier-bench-'));
  await mkdir(folder, { recursive: true });
  const stem = join(folder, `${benchCase.name}.${variant.name}.${subject.name}`);
  const execArgv = perf ? ['--perf-basic-prof', '--interpreted-frames-native-stack'] : [];
  const run = new Run(benchCase, variant, subject, { seconds, context, scratch, execPath, execArgv });
  try {
    await run.round({ counted: false });
    await run.round({ counted: true });
    const profileTo = `${stem}.cpuprofile`;
    await run.round({ counted: true, profileTo });
    // A process that is not there between two rounds cannot be attached to.
    const recorded =
      perf && run.pid !== undefined ? await recordRound(run, { seconds, file: `${stem}.perf.data` }) : [];
    const [plain, profiled] = run.rounds;
    await run.finish();
    const profile = JSON.parse(await readFile(profileTo, 'utf8'));
    return [
      `${variant.name}, ${subject.name}: ${number(benchCase.metric.of(plain))} ${benchCase.metric.unit}, ${number(plain.cpuUs / plain.operations)} µs of CPU per operation`,
      '',
      'By thread (without the profiler):',
      ...threadLines(plain),
      '',
      `JavaScript thread (with the profiler: ${number(benchCase.metric.of(profiled))} ${benchCase.metric.unit}):`,
      ...profileLines(profile, profiled.operations, { root: pathToFileURL(root).pathname }),
      '',
      `Open ${relative(process.cwd(), profileTo)} in the Performance panel of a Chromium browser for the call tree.`,
      ...recorded,
    ];
  } finally {
    await run.abandon();
    await rm(scratch, { recursive: true, force: true });
  }
}

function threadLines(round) {
  const rows = Object.entries(round.threadsUs)
    .toSorted(([, a], [, b]) => b - a)
    .map(([name, us]) => [name, number(us / round.operations)]);
  return [
    ...table([['thread', 'CPU µs/op'], ...rows]),
    `user ${number(round.userUs / round.operations)} µs, system ${number(round.systemUs / round.operations)} µs per operation`,
    `context switches per operation: ${number(round.voluntarySwitches / round.operations)} given up, ${number(round.involuntarySwitches / round.operations)} taken away`,
  ];
}

/** One more round while `perf record` samples all threads of the subject's process. */
async function recordRound(run, { seconds, file }) {
  const recorder = spawn('perf', ['record', '-q', '-F', '1999', '-g', '-o', file, '-p', String(run.pid)], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = once(recorder, 'close').catch((error) => error);
  await new Promise((resolve) => setTimeout(resolve, 300));
  await run.round({ counted: false });
  recorder.kill('SIGINT');
  const outcome = await ended;
  if (outcome instanceof Error) return ['', `perf could not be started: ${outcome.message}`];
  return [
    '',
    `perf: ${seconds} s recorded; look at it with  perf report --no-children -i ${relative(process.cwd(), file)}`,
  ];
}
