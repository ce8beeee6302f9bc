import assert from 'node:assert/strict';
import { test } from 'node:test';

import { median, pairedRatio, percentile, spread } from './stats.mjs';

test('the median is the middle, whatever the order', () => {
  assert.equal(median([9, 1, 5]), 5);
  assert.equal(median([4, 1, 3, 2]), 2.5);
  assert.equal(median([10, 9, 100]), 10);
  assert.ok(Number.isNaN(median([])));
});

test('a percentile is a value that was seen', () => {
  const hundred = Array.from({ length: 100 }, (_, i) => i + 1);
  assert.equal(percentile(hundred, 0.5), 50);
  assert.equal(percentile(hundred, 0.99), 99);
  assert.equal(percentile(hundred, 1), 100);
  assert.equal(percentile([7], 0.99), 7);
});

test('a spread has its ends', () => {
  assert.deepEqual(spread([3, 1, 2]), { median: 2, min: 1, max: 3 });
});

test('a ratio goes pair by pair, so a drift of the whole machine leaves it alone', () => {
  // The machine slows down by half in every round; ours stays twice as fast as theirs.
  const ratio = pairedRatio([800, 400, 200], [400, 200, 100], 'higher');
  assert.deepEqual(ratio, { median: 2, min: 2, max: 2 });
});

test('where lower is better the ratio is still above one when ours is better', () => {
  assert.equal(pairedRatio([5], [10], 'lower').median, 2);
  assert.throws(() => pairedRatio([1, 2], [1], 'lower'), /as many rounds/);
});
