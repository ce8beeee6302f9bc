// The measured process: one subject, alone, driven over IPC by `subject.mjs`.
//
// argv: the subject's module, and the module of the work (`-` where the load comes from outside).
//   subject module  `start(input)` returns `{ close(), info?, pid?, ... }`; `pid` is that of a program which stands behind
//                   it and is measured in its place
//   work module     `measure(subject, params, clock)` does the work and returns `{ operations, ... }`; it calls
//                   `clock.start()` and `clock.stop()` around it, so that preparing and summing up are not counted
//
// The reply carries numbers, never raw samples. Nothing collects garbage before the end: a forced collection throws away
// compiled code, and the round after it would measure the compiler.

import inspector from 'node:inspector/promises';
import { writeFile } from 'node:fs/promises';

import { between, memory, snapshot } from './usage.mjs';

const [subjectModule, workModule] = process.argv.slice(2);

let subject;
let work;
let openWindow;

const operations = {
  async start({ input }) {
    ({ measure: work } = workModule === '-' ? {} : await import(workModule));
    const { start } = await import(subjectModule);
    subject = await start(input);
    return { info: subject.info ?? null, pid: process.pid };
  },

  async measure({ params, profileTo }) {
    const session = profileTo ? await startProfile() : undefined;
    const clock = new Clock();
    const result = await work(subject, params, clock);
    const cost = clock.cost();
    if (session) await writeFile(profileTo, JSON.stringify(await stopProfile(session)));
    return { ...cost, ...result };
  },

  // The two ends of a window in which something outside does the work.
  async begin({ profileTo }) {
    openWindow = new Clock(subject.pid);
    openWindow.session = profileTo ? await startProfile() : undefined;
    openWindow.start();
  },

  async end({ profileTo }) {
    openWindow.stop();
    if (openWindow.session) await writeFile(profileTo, JSON.stringify(await stopProfile(openWindow.session)));
    return openWindow.cost();
  },

  async stop() {
    const held = memory(subject?.pid);
    await close();
    return { memory: held };
  },
};

process.on('message', (request) => void answer(request));

// The harness went away, in whatever way: leave nothing running.
process.on('disconnect', () => {
  setTimeout(() => process.exit(1), 5000).unref();
  close().then(
    () => process.exit(0),
    () => process.exit(1),
  );
});

async function answer({ id, operation, ...input }) {
  try {
    process.send({ id, value: await operations[operation](input) });
  } catch (error) {
    process.send({ id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }
}

async function close() {
  const closing = subject;
  subject = undefined;
  await closing?.close();
}

class Clock {
  #pid;
  #before;
  #after;

  /** `pid` for the cost of another process than this one. */
  constructor(pid) {
    this.#pid = pid;
  }

  start() {
    this.#before = snapshot('start', this.#pid);
  }

  stop() {
    this.#after = snapshot('stop', this.#pid);
  }

  cost() {
    if (!this.#before || !this.#after) throw new Error('the work did not start and stop its clock');
    return between(this.#before, this.#after);
  }
}

async function startProfile() {
  const session = new inspector.Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.setSamplingInterval', { interval: 250 });
  await session.post('Profiler.start');
  return session;
}

async function stopProfile(session) {
  const { profile } = await session.post('Profiler.stop');
  session.disconnect();
  return profile;
}
