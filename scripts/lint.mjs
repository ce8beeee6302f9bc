// Every check that is not a test, on a built tree: `npm run lint`.

import { ensure } from './lib/ensure.mjs';
import { packageChecks, sourceChecks, typedChecks } from './lib/checks.mjs';
import { main } from './lib/run.mjs';
import { Steps } from './lib/steps.mjs';

await main(async () => {
  await ensure();
  const steps = new Steps();
  for (const check of [...sourceChecks, ...typedChecks, ...packageChecks]) await steps.step(check.name, check.run);
  return steps.finish();
});
