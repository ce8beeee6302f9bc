import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { onTestFinished } from 'vitest';

/** A fresh folder for the running test, removed when the test has ended. */
export function workspace(): string {
  const folder = mkdtempSync(path.join(realpathSync(tmpdir()), 'espalier-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
