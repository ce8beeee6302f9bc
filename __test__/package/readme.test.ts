// The README says what the types say, and its examples are the ones that are compiled.

import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import {
  networkOptions,
  errorCodes,
  options,
  serverFields,
  serverMembers,
  serverOptions,
  isolationOptions,
  testedFields,
  stdioLimits,
  toolsetMembers,
} from '../helpers/documented.js';

const readme = read('../../README.md');

describe('README.md', () => {
  test('its examples are the ones that are compiled', () => {
    const compiled = [
      'readme',
      'readme-serving',
      'readme-adapters',
      'readme-network',
      'readme-auth',
      'readme-isolation',
      'readme-tenant-limits',
    ]
      .map((name) => read(`../types/${name}.test-d.ts`))
      .join('\n');
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

  test('it lists every option and method of a server', () => {
    const [listed, methods] = tablesOf('### `new MCPServer(config?, executor?)`');
    expect(listed).toEqual(serverOptions);
    expect(methods?.length).toBeGreaterThan(10);
    for (const member of serverMembers) expect(readme).toMatch(new RegExp(`\`[^\`]*\\b${member}\\b`));
  });

  test('it lists every limit of a stdio transport', () => {
    expect(tablesOf('### Serving over stdio')[0]).toEqual(stdioLimits);
  });

  test('it lists every option of a transport on a port', () => {
    expect(tablesOf('### Serving on a port')[0]).toEqual(networkOptions);
  });

  test('it lists every field of a tested tenant, and every option of the kit', () => {
    const [fields, listed] = tablesOf('### Proving isolation');
    expect(fields).toEqual(testedFields);
    expect(listed).toEqual(isolationOptions);
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
