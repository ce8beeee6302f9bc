// What a process cost: read inside the measured process, before and after its work.

import { readdirSync, readFileSync } from 'node:fs';

/** Everything a measurement needs from one moment, read so that reading it falls outside the measured time. */
export function snapshot(edge) {
  const threads = edge === 'start' ? threadTimes() : undefined;
  const times = processTimes();
  return { ...times, threads: threads ?? threadTimes() };
}

/** The cost between two snapshots: CPU in microseconds, of all threads of this process and nothing else. */
export function between(before, after) {
  const threads = {};
  for (const [id, thread] of after.threads) {
    const spent = (thread.ns - (before.threads.get(id)?.ns ?? 0)) / 1000;
    if (spent > 0) threads[thread.name] = (threads[thread.name] ?? 0) + spent;
  }
  return {
    elapsedMs: after.at - before.at,
    cpuUs: after.user - before.user + (after.system - before.system),
    userUs: after.user - before.user,
    systemUs: after.system - before.system,
    voluntarySwitches: after.voluntaryContextSwitches - before.voluntaryContextSwitches,
    involuntarySwitches: after.involuntaryContextSwitches - before.involuntaryContextSwitches,
    threadsUs: threads,
  };
}

/** Live memory after a collection (`--expose-gc` is on in every measured process). */
export function memory() {
  globalThis.gc?.();
  const { rss, heapUsed, external } = process.memoryUsage();
  return { rss, heapUsed, external };
}

function processTimes() {
  const at = performance.now();
  const { user, system } = process.cpuUsage();
  const { voluntaryContextSwitches, involuntaryContextSwitches } = process.resourceUsage();
  return { at, user, system, voluntaryContextSwitches, involuntaryContextSwitches };
}

/** CPU time per thread where the system tells it (Linux); empty elsewhere. */
function threadTimes() {
  const threads = new Map();
  let ids = [];
  try {
    ids = readdirSync('/proc/self/task');
  } catch {
    return threads;
  }
  for (const id of ids) {
    try {
      const ns = Number(readFileSync(`/proc/self/task/${id}/schedstat`, 'latin1').split(' ')[0]);
      const name = readFileSync(`/proc/self/task/${id}/comm`, 'latin1').trim();
      threads.set(id, {
        name: Number(id) === process.pid ? 'JavaScript' : name === 'node' ? 'helpers of node' : name,
        ns,
      });
    } catch {
      // The thread ended between the two reads.
    }
  }
  return threads;
}
