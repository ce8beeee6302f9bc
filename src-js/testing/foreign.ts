// What another tenant has, asked for by name: it has to be refused in the words for what is not there.

import { FOREIGN_AT_ONCE, FOREIGN_ITEMS } from './bounds.js';
import { type Findings, without } from './findings.js';
import { callsOf, type Inventory, promptsOf, readsOf, textsOf } from './inventory.js';
import type { Json, Lane, Outcome } from './lane.js';
import type { TestedTenant, TestedTransport } from '../types/testing.js';
import { unlike } from './unlike.js';

interface Finding {
  readonly transport: TestedTransport;
  readonly findings: Findings;
}

interface Prober {
  readonly id: string;
  readonly lane: Lane;
  readonly inventory: Inventory;
}

interface Owner {
  readonly id: string;
  readonly tenant: TestedTenant;
  readonly inventory: Inventory;
}

/** One thing of another tenant. */
interface Attempt {
  readonly operation: string;
  readonly name: string;
  readonly ask: (name: string) => Promise<Outcome>;
}

/** Asks for everything that the owner has and the prober has not. */
export async function tryForeign(finding: Finding, prober: Prober, owner: Owner): Promise<void> {
  const waiting = attempts(prober, owner);
  // A few at a time: a server that is busy refuses in words of its own.
  const work = async (): Promise<void> => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop())
      await compare(finding, prober, owner, next);
  };
  await Promise.all(Array.from({ length: FOREIGN_AT_ONCE }, work));
}

function attempts({ lane, inventory: known }: Prober, { tenant, inventory }: Owner): Attempt[] {
  const { tools, resources, prompts } = inventory;
  const calls = callsOf(tenant, inventory);
  const gets = promptsOf(tenant, inventory);
  const ask = (method: string, params: (name: string) => Json) => (name: string) =>
    lane.request(method, params(name), { said: [name] });

  const toolNames = foreign(
    [...calls.map(({ name }) => name), ...textsOf(tools, 'name')],
    textsOf(known.tools, 'name'),
  );
  const uris = foreign([...readsOf(tenant, inventory), ...textsOf(resources, 'uri')], textsOf(known.resources, 'uri'));
  const promptNames = foreign(
    [...gets.map(({ name }) => name), ...textsOf(prompts, 'name')],
    textsOf(known.prompts, 'name'),
  );
  return [
    ...toolNames.map((name) => ({
      operation: 'tools/call',
      name,
      ask: ask('tools/call', (called) => ({ name: called, arguments: argumentsOf(calls, name) })),
    })),
    ...uris.map((name) => ({ operation: 'resources/read', name, ask: ask('resources/read', (uri) => ({ uri })) })),
    ...uris.map((name) => ({
      operation: 'resources/subscribe',
      name,
      ask: async (uri: string) => (await lane.subscribe([uri]))[0] ?? NOTHING_CAME,
    })),
    ...promptNames.map((name) => ({
      operation: 'prompts/get',
      name,
      ask: ask('prompts/get', (got) => ({ name: got, arguments: argumentsOf(gets, name) })),
    })),
    ...promptNames.map((name) => ({
      operation: 'completion/complete',
      name,
      ask: ask('completion/complete', (completed) => ({
        ref: { type: 'ref/prompt', name: completed },
        argument: { name: 'x', value: '' },
      })),
    })),
  ];
}

function foreign(names: readonly string[], own: readonly string[]): string[] {
  return [...new Set(names)].filter((name) => !own.includes(name)).slice(0, FOREIGN_ITEMS);
}

function argumentsOf(named: readonly { name: string; arguments?: Json }[], name: string): Json {
  return named.find((other) => other.name === name)?.arguments ?? {};
}

/** No reply, and replies of a server that has no room. */
const NOTHING_SAID = new Set([0, 429, 503]);

const NOTHING_CAME: Outcome = { status: 0, answer: undefined, refusal: '' };

async function compare(
  { transport, findings }: Finding,
  prober: Prober,
  owner: Owner,
  { operation, name, ask }: Attempt,
): Promise<void> {
  const told = refused(await ask(name), name);
  // What was answered with a result is judged by what is in it: a template may answer for any name.
  if (told === undefined) return;
  const [one, two] = [unlike(name), unlike(name)];
  const expected = refused(await ask(one), one);
  if (expected === undefined || told === expected) return;
  // Where refusals differ by themselves there is nothing to compare with.
  if (refused(await ask(two), two) !== expected) return;
  const evidence = `what is there and another's is refused with ${told}, what is not there with ${expected}`;
  findings.add({ kind: 'existence', transport, operation, tenant: prober.id, of: owner.id, evidence });
}

/** What says nothing of whether something is there. */
const HAD_NO_ROOM = /busy|timed out|too many|rate/i;

/** What a refusal says, but for its name and for references to a log; nothing for a result, for silence, for no room. */
function refused({ status, answer, refusal }: Outcome, name: string): string | undefined {
  if (answer === undefined) return NOTHING_SAID.has(status) ? undefined : without(refusal, [name]);
  const { result, error } = answer;
  if (result !== undefined && result['isError'] !== true) return undefined;
  if (error !== undefined && HAD_NO_ROOM.test(error.message)) return undefined;
  return without(JSON.stringify(result ?? error), [name]).replaceAll(/\bref [A-Z2-7]{12}\b/g, 'ref …');
}
