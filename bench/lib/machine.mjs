// Where and with what a figure was taken, and how busy the machine was with other things.

import { readFile } from 'node:fs/promises';
import os from 'node:os';
import { fileURLToPath } from 'node:url';

const ROOT = new URL('../../', import.meta.url);

export function machine() {
  const cpus = os.cpus();
  return {
    cpu: cpus[0]?.model.trim() ?? 'unknown',
    cores: cpus.length,
    memoryGiB: Math.round(os.totalmem() / 2 ** 30),
    system: `${os.type()} ${os.release()}`,
    arch: process.arch,
    node: process.versions.node,
    v8: process.versions.v8,
  };
}

/** The versions of packages as installed, and of this one. */
export async function versions(packages) {
  const found = { espalier: (await manifest(new URL('package.json', ROOT))).version };
  for (const name of packages) {
    found[name] = (await manifest(new URL(`node_modules/${name}/package.json`, ROOT))).version;
  }
  return found;
}

/** CPU time of the whole machine so far, in microseconds, all cores. */
export function machineBusyUs() {
  let busy = 0;
  for (const { times } of os.cpus()) busy += times.user + times.nice + times.sys + times.irq;
  return busy * 1000;
}

export const root = fileURLToPath(ROOT);

async function manifest(url) {
  return JSON.parse(await readFile(url, 'utf8'));
}
