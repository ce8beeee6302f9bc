// How a run of the official conformance suite is judged. The suite's own exit status says little (a client that does
// nothing passes several scenarios), so each scenario is judged by the checks that it left behind.

/** Added to scenarios by the suite itself; true of any client that sends well-formed messages, or none. */
const GENERIC_CHECK = 'wire-schema-valid';

/**
 * Why a scenario did not pass, or `undefined` when it did: its checks are there, none of them is a FAILURE or a WARNING, at
 * least one is a SUCCESS of the scenario's own, and the driver came to its end.
 *
 * @param {{ id: string, status: string, errorMessage?: string }[] | undefined} checks what `checks.json` holds
 * @param {string} stdout what the driver printed
 * @returns {string | undefined}
 */
export function complaint(checks, stdout) {
  if (!Array.isArray(checks)) return 'left no checks: the scenario crashed or never ran';
  const bad = checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING');
  if (bad.length > 0)
    return bad.map(({ id, status, errorMessage = '' }) => `${status} ${id}: ${errorMessage}`).join('; ');
  if (!checks.some(({ id, status }) => status === 'SUCCESS' && id !== GENERIC_CHECK))
    return 'no check of its own succeeded';
  if (!/^driver done$/m.test(stdout)) return 'the driver did not come to its end';
  return undefined;
}

/**
 * The client scenarios that the suite runs for a revision, scored or not, out of `list --requirements <revision>`.
 *
 * @param {string} listing
 * @returns {string[]}
 */
export function requiredScenarios(listing) {
  const found = [];
  let section = '';
  for (const line of listing.split('\n')) {
    if (/^\S.*:$/.test(line)) section = line;
    const [, name, side] = /^\s+- (\S+)(?: \[(server|client)\])?$/.exec(line) ?? [];
    if (name !== undefined && (side === 'client' || (side === undefined && section.startsWith('Client'))))
      found.push(name);
  }
  return found;
}

/**
 * Every client scenario that the suite knows, out of `list --client`.
 *
 * @param {string} listing
 * @returns {string[]}
 */
export function allScenarios(listing) {
  return [...listing.matchAll(/^\s+- (\S+) \[[^\]]*\]$/gm)].map(([, name]) => name);
}

/**
 * What does not add up between the suite's scenarios, those that the driver knows, and those left out.
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
