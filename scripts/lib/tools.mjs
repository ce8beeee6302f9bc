// The two checkers that npm does not bring: typos (a PyPI wheel) and cargo-deny (compiled). Both land in the git-ignored
// `.tools/`, pinned, and nowhere else. A tool that cannot be installed is a Complaint: a check that is left out in silence is worse than none.

import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { checkRust } from './ensure.mjs';
import { Complaint, duration, root, run, say, withHeartbeat, works } from './run.mjs';

const TYPOS = '1.52.0';
const CARGO_DENY = '0.20.2';

const folder = join(root, '.tools');
const suffix = process.platform === 'win32' ? '.exe' : '';

/** Path of the typos program. */
export async function typos() {
  return tool('typos', TYPOS, join(folder, 'python', 'bin', `typos${suffix}`), async () => {
    const python = await firstThatWorks(['python3', 'python']);
    if (python === undefined) throw new Complaint('python3 was not found: typos is installed from its PyPI wheel');
    return [
      python,
      [
        '-m',
        'pip',
        'install',
        '--quiet',
        '--disable-pip-version-check',
        '--upgrade',
        '--target',
        join(folder, 'python'),
        `typos==${TYPOS}`,
      ],
      { PIP_ROOT_USER_ACTION: 'ignore' },
    ];
  });
}

/** Path of the cargo-deny program. */
export async function cargoDeny() {
  return tool('cargo-deny', CARGO_DENY, join(folder, 'bin', `cargo-deny${suffix}`), async () => {
    await checkRust();
    return [
      'cargo',
      ['install', '--locked', '--root', folder, `cargo-deny@${CARGO_DENY}`],
      {
        CARGO_TARGET_DIR: join(folder, 'target'),
        CARGO_TERM_PROGRESS_WHEN: 'never',
        CARGO_PROFILE_RELEASE_LTO: 'off',
        CARGO_PROFILE_RELEASE_OPT_LEVEL: '0',
      },
    ];
  });
}

async function tool(name, version, path, installer) {
  if (await hasVersion(path, version)) return path;
  if (await hasVersion(name, version)) return name;
  const [command, args, env] = await installer();
  say(`> installing ${name} ${version} into .tools/`);
  const started = Date.now();
  const { code } = await withHeartbeat(`installing ${name}`, () => run(command, args, { env }), 30_000);
  if (code !== 0 || !(await hasVersion(path, version))) {
    throw new Complaint(
      `${name} ${version} could not be installed (exit ${code}); the checks that need it cannot run without it`,
    );
  }
  rmSync(join(folder, 'target'), { recursive: true, force: true });
  say(`  installed in ${duration(Date.now() - started)}`);
  return path;
}

async function hasVersion(path, version) {
  if (path.startsWith(folder) && !existsSync(path)) return false;
  try {
    const { code, output } = await run(path, ['--version'], { show: false });
    return code === 0 && output.trim().split(/\s+/).includes(version);
  } catch {
    return false;
  }
}

async function firstThatWorks(commands) {
  for (const command of commands) {
    if (await works(command, ['-m', 'pip', '--version'])) return command;
  }
  return undefined;
}
