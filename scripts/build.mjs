// Builds the addon, then the facade: `node scripts/build.mjs [--profile release|fast]`.

import { parseArgs } from 'node:util';
import { ensure } from './lib/ensure.mjs';
import { Complaint, main, say } from './lib/run.mjs';

await main(async () => {
  const { values } = parseArgs({
    options: { profile: { type: 'string', default: 'release' }, force: { type: 'boolean', default: false } },
  });
  if (values.profile !== 'release' && values.profile !== 'fast') {
    throw new Complaint(`--profile is release or fast, not ${values.profile}`);
  }
  await ensure({ profile: values.profile, force: values.force });
  say(`built: native/ (profile ${values.profile} or better) and dist/`);
});
