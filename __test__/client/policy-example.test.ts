import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

import { expect, it } from 'vitest';

it('the example of a policy runs: a denied tool is not called, whatever its server says of it', () => {
  const example = fileURLToPath(new URL('../../examples/policy.mjs', import.meta.url));
  const { status, stdout, stderr } = spawnSync(process.execPath, [example], { encoding: 'utf8', timeout: 20_000 });

  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(stdout).toMatch(/^result {2}\{"__denied":true,"toolName":"shop__refund_order",/m);
  expect(stdout).toMatch(/^ok /m);
});
