// The few statistics the harness reports. Pure functions, tried by stats.test.mjs.

/** The middle value; of an even number of values, the mean of the two middle ones. NaN for none. */
export function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  if (sorted.length === 0) return NaN;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** The nearest-rank percentile (`fraction` 0.99 for p99) of values that are sorted already. NaN for none. */
export function percentile(sorted, fraction) {
  if (sorted.length === 0) return NaN;
  const rank = Math.ceil(fraction * sorted.length);
  return sorted[Math.min(Math.max(rank, 1), sorted.length) - 1];
}

/** Median, smallest and largest of some values. */
export function spread(values) {
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) };
}

/**
 * How many times better `ours` is than `theirs`, pair by pair: round i is held against round i only, since the two
 * ran one right after the other on the same machine in the same state.
 */
export function pairedRatio(ours, theirs, better) {
  if (ours.length !== theirs.length) throw new Error('a paired ratio needs as many rounds on both sides');
  return spread(ours.map((value, i) => (better === 'higher' ? value / theirs[i] : theirs[i] / value)));
}
