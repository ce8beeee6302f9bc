// Adds up what the test runners report. Reads their output, decides nothing.

export const none = Object.freeze({ passed: 0, failed: 0, skipped: 0 });

export function add(...counts) {
  return counts.reduce(
    (sum, count) => ({
      passed: sum.passed + count.passed,
      failed: sum.failed + count.failed,
      skipped: sum.skipped + count.skipped,
    }),
    none,
  );
}

export function one(passed) {
  return passed ? { ...none, passed: 1 } : { ...none, failed: 1 };
}

/** The last line of `npm test` and of the gate. */
export function line({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed, ${skipped} skipped`;
}

/** The same line out of a program's output, the last one winning; one that skips nothing may leave that out. */
export function fromLine(output) {
  const found = [...plain(output).matchAll(/^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$/gm)].at(-1);
  return found && { passed: Number(found[1]), failed: Number(found[2]), skipped: Number(found[3] ?? 0) };
}

/** `Summary [ 0.005s] 12 tests run: 10 passed (1 slow), 2 failed, 3 skipped` */
export function fromNextest(output) {
  const summary = [...plain(output).matchAll(/^\s*Summary \[.*$/gm)].at(-1)?.[0];
  if (summary === undefined) return undefined;
  const number = (word) => Number(new RegExp(`(\\d+) ${word}`).exec(summary)?.[1] ?? 0);
  return {
    passed: number('passed'),
    failed: number('failed') + number('timed out') + number('exec failed'),
    skipped: number('skipped'),
  };
}

/** `test result: ok. 12 passed; 0 failed; 1 ignored; ...`, one line per test binary. */
export function fromCargoTest(output) {
  const lines = [...plain(output).matchAll(/^test result: .*? (\d+) passed; (\d+) failed; (\d+) ignored;/gm)];
  if (lines.length === 0) return undefined;
  return add(
    ...lines.map(([, passed, failed, ignored]) => ({
      passed: Number(passed),
      failed: Number(failed),
      skipped: Number(ignored),
    })),
  );
}

/** The last lines of `node --test` in TAP form: `# pass 12`, `# fail 0`, `# cancelled 0`, `# skipped 1`, `# todo 0`. */
export function fromNodeTest(output) {
  const number = (word) => Number(new RegExp(`^# ${word} (\\d+)$`, 'm').exec(plain(output))?.[1] ?? Number.NaN);
  const counts = {
    passed: number('pass'),
    failed: number('fail') + number('cancelled'),
    skipped: number('skipped') + number('todo'),
  };
  return Number.isNaN(counts.passed + counts.failed + counts.skipped) ? undefined : counts;
}

/** The report of vitest's json reporter. A file that cannot be loaded holds no tests but is a failure all the same. */
export function fromVitest(report) {
  const unloadable = report.testResults.filter(
    (file) => file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed'),
  );
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests + unloadable.length,
    skipped: report.numPendingTests + report.numTodoTests,
  };
}

/**
 * What a runner counts as, by its report and its exit code: a failure that no test stands for is still one, and so is a
 * report that is missing.
 */
export function settle(counts, exitCode) {
  if (counts === undefined) return one(false);
  return exitCode !== 0 && counts.failed === 0 ? add(counts, one(false)) : counts;
}

function plain(text) {
  // oxlint-disable-next-line no-control-regex -- colour codes are control characters
  return text.replaceAll(/\u001b\[[0-9;]*m/g, '').replaceAll('\r\n', '\n');
}
