// Holds the version of the package against those of the crate and of every platform package; with an argument, against
// that too: `node scripts/versions.mjs [version]`. `napi version` moves the platform packages.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Complaint, main, root, say } from './lib/run.mjs';

await main(() => {
  const { version, napi } = manifest('package.json');
  const found = {
    'Cargo.toml': /^version = "(.*)"$/m.exec(text('Cargo.toml'))?.[1],
    'package-lock.json': manifest('package-lock.json').version,
  };
  for (const folder of readdirSync(join(root, 'npm'))) {
    found[`npm/${folder}`] = manifest(`npm/${folder}/package.json`).version;
  }
  if (process.argv[2] !== undefined) found['the tag'] = process.argv[2];
  const platforms = readdirSync(join(root, 'npm')).length;
  if (platforms !== napi.targets.length) {
    throw new Complaint(`npm/ holds ${platforms} platform packages for ${napi.targets.length} targets`);
  }
  const wrong = Object.entries(found).filter(([, other]) => other !== version);
  if (wrong.length > 0) {
    const list = wrong.map(([where, other]) => `  ${where}: ${other}`).join('\n');
    throw new Complaint(`package.json has version ${version}; these differ:\n${list}`);
  }
  say(`version ${version} everywhere`);
});

function text(path) {
  return readFileSync(join(root, path), 'utf8');
}

function manifest(path) {
  return JSON.parse(text(path));
}
