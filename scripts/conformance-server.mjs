// The official conformance suite against the server: `npm run conformance:server [-- <part of a scenario's name>]`. The
// suite runs on Node 24, which it needs; the server on the Node at hand. Ends with `N passed, N failed`, counting scenarios.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { requiredScenarios, unaccounted, unclean } from './lib/conformance.mjs';
import { ensure, ensurePackages } from './lib/ensure.mjs';
import { Complaint, duration, main, must, root, run, say } from './lib/run.mjs';
import { runtimes } from './lib/runtimes.mjs';

const REVISIONS = ['2025-11-25', '2026-07-28'];

/** What the suite gives one scenario, and what ends one that waits for ever. */
const SCENARIO_MS = 60_000;

const folder = join(root, '__test__/conformance');
const suite = join(folder, 'install/node_modules/@modelcontextprotocol/conformance/dist/index.js');

/** The server under test, as a process of its own. */
class Server {
  #child;

  constructor(child, url) {
    this.#child = child;
    this.url = url;
  }

  static async start() {
    const child = spawn(process.execPath, [join(folder, 'server.mjs')], { stdio: ['pipe', 'pipe', 'inherit'] });
    const lines = createInterface(child.stdout);
    const [url] = await Promise.race([
      once(lines, 'line'),
      once(child, 'exit').then(([code]) => {
        throw new Complaint(`the server ended before it began (exit ${code})`);
      }),
    ]);
    return new Server(child, url);
  }

  async stop() {
    const ended = once(this.#child, 'exit');
    this.#child.stdin.end();
    const [code] = await ended;
    if (code !== 0) throw new Complaint(`the server ended with exit ${code}`);
  }
}

await main(async () => {
  const [filter = ''] = process.argv.slice(2);
  await ensure();
  await ensurePackages({ folder: join(folder, 'install'), what: 'the conformance suite', args: ['--ignore-scripts'] });
  const node24 = (await runtimes()).find(({ name }) => name === 'Node 24')?.command;
  if (node24 === undefined)
    throw new Complaint('the conformance suite needs Node 24, of which npm has no build for this system');

  const leftOut = JSON.parse(readFileSync(join(folder, 'server-left-out.json'), 'utf8'));
  const names = Object.keys(leftOut.reasons).flatMap((reason) => leftOut[reason]);
  const list = async (...args) => (await must(node24, [suite, 'list', ...args], { show: false })).output;
  const all = [...(await list('--server')).matchAll(/^\s+- (\S+) \[[^\]]*\]$/gm)].map(([, name]) => name);
  const problems = unaccounted({ all, driven: all.filter((name) => !names.includes(name)), leftOut: names });
  if (problems.length > 0) throw new Complaint(problems.join('\n'));

  const results = [];
  for (const revision of REVISIONS) {
    const required = requiredScenarios(await list('--requirements', revision), 'server');
    const driven = required.filter((name) => !names.includes(name) && name.includes(filter));
    const server = await Server.start();
    try {
      // One at a time: several of them measure the time between two messages.
      for (const name of driven) results.push(await judge(node24, server.url, name, revision));
    } finally {
      await server.stop();
    }
  }

  say('');
  for (const [reason, text] of Object.entries(leftOut.reasons)) say(`left out, ${text}: ${leftOut[reason].join(', ')}`);
  const failed = results.filter((passed) => !passed).length;
  say(`\n${results.length - failed} passed, ${failed} failed`);
  return failed === 0 && results.length > 0 ? 0 : 1;
});

async function judge(node24, url, name, revision) {
  const out = mkdtempSync(join(tmpdir(), 'espalier-conformance-'));
  const started = Date.now();
  try {
    const args = ['--url', url, '--scenario', name, '--spec-version', revision, '--timeout', String(SCENARIO_MS)];
    const { output } = await run(node24, [suite, 'server', ...args, '-o', out], {
      show: false,
      timeoutMs: SCENARIO_MS * 2,
    });
    const why = unclean(checksIn(out));
    say(`${why === undefined ? 'ok  ' : 'FAIL'}  ${revision}  ${name.padEnd(46)}  ${duration(Date.now() - started)}`);
    if (why !== undefined) {
      say(`      ${why}`);
      for (const line of output.trim().split('\n').slice(-20)) say(`      | ${line}`);
    }
    return why === undefined;
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
}

function checksIn(out) {
  const [left] = readdirSync(out);
  if (left === undefined) return undefined;
  try {
    return JSON.parse(readFileSync(join(out, left, 'checks.json'), 'utf8'));
  } catch {
    return undefined;
  }
}
