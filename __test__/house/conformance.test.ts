import { readFileSync } from 'node:fs';

import { describe, expect, it } from 'vitest';

import { scenarios } from '../conformance/scenarios.mjs';
import { allScenarios, complaint, requiredScenarios, unaccounted } from '../../scripts/lib/conformance.mjs';

const good = { id: 'tools-called', status: 'SUCCESS' };
const generic = { id: 'wire-schema-valid', status: 'SUCCESS' };
const end = 'whatever\ndriver done\n';

describe('a scenario of the conformance suite', () => {
  it('passes with a success of its own, and with checks that were skipped or only inform', () => {
    expect(
      complaint([good, generic, { id: 'a', status: 'SKIPPED' }, { id: 'b', status: 'INFO' }], end),
    ).toBeUndefined();
  });

  it.each<[string, { id: string; status: string; errorMessage?: string }[] | undefined, string]>([
    ['it left nothing', undefined, end],
    ['it left no checks', [], end],
    ['a check failed', [good, { id: 'bad', status: 'FAILURE', errorMessage: 'why' }], end],
    ['a check warned', [good, { id: 'bad', status: 'WARNING' }], end],
    ['only the schema was checked', [generic], end],
    ['everything was skipped', [{ id: 'a', status: 'SKIPPED' }], end],
    ['the driver died', [good], 'Error: gone\n'],
  ])('does not pass when %s', (_why, checks, stdout) => {
    expect(complaint(checks, stdout)).toEqual(expect.any(String));
  });
});

describe('the lists of the suite', () => {
  const required = [
    'Required for 2026-07-28 (69 scenarios, frozen; run at the 2026-07-28 wire):',
    '',
    'Server scenarios (test against a server):',
    '  - tools-list',
    '',
    'Client scenarios (test against a client):',
    '  - tools_call',
    '  - auth/basic-cimd',
    '',
    'Run and reported, but never scored:',
    '  extension (2):',
    '    - auth/dpop [client]',
    '    - tasks-lifecycle [server]',
  ].join('\n');

  it('give the scenarios of the client, scored or not', () => {
    expect(requiredScenarios(required)).toEqual(['tools_call', 'auth/basic-cimd', 'auth/dpop']);
  });

  it('give the scenarios of the server', () => {
    expect(requiredScenarios(required, 'server')).toEqual(['tools-list', 'tasks-lifecycle']);
  });

  it('give every scenario', () => {
    const all =
      'Client scenarios (test against a client):\n  - initialize [2025-06-18,2025-11-25]\n  - auth/dpop [extension]\n';
    expect(allScenarios(all)).toEqual(['initialize', 'auth/dpop']);
  });

  it('are accounted for, name by name', () => {
    const names = { all: ['a', 'b'], driven: ['a'], leftOut: ['b'] };
    expect(unaccounted(names)).toEqual([]);
    expect(unaccounted({ ...names, all: ['a', 'b', 'new'] })).toHaveLength(1);
    expect(unaccounted({ ...names, leftOut: ['a', 'b'] })).toHaveLength(1);
    expect(unaccounted({ ...names, all: ['b'] })).toHaveLength(1);
  });

  it('are split: no scenario that is driven is left out', () => {
    const leftOut = readFileSync(new URL('../conformance/left-out.json', import.meta.url), 'utf8');
    for (const name of Object.keys(scenarios)) expect(leftOut).not.toContain(`"${name}"`);
  });
});
