// The gate: every check and every test, cheap first, on a clone that may be fresh. `.ci/run` is this and nothing else.
//
// The last line adds up all runners. A check that is not a test runner counts as one test, so that a gate that fails
// never says `0 failed`. A failed step does not stop the later ones, save those that need what it should have built.

import { createHash } from 'node:crypto';
import { fromLine, settle } from './lib/counts.mjs';
import { packageChecks, sourceChecks, typedChecks } from './lib/checks.mjs';
import { checkNode, checkRust, ensureAddon, ensureFacade, ensurePackages } from './lib/ensure.mjs';
import { main, npmCommand, run, runBin, say } from './lib/run.mjs';
import { Steps } from './lib/steps.mjs';

const notBuilt = 'the build failed';

await main(async () => {
  checkNode();
  await checkRust();
  const before = await treeState();
  await ensurePackages();
  const steps = new Steps();

  for (const check of sourceChecks) await steps.step(check.name, check.run);

  const built =
    (await steps.step('napi build', async () => (await ensureAddon(), 0))) &&
    (await steps.step('tsc', async () => (await ensureFacade(), 0)));
  await steps.step('napi create-npm-dirs', createNpmDirs);
  await steps.step('clean tree', () => cleanTree(before));

  const needBuild = [
    ...typedChecks,
    { name: 'npm test', run: () => npmRun('test') },
    { name: 'conformance of the client', run: () => npmRun('run', 'conformance:client') },
    { name: 'conformance of the server', run: () => npmRun('run', 'conformance:server') },
    ...packageChecks,
  ];
  for (const check of needBuild) {
    if (built) await steps.step(check.name, check.run);
    else steps.skip(check.name, notBuilt);
  }
  await steps.step('clean tree after the tests', () => cleanTree(before));
  return steps.finish();
});

/** A script of this package that ends with its counts. */
async function npmRun(...args) {
  const [npm, first] = npmCommand();
  const { code, output } = await run(npm, [...first, ...args]);
  return settle(fromLine(output), code);
}

async function createNpmDirs() {
  return (await runBin('@napi-rs/cli', ['create-npm-dirs', '--npm-dir', 'npm'], { bin: 'napi', show: false })).code;
}

/** Nothing that is committed may change by building and testing: generated files and lock files are up to date. */
async function cleanTree(before) {
  const after = await treeState();
  if (after.digest === before.digest) return 0;
  say('building or testing changed the tree; commit what the tools wrote, or ignore what is not to be kept:');
  await run('git', ['status', '--porcelain']);
  await run('git', ['--no-pager', 'diff', '--stat']);
  return 1;
}

async function treeState() {
  const status = await run('git', ['status', '--porcelain', '--untracked-files=all'], { show: false });
  const diff = await run('git', ['diff', 'HEAD', '--no-ext-diff', '--binary'], { show: false });
  return { digest: createHash('sha256').update(`${status.output}\0${diff.output}`).digest('hex') };
}
