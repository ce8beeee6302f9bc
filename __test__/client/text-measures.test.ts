import { estimateTokens, isProviderLegalToolName } from 'espalier/node';
import { describe, expect, it } from 'vitest';

import { vectors } from '../helpers/vectors.js';

describe('`estimateTokens`', () => {
  it.each(vectors.estimateTokens)('counts %j as %d', (text, tokens) => {
    expect(estimateTokens(text)).toBe(tokens);
  });

  it('counts UTF-16 code units, half surrogate pairs too', () => {
    expect(estimateTokens('😀😀')).toBe(1);
    expect(estimateTokens('\ud800'.repeat(5))).toBe(2);
    expect(estimateTokens('x'.repeat(1_000_001))).toBe(250_001);
  });
});

describe('`isProviderLegalToolName`', () => {
  it.each(['a', 'A-b_9', '-', '_', '0', 'x'.repeat(64)])('takes %s', (name) => {
    expect(isProviderLegalToolName(name)).toBe(true);
  });

  it.each(['', 'x'.repeat(65), 'a.b', 'a b', 'a/b', 'é', 'a\n', '\na', 'a\0', '中', '😀', '\ud800', 'ａ'])(
    'refuses %j',
    (name) => {
      expect(isProviderLegalToolName(name)).toBe(false);
    },
  );
});
