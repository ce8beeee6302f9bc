// How a run of the official conformance suite is judged. The suite's own exit status says little (a client that does
// nothing passes several scenarios), so each scenario is judged by the checks that it left behind.

/** Added to scenarios by the suite itself; true of any client that sends well-formed messages, or none. */
const GENERIC_CHECK = 'wire-schema-valid';

/**
 * Why a scenario of the client did not pass, or `undefined` when it did: its checks are clean, and the driver came to its
 * end.
 *
 * @param {{ id: string, status: string, errorMessage?: string }[] | undefined} checks what `checks.json` holds
 * @param {string} stdout what the driver printed
 * @returns {string | undefined}
 */
export function complaint(checks, stdout) {
  return unclean(checks) ?? (/^driver done$/m.test(stdout) ? undefined : 'the driver did not come to its end');
}

/**
 * Why checks are not clean, or `undefined` when they are: they are there, none of them is a FAILURE or a WARNING, and at
 * least one is a SUCCESS of the scenario's own.
 *
 * @param {{ id: string, status: string, errorMessage?: string }[] | undefined} checks what `checks.json` holds
 * @returns {string | undefined}
 */
export function unclean(checks) {
  if (!Array.isArray(checks)) return 'left no checks: the scenario crashed or never ran';
  const bad = checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING');
  if (bad.length > 0)
    return bad.map(({ id, status, errorMessage = '' }) => `${status} ${id}: ${errorMessage}`).join('; ');
  if (!checks.some(({ id, status }) => status === 'SUCCESS' && id !== GENERIC_CHECK))
    return 'no check of its own succeeded';
  return undefined;
}

/**
 * The scenarios of one side that the suite runs for a revision, scored or not, out of `list --requirements <revision>`.
 *
 * @param {string} listing
 * @param {'client' | 'server'} [of]
 * @returns {string[]}
 */
export function requiredScenarios(listing, of = 'client') {
  const heading = of === 'client' ? 'Client' : 'Server';
  const found = [];
  let section = '';
  for (const line of listing.split('\n')) {
    if (/^\S.*:$/.test(line)) section = line;
    const [, name, side] = /^\s+- (\S+)(?: \[(server|client)\])?$/.exec(line) ?? [];
    if (name !== undefined && (side === of || (side === undefined && section.startsWith(heading)))) found.push(name);
  }
  return found;
}

/**
 * Every scenario of one side that the suite knows, out of `list --client` or `list --server`.
 *
 * @param {string} listing
 * @returns {string[]}
 */
export function allScenarios(listing) {
  return [...listing.matchAll(/^\s+- (\S+) \[[^\]]*\]$/gm)].map(([, name]) => name);
}

/**
 * What does not add up between the suite's scenarios, those that are run, and those left out.
 *
 * @param {{ all: string[], driven: string[], leftOut: string[] }} names
 * @returns {string[]}
 */
export function unaccounted({ all, driven, leftOut }) {
  return [
    ...all
      .filter((name) => !driven.includes(name) && !leftOut.includes(name))
      .map((name) => `${name}: neither driven nor left out by name`),
    ...driven.filter((name) => leftOut.includes(name)).map((name) => `${name}: both driven and left out`),
    ...[...driven, ...leftOut]
      .filter((name) => !all.includes(name))
      .map((name) => `${name}: the suite has no such scenario`),
  ];
}
