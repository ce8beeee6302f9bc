// Runs named steps one after another, each to its end whatever the ones before it said, and prints a table of what became of them.

import { add, line, none, one } from './counts.mjs';
import { Complaint, duration, say } from './run.mjs';

export class Steps {
  #results = [];

  /** Runs one step. `body` returns an exit code, a boolean or counts; a step that throws has failed and says why. */
  async step(name, body) {
    say(`\n== ${name}`);
    const started = Date.now();
    let counts;
    try {
      const result = await body();
      counts = typeof result === 'object' ? result : one(result === 0 || result === true);
    } catch (error) {
      process.stderr.write(`${error instanceof Complaint ? error.message : error.stack}\n`);
      counts = one(false);
    }
    const ok = counts.failed === 0;
    this.#results.push({ name, counts, ok, ms: Date.now() - started });
    if (!ok) say(`== ${name}: FAILED`);
    return ok;
  }

  /** Notes a step that could not run because an earlier one failed. */
  skip(name, why) {
    say(`\n== ${name}: not run (${why})`);
    this.#results.push({ name, counts: { ...none, skipped: 1 }, ok: true, skipped: true, ms: 0 });
  }

  get counts() {
    return add(none, ...this.#results.map((result) => result.counts));
  }

  /** Prints the table and the last line; returns the exit code. */
  finish() {
    say('');
    const width = Math.max(...this.#results.map(({ name }) => name.length));
    for (const { name, ok, skipped, ms } of this.#results) {
      say(`${skipped ? 'skip' : ok ? 'ok  ' : 'FAIL'}  ${name.padEnd(width)}  ${duration(ms)}`);
    }
    say('');
    say(line(this.counts));
    return this.counts.failed === 0 ? 0 : 1;
  }
}
