import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { entryPoints, pack, type Packed } from './packed.js';

describe('a CommonJS program', () => {
  let packed: Packed;

  beforeAll(async () => {
    packed = await pack();
  }, 120_000);
  afterAll(() => packed?.remove());

  it.each(entryPoints)('gets the same module from require(%j) as from import()', async (name) => {
    const text = `
      const required = require('${name}');
      import('${name}').then((imported) => console.log(required === imported, Object.keys(required).length > 0));
    `;
    const { stdout, stderr } = await packed.run(text, { name: 'program.cjs' });
    expect({ stdout, stderr }).toEqual({ stdout: 'true true\n', stderr: '' });
  });

  it('sees one McpError class through every entry point', async () => {
    const text = `console.log(require('espalier').McpError === require('espalier/node').McpError);`;
    const { stdout } = await packed.run(text, { name: 'classes.cjs' });
    expect(stdout).toBe('true\n');
  });
});
