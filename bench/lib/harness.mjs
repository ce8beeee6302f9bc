// Runs a case: the same work by several subjects in one run, in turn (A B C A B C ...), each in its own process. What a
// case is made of is described in ../README.md. Collects figures and judges none of them.

import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import { join } from 'node:path';

import { machineBusyUs } from './machine.mjs';
import { Pipes } from './pipes.mjs';
import { median, pairedRatio, spread } from './stats.mjs';
import { Subject } from './subject.mjs';

/** A rate counts only while the subject asks for at most this part of what the peer can do alone. */
export const SOLO_LIMIT = 0.6;

const SOLO_SECONDS = 0.3;

/**
 * Measures one variant with the given subjects. Every round takes the solo rate of the peer as well (how fast it is
 * when nothing measured drives it), so that the two are compared in the same minute. Returns figures only; `log` is
 * told what happens meanwhile.
 */
export async function measureVariant(
  benchCase,
  variant,
  { subjects, rounds, warmup, seconds, context, execPath, log },
) {
  const scratch = await mkdtemp(join(os.tmpdir(), 'espalier-bench-'));
  const runs = subjectsOf(variant, subjects).map(
    (subject) => new Run(benchCase, variant, subject, { seconds, context, scratch, execPath }),
  );
  try {
    const solo = [];
    for (let round = 0; round < warmup + rounds; round++) {
      const counted = round >= warmup;
      log(counted ? `round ${round - warmup + 1}/${rounds}` : `warm-up ${round + 1}/${warmup}`);
      if (counted && benchCase.solo) solo.push(await benchCase.solo({ context, variant, seconds: SOLO_SECONDS }));
      for (const run of runs) await run.round({ counted });
    }
    for (const run of runs) await run.finish();
    return summarise(benchCase, variant, { runs, solo });
  } finally {
    await Promise.all(runs.map((run) => run.abandon()));
    await rm(scratch, { recursive: true, force: true });
  }
}

/** Some subjects are there for some variants only. */
function subjectsOf(variant, subjects) {
  return subjects.filter(({ variants }) => !variants || variants.includes(variant.name));
}

/** One subject over all rounds of one variant. */
export class Run {
  rounds = [];
  /** What each of its processes held at its end. */
  memory = [];
  witness = null;
  #case;
  #variant;
  #options;
  #process;
  #pipes;
  #info;
  #operations = 0;

  constructor(benchCase, variant, subject, options) {
    this.subject = subject;
    this.#case = benchCase;
    this.#variant = variant;
    this.#options = { ...options, scratch: join(options.scratch, subject.name) };
  }

  get name() {
    return this.subject.name;
  }

  get pid() {
    return this.#process?.pid;
  }

  /** One round. The process lives on from round to round, unless the case wants a fresh one each time. */
  async round({ counted, ...measureOptions }) {
    if (!this.#process) await this.#start();
    const busyBefore = machineBusyUs();
    const ownBefore = ownCpuUs();
    const figures = await this.#measure(measureOptions);
    figures.ownerCpuUs = ownCpuUs() - ownBefore;
    figures.machineBusyUs = machineBusyUs() - busyBefore;
    this.#operations += figures.operations + (figures.uncounted ?? 0);
    if (counted) this.rounds.push(figures);
    if (this.#case.processPerRound) await this.finish();
  }

  /** Closes the subject and hears the witness: did the other side see the work that the subject says it did? */
  async finish() {
    const process = this.#process;
    if (!process) return;
    this.#process = undefined;
    await this.#release();
    const { memory } = (await process.stop()) ?? {};
    await this.#closePipes();
    if (memory) this.memory.push(memory);
    if (!this.#case.witness) return;
    const seen = await this.#case.witness({ ...this.#options, variant: this.#variant, subject: this.subject });
    if (seen.operations !== this.#operations) {
      throw new Error(`${this.name}: it counts ${this.#operations} operations, the other side saw ${seen.operations}`);
    }
    this.#operations = 0;
    this.witness = seen;
  }

  /** Ends what still runs, after a failure. */
  async abandon() {
    await this.#release().catch(() => {});
    await this.#process?.stop().catch(() => {});
    await this.#closePipes();
  }

  /** What the case holds against the subject. */
  async #release() {
    const info = this.#info;
    this.#info = undefined;
    if (info) await this.#case.release?.({ info: info.info });
  }

  async #closePipes() {
    const pipes = this.#pipes;
    this.#pipes = undefined;
    await pipes?.close();
  }

  async #start() {
    await mkdir(this.#options.scratch, { recursive: true });
    if (this.#case.hasPipes) this.#pipes = await Pipes.make(this.#options.scratch);
    this.#process = new Subject({
      name: this.name,
      subject: this.subject.module.href,
      work: this.#case.work?.href,
      execPath: this.#options.execPath,
      execArgv: [...(this.subject.execArgv ?? []), ...(this.#options.execArgv ?? [])],
      pipes: this.#pipes,
    });
    const input = await this.#case.input?.({ ...this.#options, variant: this.#variant, subject: this.subject });
    this.#info = await this.#process.start(input ?? {});
  }

  async #measure(measureOptions) {
    const { seconds } = this.#options;
    const params = { seconds, ...this.#variant.params };
    if (this.#case.work) return this.#process.measure(params, { seconds, ...measureOptions });
    await this.#process.begin(measureOptions);
    const outside = await this.#case.drive({
      ...this.#options,
      variant: this.#variant,
      subject: this.subject,
      info: this.#info.info,
      pid: this.#info.pid,
      pipes: this.#pipes,
      params,
    });
    return { ...(await this.#process.end(measureOptions)), ...outside };
  }
}

function summarise(benchCase, variant, { runs, solo }) {
  const { metric, reference } = benchCase;
  const of = valuesOf(benchCase);
  const referenceRun = runs.find((run) => run.name === reference);

  const subjects = runs.map((run) => {
    const value = spread(of(run));
    const paired = referenceRun && run !== referenceRun;
    const peerCpuUs = run.witness?.cpuUs ? run.witness.cpuUs / run.witness.operations : null;
    return {
      name: run.name,
      value,
      cpuUs: spread(cpuOf(run)),
      systemCpuUs: median(run.rounds.map((round) => round.systemUs / round.operations)),
      latencyUs: run.rounds[0].latencyUs && {
        p50: median(run.rounds.map((round) => round.latencyUs.p50)),
        p99: median(run.rounds.map((round) => round.latencyUs.p99)),
      },
      switches: median(run.rounds.map((round) => round.voluntarySwitches / round.operations)),
      threadsUs: threads(run),
      peerCpuUs,
      ofSolo: solo.length > 0 ? median(of(run).map((rate, i) => rate / solo[i])) : null,
      ratio: paired ? pairedRatio(of(run), of(referenceRun), metric.better) : null,
      cpuRatio: paired ? pairedRatio(cpuOf(run), cpuOf(referenceRun), 'lower') : null,
      othersShare: median(run.rounds.map((round) => othersShare(round, peerCpuUs))),
      heapBytes: median(run.memory.map(({ heapUsed }) => heapUsed)),
      rssBytes: median(run.memory.map(({ rss }) => rss)),
      rounds: run.rounds,
      witness: run.witness,
    };
  });
  return {
    variant: variant.name,
    title: variant.title,
    params: variant.params,
    solo: solo.length > 0 ? { ...spread(solo), rounds: solo } : null,
    subjects,
    verdicts: verdicts(benchCase, variant, subjects),
  };
}

/**
 * Whether the targets of a variant hold, each against the reference or the subject that it names. By the metric, as long
 * as neither side came near what the peer can do alone; past that a rate says more about the peer, and CPU time per
 * operation decides, as it does where the target asks for it.
 */
export function verdicts(benchCase, { targets = [] }, figures) {
  const ours = figures.find((figure) => benchCase.subjects.find(({ name }) => name === figure.name)?.ours);
  return targets.map((target) => {
    if (target.below !== undefined) return absolute(benchCase, target, ours);
    const vs = target.vs ?? benchCase.reference;
    const theirs = figures.find((figure) => figure.name === vs);
    if (!ours || !theirs) return { ...target, vs, holds: null };
    const counts = [ours, theirs].every(({ ofSolo }) => ofSolo === null || ofSolo < SOLO_LIMIT);
    const by = target.of === 'cpu' || !counts ? 'cpu' : 'metric';
    const [of, better] = by === 'cpu' ? [cpuOf, 'lower'] : [valuesOf(benchCase), benchCase.metric.better];
    if (target.atMost !== undefined) {
      const ratio = pairedRatio(of(theirs), of(ours), better);
      return { ...target, vs, by, ratio, holds: ratio.median <= target.atMost };
    }
    const ratio = pairedRatio(of(ours), of(theirs), better);
    return { ...target, vs, by, ratio, holds: ratio.median >= target.atLeast };
  });
}

/** A bound on the metric itself, or on another figure of the rounds of ours, on this machine. */
function absolute(benchCase, target, ours) {
  if (!ours) return { ...target, holds: null };
  const value = spread(ours.rounds.map(target.figure ?? benchCase.metric.of));
  return { ...target, value, holds: value.median < target.below };
}

/** The metric of each round. */
function valuesOf({ metric }) {
  return ({ rounds }) => rounds.map(metric.of);
}

/** CPU time per operation of each round. */
function cpuOf({ rounds }) {
  return rounds.map((round) => round.cpuUs / round.operations);
}

/** Part of the machine's CPU time of a round that went neither to the subject nor to its peer nor to the harness. */
function othersShare(round, peerCpuUs) {
  const known = round.cpuUs + round.ownerCpuUs + (peerCpuUs ?? 0) * round.operations;
  const all = os.cpus().length * round.elapsedMs * 1000;
  return Math.min(Math.max((round.machineBusyUs - known) / all, 0), 1);
}

/** CPU time per operation and thread name, the median round of each. */
function threads(run) {
  const names = new Set(run.rounds.flatMap((round) => Object.keys(round.threadsUs)));
  const perOperation = (name) => median(run.rounds.map((round) => (round.threadsUs[name] ?? 0) / round.operations));
  return Object.fromEntries([...names].map((name) => [name, perOperation(name)]).filter(([, us]) => us >= 0.01));
}

function ownCpuUs() {
  const { user, system } = process.cpuUsage();
  return user + system;
}
