// The official conformance suite against the client: `npm run conformance:client [-- <part of a scenario's name>]`. The suite
// runs on Node 24, which it needs; the driver on the Node at hand. Ends with `N passed, N failed`, counting scenarios.

import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { scenarios } from '../__test__/conformance/scenarios.mjs';
import { allScenarios, complaint, requiredScenarios, unaccounted } from './lib/conformance.mjs';
import { ensure, ensurePackages } from './lib/ensure.mjs';
import { Complaint, duration, main, must, root, run, say } from './lib/run.mjs';
import { runtimes } from './lib/runtimes.mjs';

const REVISIONS = ['2025-11-25', '2026-07-28'];

/** What the suite gives the driver; the driver gives up a little earlier by itself. */
const DRIVER_MS = 60_000;

/** Ends a suite that waits for ever. */
const SCENARIO_MS = 90_000;

const folder = join(root, '__test__/conformance');
const suite = join(folder, 'install/node_modules/@modelcontextprotocol/conformance/dist/index.js');

await main(async () => {
  const [filter = ''] = process.argv.slice(2);
  await ensure();
  await ensurePackages({ folder: join(folder, 'install'), what: 'the conformance suite', args: ['--ignore-scripts'] });
  const node24 = (await runtimes()).find(({ name }) => name === 'Node 24')?.command;
  if (node24 === undefined)
    throw new Complaint('the conformance suite needs Node 24, of which npm has no build for this system');

  const leftOut = JSON.parse(readFileSync(join(folder, 'left-out.json'), 'utf8'));
  const names = Object.keys(leftOut.reasons).flatMap((reason) => leftOut[reason]);
  const list = async (...args) => (await must(node24, [suite, 'list', ...args], { show: false })).output;
  const problems = unaccounted({
    all: allScenarios(await list('--client')),
    driven: Object.keys(scenarios),
    leftOut: names,
  });
  if (problems.length > 0) throw new Complaint(problems.join('\n'));

  const results = [];
  for (const revision of REVISIONS) {
    const required = requiredScenarios(await list('--requirements', revision));
    const driven = required.filter((name) => name in scenarios && name.includes(filter));
    // One at a time: several of them measure the time between two requests.
    for (const name of driven) results.push(await judge(node24, name, revision));
  }

  say('');
  for (const [reason, text] of Object.entries(leftOut.reasons)) say(`left out, ${text}: ${leftOut[reason].join(', ')}`);
  const failed = results.filter((passed) => !passed).length;
  say(`\n${results.length - failed} passed, ${failed} failed`);
  return failed === 0 && results.length > 0 ? 0 : 1;
});

async function judge(node24, name, revision) {
  const out = mkdtempSync(join(tmpdir(), 'espalier-conformance-'));
  const started = Date.now();
  try {
    // The suite hands the line to a shell; without `exec` a driver that has to be stopped would outlive it.
    const driver = `exec ${quoted(process.execPath)} ${quoted(join(folder, 'driver.mjs'))}`;
    const args = ['--scenario', name, '--spec-version', revision, '--timeout', String(DRIVER_MS), '-o', out];
    const { output } = await run(node24, [suite, 'client', '--command', driver, ...args], {
      show: false,
      timeoutMs: SCENARIO_MS,
    });
    const [left = out] = readdirSync(out).map((entry) => join(out, entry));
    const printed = (file) => read(join(left, file)) ?? '';
    const why = complaint(parse(read(join(left, 'checks.json'))), printed('stdout.txt'));
    say(`${why === undefined ? 'ok  ' : 'FAIL'}  ${revision}  ${name.padEnd(36)}  ${duration(Date.now() - started)}`);
    if (why !== undefined) {
      say(`      ${why}`);
      const said = [printed('stdout.txt'), printed('stderr.txt')].join('').trim() || output.trim();
      for (const line of said.split('\n').slice(-20)) say(`      | ${line}`);
    }
    return why === undefined;
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
}

function quoted(path) {
  return `'${path.replaceAll("'", String.raw`'\''`)}'`;
}

function read(path) {
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
}

function parse(text) {
  try {
    return text && JSON.parse(text);
  } catch {
    return undefined;
  }
}
