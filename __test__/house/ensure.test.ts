import { describe, expect, it } from 'vitest';
import { checkNode } from '../../scripts/lib/ensure.mjs';

describe('the Node that the scripts accept', () => {
  it.each(['20.19.0', '20.20.2', '22.12.0', '22.13.1', '24.0.0', '26.1.0'])('takes %s', (version) => {
    expect(() => checkNode(version)).not.toThrow();
  });

  it.each(['18.20.0', '20.18.3', '21.7.0', '22.11.0'])('refuses %s and says what to install', (version) => {
    expect(() => checkNode(version)).toThrow(/Node .* is too old .* 20\.19 or later/);
  });

  it('agrees with engines in the manifest', async () => {
    const manifest = (await import('espalier/package.json', { with: { type: 'json' } })) as {
      default: { engines: { node: string } };
    };
    expect(manifest.default.engines.node).toBe('^20.19.0 || >=22.12.0');
  });
});
