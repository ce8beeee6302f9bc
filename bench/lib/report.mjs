// The readable side of the figures.

import { SOLO_LIMIT } from './harness.mjs';

/** Others may take this part of the machine before a run is called disturbed. */
const QUIET = 0.1;

/** Largest over smallest solo rate above which waking up, not working, decides what a round shows. */
const SWING = 3;

export function machineLines(machine, versions, build) {
  const packages = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  if (build) packages[0] += ` (${build})`;
  return [
    `${machine.cpu}, ${machine.cores} cores, ${machine.memoryGiB} GiB, ${machine.system} ${machine.arch}, Node ${machine.node}`,
    packages.join(', '),
  ];
}

export function variantLines(benchCase, figures) {
  const { metric, reference, soloOf = 'the server' } = benchCase;
  const lines = [`${figures.variant}: ${figures.title}`];
  if (figures.solo) {
    const { median, min, max } = figures.solo;
    lines.push(`  solo rate of ${soloOf}: ${number(median)} ${metric.unit} (${number(min)} to ${number(max)})`);
  }
  const latency = figures.subjects.some((subject) => subject.latencyUs) && figures.params?.inFlight === 1;
  const heads = ['subject', metric.unit, `vs ${reference}`, 'spread', 'CPU µs/op', 'system', `vs ${reference}`];
  if (latency) heads.push('p50 µs', 'p99 µs');
  if (figures.solo) heads.push('of solo');
  heads.push('others');
  const rows = figures.subjects.map((subject) => {
    const row = [
      subject.name,
      number(subject.value.median),
      ...ratio(subject.ratio),
      number(subject.cpuUs.median),
      number(subject.systemCpuUs),
      ratio(subject.cpuRatio)[0],
    ];
    if (latency) row.push(number(subject.latencyUs.p50), number(subject.latencyUs.p99));
    if (figures.solo) row.push(subject.ofSolo === null ? '' : percent(subject.ofSolo));
    row.push(percent(subject.othersShare));
    return row;
  });
  lines.push(...table([heads, ...rows]).map((line) => `  ${line}`));
  lines.push(...notes(figures).map((line) => `  ${line}`));
  return lines;
}

/** One line per target, in words. */
export function verdictLines({ metric }, { variant, verdicts }) {
  return verdicts.map(({ atLeast, atMost, below, unit = metric.unit, value, vs, of, by, ratio: found, holds }) => {
    if (below !== undefined) {
      const line = `target ${variant}: below ${below.toFixed(2)} ${unit}`;
      if (holds === null) return `${line}: NOT MEASURED (a subject is missing)`;
      const range = `${value.min.toFixed(2)} to ${value.max.toFixed(2)}`;
      return `${line}: ${holds ? 'holds' : 'DOES NOT HOLD'}: ${value.median.toFixed(2)} (${range})`;
    }
    const what = of === 'cpu' ? 'less CPU time than' : 'better than';
    const wanted =
      atMost === undefined
        ? `at least ${atLeast.toFixed(2)} times ${what} ${vs}`
        : `at most ${atMost.toFixed(2)} times the ${of === 'cpu' ? 'CPU time' : metric.unit} of ${vs}`;
    const line = `target ${variant}: ${wanted}`;
    if (holds === null) return `${line}: NOT MEASURED (a subject is missing)`;
    const range = `${found.min.toFixed(2)} to ${found.max.toFixed(2)}`;
    const how =
      by === 'cpu' && of !== 'cpu' ? ', by CPU time per operation, since a rate came too near the solo rate' : '';
    return `${line}: ${holds ? 'holds' : 'DOES NOT HOLD'}: ${found.median.toFixed(2)} (${range})${how}`;
  });
}

function notes({ solo, subjects }) {
  const lines = [];
  if (solo && solo.max > solo.min * SWING) {
    lines.push('! the solo rate swings: this machine wakes its cores at very different speeds from round to round');
  }
  for (const { name, ofSolo } of subjects) {
    if (ofSolo >= SOLO_LIMIT)
      lines.push(`! ${name} is above ${percent(SOLO_LIMIT)} of the solo rate: its CPU time counts, not its rate`);
  }
  const disturbed = subjects.filter(({ othersShare }) => othersShare > QUIET);
  if (disturbed.length > 0) {
    lines.push(
      `! other programs took more than ${percent(QUIET)} of the machine: rates are too low, ratios still compare like with like`,
    );
  }
  return lines;
}

/** The busiest functions of a V8 CPU profile, by their own time. */
export function profileLines(profile, operations, { limit = 30, root = '' } = {}) {
  const spent = new Map();
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  profile.samples.forEach((id, i) => {
    const { functionName, url, lineNumber } = nodes.get(id).callFrame;
    const where = url ? ` ${url.replace('file://', '').replace(root, '')}:${lineNumber + 1}` : '';
    const key = `${functionName || '(anonymous)'}${where}`;
    spent.set(key, (spent.get(key) ?? 0) + (profile.timeDeltas[i] ?? 0));
  });
  const total = profile.timeDeltas.reduce((sum, delta) => sum + delta, 0);
  const rows = [...spent]
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, limit)
    .map(([key, us]) => [key, percent(us / total), number(us / operations)]);
  return table([['function (own time)', 'of wall', 'µs/op'], ...rows]);
}

/** Columns under each other: the first to the left, numbers to the right. */
export function table(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  return rows.map((row) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[column]) : cell.padStart(widths[column])))
      .join('  ')
      .trimEnd(),
  );
}

/** Three digits that matter; thousands apart. */
export function number(value) {
  if (!Number.isFinite(value)) return '-';
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en');
  return value.toFixed(Math.abs(value) >= 10 ? 1 : 2);
}

function percent(part) {
  return `${Math.round(part * 100)} %`;
}

function ratio(found) {
  return found ? [found.median.toFixed(2), `${found.min.toFixed(2)}-${found.max.toFixed(2)}`] : ['', ''];
}
