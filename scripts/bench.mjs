// Runs a benchmark: `npm run bench -- <name>`; without a name it lists them. See bench/README.md.
//
// A missed target is a printed line, never an exit code: figures of one machine in one minute are nothing to fail on.
// What does fail is a subject that answers wrongly.

import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { parseArgs, promisify } from 'node:util';

import { caseNames, loadCase } from '../bench/lib/cases.mjs';
import { measureVariant } from '../bench/lib/harness.mjs';
import { machine, versions } from '../bench/lib/machine.mjs';
import { profileVariant } from '../bench/lib/profile.mjs';
import { machineLines, variantLines, verdictLines } from '../bench/lib/report.mjs';
import { builtProfile, ensure } from './lib/ensure.mjs';
import { Complaint, main, root, say } from './lib/run.mjs';
import { runtimes } from './lib/runtimes.mjs';

const FEWEST_ROUNDS = 9;
const results = join(root, 'bench', 'results');

await main(async () => {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: {
      rounds: { type: 'string', default: String(FEWEST_ROUNDS) },
      seconds: { type: 'string', default: '1' },
      warmup: { type: 'string', default: '2' },
      filter: { type: 'string' },
      subject: { type: 'string', multiple: true },
      json: { type: 'string' },
      profile: { type: 'boolean', default: false },
      perf: { type: 'boolean', default: false },
      runtime: { type: 'string' },
      'no-build': { type: 'boolean', default: false },
    },
  });
  if (positionals.length === 0) return list();
  const benchCase = await find(positionals[0]);
  const rounds = count('rounds', values.rounds, 1);
  const warmup = count('warmup', values.warmup, 0);
  const seconds = Number(values.seconds);
  if (!(seconds > 0)) throw new Complaint(`--seconds takes a number above 0, not ${values.seconds}`);

  if (!values['no-build']) await ensure({ profile: 'release' });
  const subjects = choose(benchCase, values.subject);
  const variants = pick(benchCase, values.filter);
  const context = (await benchCase.prepare?.({ log: say })) ?? {};

  const runtime = await findRuntime(values.runtime);
  const build = builtProfile();
  const facts = {
    machine: machine(),
    runtime: runtime.version,
    versions: await versions(benchCase.packages ?? []),
    build: build ?? null,
  };
  say(`${benchCase.name}: ${benchCase.title}`);
  for (const line of machineLines(facts.machine, facts.versions, build && `${build} build`)) say(line);
  if (values.runtime) say(`the subjects run under ${runtime.version}`);

  if (values.profile || values.perf) {
    const subject = subjects.find(({ ours }) => ours) ?? subjects[0];
    for (const variant of variants) {
      const options = { subject, seconds, context, folder: results, perf: values.perf, execPath: runtime.command };
      say(`\n${(await profileVariant(benchCase, variant, options)).join('\n')}`);
    }
    return 0;
  }

  say(`${rounds} rounds of ${seconds} s in turn, after ${warmup} warm-up rounds; medians`);
  if (rounds < FEWEST_ROUNDS) say(`! fewer than ${FEWEST_ROUNDS} rounds: a look, not a figure`);
  const figures = [];
  for (const variant of variants) {
    const log = progress(variant.name);
    const options = { subjects, rounds, warmup, seconds, context, execPath: runtime.command, log };
    figures.push(await measureVariant(benchCase, variant, options));
    log('');
    say(`\n${variantLines(benchCase, figures.at(-1)).join('\n')}`);
  }
  say('');
  for (const line of figures.flatMap((figure) => verdictLines(benchCase, figure))) say(line);

  const file = values.json
    ? resolve(values.json)
    : join(results, `${[benchCase.name, ...(values.runtime ? [values.runtime] : [])].join('.')}.json`);
  await mkdir(dirname(file), { recursive: true });
  const document = {
    case: benchCase.name,
    takenAt: new Date().toISOString(),
    ...facts,
    rounds,
    warmup,
    seconds,
    variants: figures,
  };
  await writeFile(file, `${JSON.stringify(document, null, 2)}\n`);
  say(`figures: ${relative(process.cwd(), file)}`);
  return 0;
});

async function list() {
  say(
    'npm run bench -- <name> [--filter VARIANT] [--rounds N] [--seconds S] [--json FILE] [--runtime node24|bun] [--profile]\n',
  );
  for (const name of caseNames()) {
    const { title, variants } = await loadCase(name);
    say(`${name}: ${title}`);
    for (const variant of variants) say(`  ${variant.name}: ${variant.title}`);
  }
  return 0;
}

async function find(name) {
  if (caseNames().includes(name)) return loadCase(name);
  throw new Complaint(`there is no benchmark ${name}; there are: ${caseNames().join(', ')}`);
}

/** The runtime of that name, as it is installed for the smoke tests; without a name, this one. */
async function findRuntime(name) {
  if (name === undefined) return { command: process.execPath, version: `Node ${process.versions.node}` };
  const { command, missing } = (await runtimes()).find(({ id }) => id === name) ?? {};
  if (command === undefined) throw new Complaint(`--runtime takes node24 or bun${missing ? `: ${missing}` : ''}`);
  const { stdout } = await promisify(execFile)(command, ['--version']);
  return { command, version: `${name} ${stdout.trim()}` };
}

/** The variant of that name, or all that have the text in their names. */
function pick({ name: caseName, variants }, filter = '') {
  const exact = variants.filter(({ name }) => name === filter);
  const found = exact.length > 0 ? exact : variants.filter(({ name }) => name.includes(filter));
  if (found.length === 0) throw new Complaint(`no variant of ${caseName} has "${filter}" in its name`);
  return found;
}

/** The subjects that were asked for and that can run. */
function choose(benchCase, wanted) {
  const unknown = wanted?.filter((name) => !benchCase.subjects.some((subject) => subject.name === name)) ?? [];
  if (unknown.length > 0) throw new Complaint(`${benchCase.name} has no subject ${unknown.join(', ')}`);
  const subjects = benchCase.subjects.filter(({ name }) => !wanted || wanted.includes(name));
  const built = existsSync(join(root, 'dist', 'node.js'));
  const ready = subjects.filter(({ ours }) => built || !ours);
  if (ready.length < subjects.length) say('! espalier is not built and is left out: npm run build');
  if (ready.length === 0) throw new Complaint('nothing is left to measure');
  return ready;
}

function count(name, text, least) {
  const value = Number(text);
  if (Number.isInteger(value) && value >= least) return value;
  throw new Complaint(`--${name} takes a whole number of at least ${least}, not ${text}`);
}

/** A line that overwrites itself on a terminal, and nothing elsewhere. */
function progress(variant) {
  if (!process.stdout.isTTY) return () => {};
  return (text) => process.stdout.write(`\r\x1b[K${text && `  ${variant}: ${text}`}`);
}
