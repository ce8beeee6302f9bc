// The list of benchmarks: one folder under `bench/cases`, one `case.mjs` in it.

import { existsSync, readdirSync } from 'node:fs';

const FOLDER = new URL('../cases/', import.meta.url);

export function caseNames() {
  return readdirSync(FOLDER)
    .filter((name) => existsSync(new URL(`${name}/case.mjs`, FOLDER)))
    .toSorted();
}

export async function loadCase(name) {
  const { benchCase } = await import(new URL(`${name}/case.mjs`, FOLDER).href);
  if (benchCase.name !== name) throw new Error(`the case in ${name}/ calls itself ${benchCase.name}`);
  return benchCase;
}
