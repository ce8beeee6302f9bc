// All tests, on a tree that may be a fresh clone: `npm test`. Builds what is missing, runs every runner, adds them up.
// `npm test -- <filter>` builds what is missing and hands the filter to vitest alone.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fromCargoTest, fromNextest, fromNodeTest, fromVitest, one, settle } from './lib/counts.mjs';
import { checkRust, ensure, ensureCargoBuild, files, rustTestCommand } from './lib/ensure.mjs';
import { inspector } from './lib/inspector.mjs';
import { Complaint, main, run, runBin } from './lib/run.mjs';
import { runtimes, smoke } from './lib/runtimes.mjs';
import { Steps } from './lib/steps.mjs';

/** Ends a run in which a test hangs where no nextest watches over it; compiling is part of the time. */
const RUST_TESTS_MS = 20 * 60_000;

await main(async () => {
  const filter = process.argv.slice(2);
  await ensure();
  const steps = new Steps();
  if (filter.length > 0) {
    await steps.step('vitest', () => vitest(filter));
    return steps.finish();
  }
  await steps.step('Rust tests', rustTests);
  // Now, because compiling beside tests would steal their time.
  await ensureCargoBuild('bench/peers/rmcp-server', 'the server on the Rust SDK that tests connect to');
  await inspector();
  await steps.step(`vitest on Node ${process.versions.node}`, () => vitest([]));
  await steps.step('type tests', typeTests);
  await steps.step('benchmark harness', harnessTests);
  for (const runtime of await runtimes()) {
    const name = `smoke under ${runtime.name}`;
    if (runtime.command === undefined) steps.skip(name, runtime.missing);
    else await steps.step(name, () => smoke(runtime));
  }
  return steps.finish();
});

async function rustTests() {
  await checkRust();
  const command = await rustTestCommand();
  const { code, output } = await run('cargo', [...command, '--no-default-features'], { timeoutMs: RUST_TESTS_MS });
  const counts = command[0] === 'nextest' ? fromNextest(output) : fromCargoTest(output);
  return settle(counts, code);
}

async function vitest(filter) {
  const folder = mkdtempSync(join(tmpdir(), 'espalier-vitest-'));
  try {
    const report = join(folder, 'report.json');
    const { code } = await runBin('vitest', [
      'run',
      '--reporter=default',
      '--reporter=json',
      `--outputFile.json=${report}`,
      ...filter,
    ]);
    let counts;
    try {
      counts = fromVitest(JSON.parse(readFileSync(report, 'utf8')));
    } catch {
      // No report: vitest itself did not start, and the exit code says so.
    }
    return settle(counts, code);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The harness is plain JavaScript that runs without the installed packages, and so are its tests. */
async function harnessTests() {
  const tests = files('bench/lib').filter((path) => path.endsWith('.test.mjs'));
  // Without a file Node would look for tests by itself, and find this script.
  if (tests.length === 0) throw new Complaint('bench/lib holds no tests');
  const { code, output } = await run(process.execPath, ['--test', '--test-reporter=tap', ...tests]);
  return settle(fromNodeTest(output), code);
}

async function typeTests() {
  const projects = ['__test__', '__test__/adapters'];
  const codes = [];
  for (const project of projects) codes.push((await runBin('typescript', ['-p', project], { bin: 'tsc' })).code);
  return one(codes.every((code) => code === 0));
}
