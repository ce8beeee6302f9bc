// Writes the one format: rustfmt for Rust, oxfmt for the rest.

import { sideCrates } from './lib/checks.mjs';
import { checkNode, checkRust, ensurePackages } from './lib/ensure.mjs';
import { main, must, packageBin } from './lib/run.mjs';

await main(async () => {
  checkNode();
  await ensurePackages();
  await checkRust();
  await must('cargo', ['fmt']);
  for (const folder of sideCrates) await must('cargo', ['fmt', '--manifest-path', `${folder}/Cargo.toml`]);
  const [command, first] = packageBin('oxfmt');
  await must(command, [...first, '--write']);
});
