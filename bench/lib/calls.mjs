// Work for subjects that answer calls: `subject.call(text)` resolves to the text the server echoed.
//
// Every answer is compared with what was asked, inside the measured time and for every subject alike: a client that
// mixes up its answers is not fast. The texts are made before the clock starts and differ from each other, so that no
// two calls in flight are alike.

import { percentile } from './stats.mjs';

const DISTINCT_TEXTS = 256;

/**
 * Keeps `inFlight` calls going for `seconds`; with 1 each call waits for the one before it. The first time, `warmUpCalls`
 * come before that: an engine compiles what ran so and so often, not what ran so and so long.
 */
export async function measure(subject, { inFlight, textBytes, seconds, warmUpCalls = 0 }, clock) {
  const texts = makeTexts(textBytes);
  const uncounted = warmed.has(subject) ? 0 : (await callAll(subject, texts, inFlight, { calls: warmUpCalls })).count;
  warmed.add(subject);
  clock.start();
  const latencies = await callAll(subject, texts, inFlight, { seconds });
  clock.stop();
  return { operations: latencies.count, uncounted, latencyUs: latencies.summary() };
}

const warmed = new WeakSet();

/** Until so many seconds have passed, or so many calls were made. */
async function callAll(subject, texts, inFlight, { seconds = Infinity, calls = Infinity }) {
  const latencies = new Latencies();
  const until = performance.now() + seconds * 1000;
  let next = 0;

  async function loop() {
    let began = performance.now();
    while (began < until && next < calls) {
      const text = texts[next++ % DISTINCT_TEXTS];
      const answer = await subject.call(text);
      const ended = performance.now();
      if (answer !== text) throw new Error(`asked ${brief(text)}, was answered ${brief(answer)}`);
      latencies.add(ended - began);
      began = ended;
    }
  }

  await Promise.all(Array.from({ length: inFlight }, loop));
  return latencies;
}

function makeTexts(bytes) {
  return Array.from({ length: DISTINCT_TEXTS }, (_, i) => `${i} `.padEnd(bytes, 'the quick brown fox, '));
}

function brief(value) {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 80 ? `${text.slice(0, 80)}… (${text.length} characters)` : text;
}

class Latencies {
  #samples = new Float64Array(1 << 18);
  count = 0;

  add(milliseconds) {
    if (this.count === this.#samples.length) {
      const larger = new Float64Array(this.#samples.length * 2);
      larger.set(this.#samples);
      this.#samples = larger;
    }
    this.#samples[this.count++] = milliseconds;
  }

  /** In microseconds. */
  summary() {
    const sorted = this.#samples.subarray(0, this.count).toSorted();
    return { p50: percentile(sorted, 0.5) * 1000, p99: percentile(sorted, 0.99) * 1000 };
  }
}
