// `npm run quickstart`: installs and builds what is missing, then runs the example as a user would.

import { ensure } from './lib/ensure.mjs';
import { main } from './lib/run.mjs';

await main(async () => {
  await ensure({ profile: 'fast' });
  await import('../examples/quickstart.mjs');
  return process.exitCode;
});
