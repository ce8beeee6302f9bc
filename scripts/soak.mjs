// The full counts of the long checks: `npm run soak`. The gate runs the same checks in their short form. Tests read
// ESPALIER_SOAK to take the full count and print their figures; properties are tried on many more cases; each fuzz
// target gets a minute. `npm run soak -- <filter>` hands the filter to vitest.

import { existsSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { ensure, hasCargoTool, rustTestCommand } from './lib/ensure.mjs';
import { main, root, run, runBin, say } from './lib/run.mjs';
import { Steps } from './lib/steps.mjs';

const FUZZ_SECONDS = 60;
const PROPERTY_CASES = '10000';

await main(async () => {
  await ensure();
  const env = { ESPALIER_SOAK: '1' };
  const steps = new Steps();
  await steps.step('vitest, full counts', async () => {
    const timeouts = ['--testTimeout=600000', '--hookTimeout=600000'];
    return (await runBin('vitest', ['run', '--reporter=verbose', ...timeouts, ...process.argv.slice(2)], { env })).code;
  });
  await steps.step(`Rust tests, ${PROPERTY_CASES} cases for each property`, async () => {
    const command = await rustTestCommand();
    const cases = { env: { PROPTEST_CASES: PROPERTY_CASES, NEXTEST_PROFILE: 'soak' } };
    return (await run('cargo', [...command, '--no-default-features'], cases)).code;
  });
  const targets = fuzzTargets();
  if (await hasCargoTool('fuzz')) {
    for (const target of targets) await steps.step(`fuzz ${target}, ${FUZZ_SECONDS} s`, () => fuzz(target));
  } else {
    for (const target of targets) steps.skip(`fuzz ${target}`, 'cargo-fuzz is not installed');
  }
  return steps.finish();
});

function fuzzTargets() {
  const folder = join(root, 'fuzz/fuzz_targets');
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.endsWith('.rs'))
    .map((name) => basename(name, '.rs'));
}

async function fuzz(target) {
  const options = [`-max_total_time=${FUZZ_SECONDS}`, '-print_final_stats=1', '-verbosity=0'];
  say(`running ${target}`);
  return (await run('cargo', ['+nightly', 'fuzz', 'run', target, '--', ...options])).code;
}
