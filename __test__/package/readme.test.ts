// The README says what the types say, and its examples are the ones that are compiled.

import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { errorCodes, options, serverFields, toolsetMembers } from '../helpers/documented.js';

const readme = read('../../README.md');

describe('README.md', () => {
  test('its examples are the ones that are compiled', () => {
    const compiled = read('../types/readme.test-d.ts');
    const examples = [...readme.matchAll(/^```ts\n(.*?)^```$/gms)].map((match) => match[1]);
    expect(examples.length).toBeGreaterThan(0);
    for (const example of examples) expect(compiled).toContain(example);
  });

  test('it lists every field of a stdio server and every option', () => {
    const [fields, listed] = tablesOf('### `mcpTools(servers, options?)`');
    expect(fields).toEqual(serverFields);
    expect(listed).toEqual(options);
  });

  test('it lists every member of the toolset', () => {
    const [members] = tablesOf('### The toolset');
    const named = members?.map((member) => /^\w+/.exec(member)?.[0]).filter((name) => name !== undefined);
    expect(named?.toSorted()).toEqual(toolsetMembers.toSorted());
  });

  test('it lists every error code', () => {
    expect(tablesOf('### Errors')[0]?.toSorted()).toEqual(errorCodes.toSorted());
  });
});

/** The tables below a heading, each as the code words that open its rows. */
function tablesOf(heading: string): string[][] {
  const start = readme.indexOf(`\n${heading}\n`);
  expect(start, heading).toBeGreaterThan(0);
  const section = readme.slice(start + heading.length).split(/\n#{2,3} /)[0] ?? '';
  return [...section.matchAll(/(?:^\|.*\n)+/gm)].map(([table]) =>
    [...table.matchAll(/^\|\s*`([^`]+)`/gm)].map(([, word]) => word ?? ''),
  );
}

function read(path: string): string {
  return readFileSync(new URL(path, import.meta.url), 'utf8').replaceAll('\r\n', '\n');
}
