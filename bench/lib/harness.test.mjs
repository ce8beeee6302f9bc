import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';

import { measureVariant, verdicts } from './harness.mjs';
import { profileLines, variantLines, verdictLines } from './report.mjs';

const folder = mkdtempSync(join(os.tmpdir(), 'espalier-bench-test-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const fixture = (name) => new URL(`./fixtures/${name}.mjs`, import.meta.url);
const variant = { name: 'v', title: 'a variant', params: { inFlight: 2, textBytes: 40 }, targets: [{ atLeast: 1.1 }] };
const quick = { rounds: 2, warmup: 1, seconds: 0.02, context: {}, log() {} };

function fakeCase(title, changes = {}) {
  const journal = join(folder, title);
  return {
    name: 'fake',
    work: fixture('work'),
    subjects: [
      { name: 'a', module: fixture('subject'), ours: true },
      { name: 'b', module: fixture('subject') },
    ],
    reference: 'b',
    metric: { unit: 'calls/s', better: 'higher', of: (round) => round.operations / (round.elapsedMs / 1000) },
    input: ({ subject }) => ({ name: subject.name, journal, mistake: subject.mistake }),
    lines: () => readFileSync(journal, 'utf8').trim().split('\n'),
    ...changes,
  };
}

const measure = (benchCase) => measureVariant(benchCase, variant, { ...quick, subjects: benchCase.subjects });

test('subjects take turns, each in one process, and warm-up rounds are not counted', async () => {
  const benchCase = fakeCase('turns');
  const figures = await measure(benchCase);
  const turns = ['a start', 'a round', 'b start', 'b round', 'a round', 'b round', 'a round', 'b round'];
  assert.deepEqual(benchCase.lines(), [...turns, 'a close', 'b close']);
  for (const subject of figures.subjects) {
    assert.equal(subject.rounds.length, quick.rounds);
    assert.ok(subject.value.median > 100 && subject.value.median < 2100, `${subject.value.median} calls/s`);
    assert.ok(subject.latencyUs.p50 >= 900);
    assert.ok(subject.heapBytes > 1e5 && subject.heapBytes < subject.rssBytes);
  }
  const { ratio } = figures.subjects[0];
  assert.ok(ratio.min <= ratio.median && ratio.median <= ratio.max);
  assert.equal(figures.subjects[1].ratio, null);
  assert.match(variantLines(benchCase, figures).join('\n'), /^ {2}a +\d/m);
  assert.match(verdictLines(benchCase, figures).join('\n'), /^target v: at least 1\.10 times better than b: .*\(\d/);
});

test('a fresh process for each round, where the case wants that', async () => {
  const benchCase = fakeCase('fresh', { processPerRound: true });
  await measure(benchCase);
  assert.equal(benchCase.lines().filter((line) => line === 'a start').length, quick.rounds + quick.warmup);
  assert.equal(benchCase.lines().filter((line) => line === 'b close').length, quick.rounds + quick.warmup);
});

test('the work can come from outside, and is measured inside', async () => {
  const benchCase = fakeCase('outside', {
    work: undefined,
    async drive({ info, params }) {
      appendFileSync(info.journal, `${info.name} driven\n`);
      await new Promise((resolve) => setTimeout(resolve, params.seconds * 1000));
      return { operations: 10 };
    },
  });
  const figures = await measure(benchCase);
  assert.equal(benchCase.lines().filter((line) => line.endsWith(' driven')).length, 6);
  for (const { elapsedMs } of figures.subjects[0].rounds) assert.ok(elapsedMs >= 15 && elapsedMs < 2000);
});

for (const [mistake, message] of [
  ['answer', /^Error: b: Error: asked "\d the.*was answered "something else"/s],
  ['exit', /^Error: b: its process ended \(exit code 7\)/],
  ['start', /^Error: b: Error: cannot start/],
]) {
  test(`a subject that fails (${mistake}) fails the run, by name, and the other one is closed`, async () => {
    const benchCase = fakeCase(`mistake-${mistake}`);
    benchCase.subjects[1].mistake = mistake;
    await assert.rejects(measure(benchCase), (error) => message.test(String(error)) || assert.fail(String(error)));
    assert.equal(benchCase.lines().at(-1).split(' ')[1], 'close');
    assert.ok(benchCase.lines().includes('a close'));
  });
}

test('a subject whose count the other side does not confirm fails the run', async () => {
  const benchCase = fakeCase('witness', { witness: async () => ({ operations: 1, cpuUs: null }) });
  await assert.rejects(measure(benchCase), /a: it counts \d+ operations, the other side saw 1/);
});

test('warm-up calls come once, before the clock, and the other side sees them', async () => {
  const warm = { ...variant, params: { ...variant.params, warmUpCalls: 30 } };
  let seen = 0;
  const benchCase = fakeCase('warm', { witness: async () => ({ operations: seen, cpuUs: null }) });
  const only = { ...quick, subjects: [benchCase.subjects[0]] };
  await assert.rejects(measureVariant(benchCase, warm, only), (error) => {
    seen = Number(/it counts (\d+) operations/.exec(error.message)[1]);
    return true;
  });
  const rounds = seen - 30;
  assert.ok(rounds >= 3 && rounds < 300, `${rounds} calls in three rounds of 20 ms beside those of the warm-up`);
});

test('a subject can be there for some variants only', async () => {
  const benchCase = fakeCase('some');
  benchCase.subjects[1].variants = ['another'];
  const figures = await measure(benchCase);
  assert.deepEqual(
    figures.subjects.map(({ name }) => name),
    ['a'],
  );
  assert.match(verdictLines(benchCase, figures)[0], /NOT MEASURED/);
});

const round = (value, cpuUs) => ({ value, cpuUs, operations: 1 });
const figuresAt = (ofSolo) => [
  { name: 'a', ofSolo, rounds: [round(30, 2), round(60, 2)] },
  { name: 'b', ofSolo: 0.1, rounds: [round(10, 3), round(20, 3)] },
];
const judged = (metricBetter, targets, figures) => {
  const benchCase = {
    subjects: [{ name: 'a', ours: true }, { name: 'b' }],
    reference: 'b',
    metric: { unit: 'ms', better: metricBetter, of: ({ value }) => value },
  };
  const found = verdicts(benchCase, { targets }, figures);
  return { found, lines: verdictLines(benchCase, { variant: 'v', verdicts: found }) };
};

test('past the limit of the solo rate CPU time decides', () => {
  const targets = [{ atLeast: 2 }];
  const { found, lines } = judged('higher', targets, figuresAt(0.3));
  assert.deepEqual(found, [{ atLeast: 2, vs: 'b', by: 'metric', ratio: { median: 3, min: 3, max: 3 }, holds: true }]);
  assert.deepEqual(lines, ['target v: at least 2.00 times better than b: holds: 3.00 (3.00 to 3.00)']);
  const near = judged('higher', targets, figuresAt(0.7));
  assert.equal(near.found[0].by, 'cpu');
  assert.match(near.lines[0], /: DOES NOT HOLD: 1\.50 \(1\.50 to 1\.50\), by CPU time per operation/);
  assert.equal(judged('higher', targets, figuresAt(0.3).slice(1)).found[0].holds, null);
  assert.deepEqual(judged('higher', undefined, figuresAt(0.3)).found, []);
});

test('a target can be a bound on the figure itself', () => {
  const { found, lines } = judged('lower', [{ below: 50 }, { below: 45 }], figuresAt(0.3));
  assert.deepEqual(
    found.map(({ holds }) => holds),
    [true, false],
  );
  assert.deepEqual(lines, [
    'target v: below 50.00 ms: holds: 45.00 (30.00 to 60.00)',
    'target v: below 45.00 ms: DOES NOT HOLD: 45.00 (30.00 to 60.00)',
  ]);
  assert.equal(judged('lower', [{ below: 50 }], figuresAt(0.3).slice(1)).found[0].holds, null);
});

test('a target can be about CPU time, and an upper bound', () => {
  const { found, lines } = judged(
    'lower',
    [
      { atLeast: 2, of: 'cpu' },
      { atMost: 3.5, vs: 'b' },
    ],
    figuresAt(null),
  );
  assert.deepEqual(
    found.map(({ by, ratio, holds }) => [by, ratio.median, holds]),
    [
      ['cpu', 1.5, false],
      ['metric', 3, true],
    ],
  );
  assert.deepEqual(lines, [
    'target v: at least 2.00 times less CPU time than b: DOES NOT HOLD: 1.50 (1.50 to 1.50)',
    'target v: at most 3.50 times the ms of b: holds: 3.00 (3.00 to 3.00)',
  ]);
});

const frame = (functionName, url, lineNumber) => ({ functionName, url, lineNumber });

test('a profile is summed up by function', () => {
  const lines = profileLines(
    {
      nodes: [
        { id: 1, callFrame: frame('slow', 'file:///some/where/dist/a.js', 4) },
        { id: 2, callFrame: frame('', '', -1) },
      ],
      samples: [1, 2, 1, 1],
      timeDeltas: [100, 100, 100, 100],
    },
    100,
    { root: '/some/where/' },
  );
  assert.match(lines[1], /^slow dist\/a\.js:5 +75 % +3\.00$/);
  assert.match(lines[2], /^\(anonymous\) +25 % +1\.00$/);
});
