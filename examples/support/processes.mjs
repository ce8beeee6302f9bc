// Which processes descend from this one. A process is known by its pid and its start time, since pids are used again.

import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';

/** Windows has no cheap way to ask. */
export const canListProcesses = process.platform !== 'win32';

/** Every living descendant of this process, zombies included: `{ pid, parent, started, title }`. */
export function descendants() {
  const all = list();
  const found = [];
  const ours = new Set([process.pid]);
  for (let before = -1; before !== ours.size;) {
    before = ours.size;
    for (const entry of all) {
      if (ours.has(entry.pid) || !ours.has(entry.parent)) continue;
      ours.add(entry.pid);
      found.push(entry);
    }
  }
  return found;
}

/** Those of the given processes that are there still, wherever they hang in the tree by now. */
export function survivors(processes) {
  const now = new Set(list().map(identity));
  return processes.filter((entry) => now.has(identity(entry)));
}

function identity({ pid, started }) {
  return `${pid} ${started}`;
}

function list() {
  if (!canListProcesses) return [];
  return process.platform === 'linux' ? fromProc() : fromPs();
}

function fromProc() {
  const found = [];
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      // `pid (name) state ppid ...`: the name may hold anything, so the fields count from the last bracket.
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      const words = readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0').filter(Boolean);
      const title = fields[0] === 'Z' ? 'ended, not reaped' : titleOf(words);
      found.push({ pid: Number(name), parent: Number(fields[1]), started: fields[19], title });
    } catch {
      // It ended while we looked.
    }
  }
  return found;
}

function fromPs() {
  const ps = spawnSync('ps', ['-A', '-o', 'pid=,ppid=,lstart=,args='], {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  if (ps.status !== 0) throw new Error(`ps cannot list processes: ${ps.error?.message ?? ps.stderr}`);
  const row = /^\s*(\d+)\s+(\d+)\s+((?:\S+\s+){4}\S+)\s+(.*)$/;
  return ps.stdout
    .split('\n')
    .map((text) => row.exec(text))
    .filter((match) => match !== null && Number(match[1]) !== ps.pid)
    .map(([, pid, parent, started, args]) => ({
      pid: Number(pid),
      parent: Number(parent),
      started,
      title: titleOf(args.split(' ')),
    }));
}

/** `node server-memory/dist/index.js` out of two long paths. */
function titleOf([program = '?', first = '']) {
  return `${basename(program)} ${first.split(/[\\/]/).slice(-3).join('/')}`.trim();
}
