import { describe, expect, it } from 'vitest';
import {
  add,
  fromCargoTest,
  fromLine,
  fromNextest,
  fromNodeTest,
  fromVitest,
  line,
  none,
  one,
  settle,
} from '../../scripts/lib/counts.mjs';

describe('what the gate adds up', () => {
  it('reads the summary of nextest, colours and all', () => {
    const output = [
      '        PASS [   0.005s] espalier json::tests::keeps_order',
      '\u001b[31;1m     Summary\u001b[0m [   0.121s] \u001b[1m14\u001b[0m tests run: \u001b[1m11\u001b[0m \u001b[32;1mpassed\u001b[0m (1 slow), 2 \u001b[31;1mfailed\u001b[0m, 1 timed out, 3 skipped',
    ].join('\n');
    expect(fromNextest(output)).toEqual({ passed: 11, failed: 3, skipped: 3 });
  });

  it('adds the test binaries of cargo test', () => {
    const output = [
      'test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.10s',
      'test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s',
    ].join('\n');
    expect(fromCargoTest(output)).toEqual({ passed: 14, failed: 1, skipped: 1 });
  });

  it('reads the summary of node --test', () => {
    const output = ['# tests 12', '# pass 9', '# fail 1', '# cancelled 1', '# skipped 1', '# todo 0'].join('\n');
    expect(fromNodeTest(output)).toEqual({ passed: 9, failed: 2, skipped: 1 });
    expect(fromNodeTest('# pass 9')).toBeUndefined();
  });

  it('counts a test file that cannot be loaded as a failure', () => {
    const report = {
      numPassedTests: 3,
      numFailedTests: 1,
      numPendingTests: 1,
      numTodoTests: 2,
      testResults: [
        { status: 'passed', assertionResults: [] },
        { status: 'failed', assertionResults: [{ status: 'failed' }] },
        { status: 'failed', assertionResults: [] },
      ],
    };
    expect(fromVitest(report)).toEqual({ passed: 3, failed: 2, skipped: 3 });
  });

  it('never calls a run that failed a success', () => {
    expect(settle({ passed: 5, failed: 0, skipped: 0 }, 1)).toEqual({ passed: 5, failed: 1, skipped: 0 });
    expect(settle({ passed: 5, failed: 2, skipped: 0 }, 1)).toEqual({ passed: 5, failed: 2, skipped: 0 });
    expect(settle(undefined, 101)).toEqual(one(false));
  });

  it('never calls a run without a report a success', () => {
    expect(settle(undefined, 0)).toEqual(one(false));
  });

  it('reads its own last line back', () => {
    const counts = add(none, one(true), { passed: 40, failed: 2, skipped: 1 });
    expect(line(counts)).toBe('41 passed, 2 failed, 1 skipped');
    expect(fromLine(`${line(none)}\nnoise\n${line(counts)}\n`)).toEqual(counts);
    expect(fromLine('13 passed, 1 failed\n')).toEqual({ passed: 13, failed: 1, skipped: 0 });
    expect(fromLine('nothing')).toBeUndefined();
  });
});
