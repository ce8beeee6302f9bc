// All that is done over one transport: every tenant connects and stays connected, and what each of them does is done while
// the others listen.

import { randomBytes } from 'node:crypto';

import { McpError } from '../errors.js';
import { BETWEEN_CANCELLATIONS, CANCELLATIONS } from './bounds.js';
import { type Findings, STRANGER } from './findings.js';
import { tryForeign } from './foreign.js';
import { compareIds, guess, type Guessing, NOBODY, replay } from './guesses.js';
import type { Place } from './http.js';
import { callsOf, type Inventory, listAll, NOTHING, promptsOf, readsOf } from './inventory.js';
import type { Json, Lane, LaneOptions, Outcome } from './lane.js';
import { hearChanges, hearUpdates, type Told } from './notices.js';
import type { Reached, Settings } from './request.js';
import type { TestedCall, TestedTenant, TestedTransport } from '../types/testing.js';

export type MakeLane = new (options: LaneOptions, prefix: string) => Lane;

/** A tenant that is connected. */
export interface Member {
  readonly id: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly tenant: TestedTenant;
  readonly lane: Lane;
  inventory: Inventory;
}

export interface Course {
  readonly transport: TestedTransport;
  readonly place: Place;
  readonly make: MakeLane;
  readonly tenants: readonly TestedTenant[];
  readonly settings: Settings;
  readonly findings: Findings;
  readonly server: Reached['server'];
  readonly signal: AbortSignal;
}

/** Drives one transport; gives how many requests that took, or why nobody is served over it. */
export async function drive(course: Course): Promise<{ requests: number } | { refusal: string }> {
  const driven = new Drive(course);
  try {
    const refusal = await driven.connect();
    if (refusal !== undefined) return { refusal };
    await driven.run();
    return { requests: driven.requests };
  } finally {
    await driven.close();
  }
}

class Drive {
  readonly #course: Course;
  readonly #lanes: Lane[] = [];
  #members: Member[] = [];
  #guesses = 0;

  constructor(course: Course) {
    this.#course = course;
  }

  get requests(): number {
    return this.#lanes.reduce((sum, lane) => sum + lane.requests, this.#guesses);
  }

  /** Why nobody is served; nothing when all are. Rejects where some are and some are not. */
  async connect(): Promise<string | undefined> {
    const { tenants, transport, signal } = this.#course;
    const opened = await Promise.all(
      tenants.map(async (tenant) => {
        const { id, headers } = tenant;
        const lane = this.#lane(id, headers);
        const outcome = await lane.open();
        return { member: { id, headers, tenant, lane, inventory: NOTHING }, outcome };
      }),
    );
    const refused = opened.filter(({ outcome }) => outcome.answer?.result === undefined);
    const [first] = refused;
    if (first === undefined) {
      this.#members = opened.map(({ member }) => member);
      return undefined;
    }
    const why = reasonOf(first.outcome);
    if (refused.length === opened.length) return why;
    if (signal.aborted) return undefined;
    throw new McpError(
      'unavailable',
      `the tenant ${JSON.stringify(first.member.id)} cannot connect over ${transport}: ${why}`,
    );
  }

  async run(): Promise<void> {
    await this.#survey();
    await this.#useOwn();
    await this.#foreign();
    await this.#notices();
    await this.#cancellations();
    await this.#strangers();
    await this.#guessing();
    await this.#settle();
  }

  async close(): Promise<void> {
    await Promise.all(this.#lanes.map((lane) => lane.close()));
  }

  #lane(id: string, headers: Readonly<Record<string, string>>): Lane {
    const { transport, place, make, settings, findings, signal } = this.#course;
    const prefix = `espalier-${randomBytes(8).toString('hex')}`;
    // Nobody else should be sent an id, or a token, of its requests.
    findings.markers.add(id, prefix);
    const { requestTimeoutMs } = settings;
    const lane = new make({ place, headers, ear: findings.earOf(id, transport), requestTimeoutMs, signal }, prefix);
    this.#lanes.push(lane);
    return lane;
  }

  /** The lists, one tenant after the other, the other way round, and all at once under the same ids. */
  async #survey(): Promise<void> {
    for (const member of this.#members) member.inventory = await listAll(member.lane);
    for (const { lane } of this.#members.toReversed()) await listAll(lane);
    await Promise.all(this.#members.map(({ lane }) => listAll(lane, (list) => `list-${list}`)));
  }

  /** What is the tenants' own, one after the other, and all at once under the same ids and tokens. */
  async #useOwn(): Promise<void> {
    for (const member of this.#members) await useOwn(member);
    await Promise.all(this.#members.map((member) => useOwn(member, 'own')));
    for (const member of this.#members.toReversed()) await useOwn(member);
  }

  async #foreign(): Promise<void> {
    const { transport, findings } = this.#course;
    await this.#eachBesideOthers((prober, owner) => tryForeign({ transport, findings }, prober, owner));
  }

  async #notices(): Promise<void> {
    const { transport, findings, server, settings } = this.#course;
    const told: Told = { transport, findings, settleMs: settings.settleMs, members: this.#members, server };
    for (const { lane, tenant, inventory } of this.#members) await lane.subscribe(readsOf(tenant, inventory));
    await hearUpdates(told);
    await hearChanges(told);
    if (settings.stir === undefined) return;
    for (const { id } of this.#members) {
      await settings.stir(id);
      await this.#settle();
    }
  }

  async #cancellations(): Promise<void> {
    const { transport, findings } = this.#course;
    const undisturbed = await Promise.all(
      this.#members.map(async ({ id, lane, tenant: { slowCall } }) => {
        if (slowCall === undefined) return `the tenant ${JSON.stringify(id)} has no slowCall`;
        const outcome = await callSlow(lane, slowCall);
        if (outcome.answer?.result !== undefined) return undefined;
        return `the slowCall of the tenant ${JSON.stringify(id)} fails over ${transport}: ${reasonOf(outcome)}`;
      }),
    );
    const unable = undisturbed.find((reason) => reason !== undefined);
    if (unable === undefined) await this.#eachPair((prober, owner) => this.#cancel(prober, owner));
    else findings.skip(`cancelling requests of others: ${unable}`);
  }

  async #cancel(prober: Member, owner: Member): Promise<void> {
    const { transport, findings, signal } = this.#course;
    for (const [operation, disturb] of [
      ['cancelling by the id of a request of another', cancelForeign],
      ['cancelling its own request of the same id', cancelSame],
    ] as const) {
      const outcome = await disturb(prober, owner);
      if (outcome.answer?.result !== undefined || signal.aborted) continue;
      // A slow machine may be to blame.
      const undisturbed = await callSlow(owner.lane, owner.tenant.slowCall ?? NO_CALL);
      if (undisturbed.answer?.result === undefined) continue;
      const evidence = `the call of ${JSON.stringify(owner.id)} ended with: ${reasonOf(outcome)}`;
      findings.add({ kind: 'cancellation', transport, operation, tenant: prober.id, of: owner.id, evidence });
    }
  }

  /** Those who are no tenants do what tenants do. */
  async #strangers(): Promise<void> {
    const { transport, findings, settings } = this.#course;
    await Promise.all(
      settings.strangers.map(async (headers) => {
        const lane = this.#lane(STRANGER, headers);
        await lane.open();
        await listAll(lane);
        for (const owner of this.#members) {
          await tryForeign({ transport, findings }, { id: STRANGER, lane, inventory: NOTHING }, owner);
        }
      }),
    );
  }

  async #guessing(): Promise<void> {
    const { transport, place, settings, findings, signal } = this.#course;
    const { settleMs, requestTimeoutMs } = settings;
    const count = (): void => void (this.#guesses += 1);
    const guessing: Guessing = { findings, transport, place, settleMs, requestTimeoutMs, signal, count };
    await this.#eachBesideOthers((prober, owner) => replay(guessing, prober, owner.lane));
    await Promise.all(
      this.#members.map(async (owner, index) => {
        const other = this.#members[(index + 1) % this.#members.length] ?? owner;
        await compareIds(guessing, other, owner, () => this.#lane(other.id, other.headers));
      }),
    );
    await Promise.all(
      this.#members.map(async (owner) => {
        for (const prober of this.#members) if (owner !== prober) await guess(guessing, prober, owner);
        await guess(guessing, NOBODY, owner);
      }),
    );
  }

  /** All ordered pairs at once. */
  async #eachPair(work: (prober: Member, owner: Member) => Promise<void>): Promise<void> {
    await Promise.all(
      this.#members.flatMap((prober) =>
        this.#members.filter((owner) => owner !== prober).map((owner) => work(prober, owner)),
      ),
    );
  }

  /** All ordered pairs; everybody at the same time, one of the others after the other. */
  async #eachBesideOthers(work: (prober: Member, owner: Member) => Promise<void>): Promise<void> {
    await Promise.all(
      this.#members.map(async (prober) => {
        for (const owner of this.#members) if (owner !== prober) await work(prober, owner);
      }),
    );
  }

  /** What should not come has time to. */
  async #settle(): Promise<void> {
    const { settings, signal } = this.#course;
    if (signal.aborted) return;
    await new Promise((resolve) => {
      setTimeout(resolve, settings.settleMs);
    });
  }
}

/** `same`: under ids and tokens that others use as well. */
async function useOwn({ tenant, lane, inventory }: Member, same?: string): Promise<void> {
  const requests: [method: string, params: Json][] = [
    ...callsOf(tenant, inventory).map((call): [string, Json] => ['tools/call', { arguments: {}, ...call }]),
    ...readsOf(tenant, inventory).map((uri): [string, Json] => ['resources/read', { uri }]),
    ...promptsOf(tenant, inventory).map((prompt): [string, Json] => ['prompts/get', { ...prompt }]),
    ...(tenant.completions ?? []).map((asked): [string, Json] => ['completion/complete', { ...asked }]),
  ];
  await Promise.all(
    requests.map(([method, params], index) => {
      const id = same === undefined ? lane.nextId() : `${same}-${index}`;
      return lane.request(method, { ...params, _meta: { progressToken: id } }, { id });
    }),
  );
}

function callSlow(lane: Lane, call: TestedCall, id: string = lane.nextId(), signal?: AbortSignal): Promise<Outcome> {
  const params = { arguments: {}, ...call, _meta: { progressToken: id } };
  return lane.request('tools/call', params, { id, ...(signal === undefined ? {} : { signal }) });
}

/** Of a tenant that has none, which then is not asked. */
const NO_CALL: TestedCall = { name: '' };

async function cancelForeign(prober: Member, owner: Member): Promise<Outcome> {
  const id = owner.lane.nextId();
  const outcome = callSlow(owner.lane, owner.tenant.slowCall ?? NO_CALL, id);
  await cancelUntil(outcome, prober, id);
  return outcome;
}

async function cancelSame(prober: Member, owner: Member): Promise<Outcome> {
  const id = `same-${randomBytes(4).toString('hex')}`;
  const outcome = callSlow(owner.lane, owner.tenant.slowCall ?? NO_CALL, id);
  const giveUp = new AbortController();
  const own = callSlow(prober.lane, prober.tenant.slowCall ?? NO_CALL, id, giveUp.signal);
  await cancelUntil(outcome, prober, id);
  giveUp.abort();
  await own;
  return outcome;
}

/** Cancels again and again, so that one of them comes while the call is under way, however busy the machine is. */
async function cancelUntil(outcome: Promise<unknown>, { lane }: Member, requestId: string): Promise<void> {
  const over = outcome.then(() => true);
  for (let count = 0; count < CANCELLATIONS; count += 1) {
    if (await Promise.race([over, pause(BETWEEN_CANCELLATIONS)])) break;
    await lane.notify('notifications/cancelled', { requestId });
  }
}

/** Gives that whoever waited for something else as well has waited in vain. */
function pause(milliseconds: number): Promise<boolean> {
  return new Promise((resolve) => {
    setTimeout(() => resolve(false), milliseconds);
  });
}

/** Why something was not answered with a result. */
function reasonOf({ answer, refusal }: Outcome): string {
  return answer?.error === undefined ? refusal : `${answer.error.code} ${answer.error.message}`;
}
