// What a process cost: read inside the measured process, before and after its work; or from outside, of a program that is
// not Node (Linux only).

import { readdirSync, readFileSync } from 'node:fs';

/** Everything a measurement needs from one moment, read so that reading it falls outside the measured time. */
export function snapshot(edge, pid) {
  if (pid !== undefined) return foreignTimes(pid);
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
export function memory(pid) {
  if (pid !== undefined) {
    const pages = Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1]);
    return { rss: pages * 4096, heapUsed: 0, external: 0 };
  }
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

/** The kernel counts user and system apart in ticks only, so that their sum is taken from the threads. */
function foreignTimes(pid) {
  const at = performance.now();
  const threads = threadTimes(pid);
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  const [utime, stime] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13)
    .map(Number);
  const all = [...threads.values()].reduce((sum, { ns }) => sum + ns, 0) / 1000;
  const system = utime + stime === 0 ? 0 : (all * stime) / (utime + stime);
  const switches = { voluntaryContextSwitches: 0, involuntaryContextSwitches: 0 };
  return { at, user: all - system, system, ...switches, threads };
}

/** CPU time per thread where the system tells it (Linux); empty elsewhere. */
function threadTimes(pid = 'self') {
  const threads = new Map();
  let ids = [];
  try {
    ids = readdirSync(`/proc/${pid}/task`);
  } catch {
    return threads;
  }
  for (const id of ids) {
    try {
      const ns = Number(readFileSync(`/proc/${pid}/task/${id}/schedstat`, 'latin1').split(' ')[0]);
      const name = readFileSync(`/proc/${pid}/task/${id}/comm`, 'latin1').trim();
      threads.set(id, {
        name: pid === 'self' && Number(id) === process.pid ? 'JavaScript' : name === 'node' ? 'helpers of node' : name,
        ns,
      });
    } catch {
      // The thread ended between the two reads.
    }
  }
  return threads;
}
