// Eight tenants that do everything at once, in an order that a seed decides, while their sessions and lists change under
// them. Each answer is held against a model, and every byte that a client is sent against what is others'.
// `ESPALIER_SEED` repeats a run.

import {
  createSSETransport,
  createWebSocketTransport,
  MCPServer,
  type MCPTransport,
  type RuntimeLike,
} from 'espalier/server';
import { expect, it } from 'vitest';

import { until } from '../helpers/until.js';
import { quiet } from '../helpers/wire.js';
import { type Answered, asWhoever, type Client, clientOf, type Kind, type Notification } from './clients.js';

const TENANTS = Array.from({ length: 8 }, (_, index) => `t${index}`);
const STEPS = process.env['ESPALIER_SOAK'] === undefined ? 2000 : 40_000;
const AT_ONCE = 16;

/** What a tenant alone may see. The names of its things are not in it: others ask for them, and are told what they asked. */
const markerOf = (tenant: string): string => `<marker of ${tenant}>`;

/** What a runtime has, at one time. */
interface Shelf {
  readonly tenant: string;
  readonly numbers: readonly number[];
}

/** Whose runtime each tenant reaches, at one time; those who reach none are not in it. */
type State = ReadonlyMap<string, Owned>;

/** A runtime, and what it had, each with the number of the state from which on; the last one counts now. */
interface Owned {
  readonly runtime: RuntimeLike;
  readonly shelves: { readonly from: number; readonly shelf: Shelf }[];
}

const toolOf = (tenant: string, number: number): string => `${tenant}-tool-${number}`;
const uriOf = (tenant: string, number: number): string => `own://${tenant}/${number}`;
const promptOf = (tenant: string, number: number): string => `${tenant}-prompt-${number}`;

/** Numbers that a seed decides (mulberry32). */
function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

class World {
  readonly server: MCPServer;
  readonly #owned = new WeakMap<RuntimeLike, Owned>();
  /** Of each tenant the one it has now. */
  readonly #current = new Map<string, Owned>();
  /** Sessions as they are registered. */
  readonly #registered = new Map<string, { tenant: string; owned: Owned }>();
  /** All that there was, one state for each change. */
  readonly states: State[] = [];
  /** Calls that hang, by their keys. */
  readonly hanging = new Map<string, { release: () => void; isAborted: boolean }>();
  #last = 0;

  constructor() {
    this.server = new MCPServer({ nativeExecution: true, logger: quiet() });
    this.#populate();
    for (const tenant of TENANTS) this.renew(tenant);
  }

  /** A new runtime for a tenant, with other things. */
  renew(tenant: string): void {
    const shelf = { tenant, numbers: this.#numbers() };
    const runtime: RuntimeLike = {
      tools: {
        list: () =>
          this.#shelfOf(runtime).numbers.map((number) => ({
            name: toolOf(tenant, number),
            execute: () => `${markerOf(tenant)} ${number}`,
          })),
      },
    };
    const owned = { runtime, shelves: [{ from: this.states.length, shelf }] };
    this.#owned.set(runtime, owned);
    this.#current.set(tenant, owned);
    this.#register(`session of ${tenant}`, tenant, owned);
  }

  /** Its session is another tenant's for now: it has none then, and the other one has two. */
  lend(tenant: string, to: string): void {
    const owned = this.#current.get(to);
    if (owned !== undefined) this.#register(`session of ${tenant}`, to, owned);
  }

  restore(tenant: string): void {
    const owned = this.#current.get(tenant);
    if (owned !== undefined) this.#register(`session of ${tenant}`, tenant, owned);
  }

  unregister(tenant: string): void {
    this.server.unregisterSession(`session of ${tenant}`);
    this.#registered.delete(`session of ${tenant}`);
    this.#changed();
  }

  /** What its runtime has changes, and the server is told. */
  change(tenant: string): void {
    const owned = this.#current.get(tenant);
    if (owned === undefined) return;
    owned.shelves.push({ from: this.states.length, shelf: { tenant, numbers: this.#numbers() } });
    this.server.invalidateToolCache(owned.runtime);
    this.#changed();
  }

  /** The states from one on. */
  since(index: number): State[] {
    return this.states.slice(index);
  }

  /**
   * What a tenant may be shown that asked in a state: the shelves of the runtimes that it reached since, as they were
   * since. One that was routed to a runtime is shown what that has, even when it is nobody's any more.
   */
  shown(tenant: string, index: number): (Shelf | undefined)[] {
    const reached = new Set(this.since(index).map((state) => state.get(tenant)));
    return [...reached].flatMap((owned) => {
      if (owned === undefined) return [undefined];
      const first = owned.shelves.findLastIndex(({ from }) => from <= index);
      return owned.shelves.slice(Math.max(0, first)).map(({ shelf }) => shelf);
    });
  }

  #register(session: string, tenant: string, owned: Owned): void {
    this.server.registerSession(session, owned.runtime, { tenantId: tenant });
    this.#registered.set(session, { tenant, owned });
    this.#changed();
  }

  #changed(): void {
    const reached = new Map<string, Owned>();
    for (const tenant of TENANTS) {
      const sessions = [...this.#registered.values()].filter((session) => session.tenant === tenant);
      const [only, more] = sessions;
      if (only !== undefined && more === undefined) reached.set(tenant, only.owned);
    }
    this.states.push(reached);
  }

  #numbers(): number[] {
    this.#last += 1;
    return [0, 1, this.#last + 2];
  }

  #shelfOf(runtime: RuntimeLike | undefined): Shelf {
    const shelf = runtime && this.#owned.get(runtime)?.shelves.at(-1)?.shelf;
    if (shelf === undefined) throw new Error('a runtime that nobody registered');
    return shelf;
  }

  #populate(): void {
    const { server } = this;
    server.register({
      name: 'hang',
      inputSchema: { type: 'object' },
      handler: async ({ key }, { runtime, signal, progress, log }) => {
        const marker = markerOf(this.#shelfOf(runtime).tenant);
        progress(1, 2, marker);
        log('info', marker);
        const call = { release: () => {}, isAborted: false };
        const released = new Promise<void>((resolve) => (call.release = resolve));
        signal.addEventListener('abort', () => {
          call.isAborted = true;
          call.release();
        });
        this.hanging.set(String(key), call);
        await released;
        return marker;
      },
    });
    server.registerResources(
      (context) => {
        const { tenant, numbers } = this.#shelfOf(context?.runtime);
        return numbers.map((number) => ({
          uri: uriOf(tenant, number),
          name: String(number),
          handler: () => ({ text: `${markerOf(tenant)} ${number}` }),
        }));
      },
      { perRequest: true },
    );
    server.registerPrompts(
      (context) => {
        const { tenant, numbers } = this.#shelfOf(context?.runtime);
        return numbers.map((number) => ({
          name: promptOf(tenant, number),
          handler: () => `${markerOf(tenant)} ${number}`,
        }));
      },
      { perRequest: true },
    );
    server.registerCompletion((_ref, _argument, _context, { runtime }) => [markerOf(this.#shelfOf(runtime).tenant)]);
  }
}

/** What a client of a tenant may be answered, in one state. */
type Judge = (shelf: Shelf | undefined) => unknown;

const UNAUTHORIZED = { code: -32001, message: 'Unauthorized' };

class Story {
  readonly world = new World();
  readonly clients = new Map<string, Client>();
  readonly leaks: string[] = [];
  readonly counts = new Map<string, number>();
  readonly #random: (below: number) => number;
  readonly #subscribed = new Map<string, Set<string>>();
  readonly #tokens = new Map<string, Set<string>>();
  #last = 0;

  constructor(seed: number) {
    this.#random = randomOf(seed);
  }

  async open(kinds: readonly Kind[], port: number | undefined): Promise<void> {
    for (const [index, tenant] of TENANTS.entries()) {
      const kind = kinds[index % kinds.length] ?? 'websocket';
      const foreign = TENANTS.filter((other) => other !== tenant).map(markerOf);
      const hear = (text: string): void => {
        const found = foreign.find((marker) => text.includes(marker));
        if (found !== undefined) this.leaks.push(`${tenant} over ${kind} was sent ${found}: ${text.slice(0, 500)}`);
      };
      const client = await clientOf(kind, port, { 'x-tenant': tenant }, hear);
      expect(client.opened.error).toBeUndefined();
      this.clients.set(tenant, client);
      this.#subscribed.set(tenant, new Set());
      this.#tokens.set(tenant, new Set());
    }
  }

  /** Takes steps, some at the same time. */
  async run(steps: number): Promise<void> {
    const underWay = new Set<Promise<void>>();
    for (let step = 0; step < steps; step += 1) {
      const work = this.#step().then(() => void underWay.delete(work));
      // It is waited for below; one that fails stays, and the next turn finds it.
      work.catch(() => {});
      underWay.add(work);
      if (underWay.size >= AT_ONCE) await Promise.race(underWay);
      if (step % 100 === 0) this.#check();
    }
    await Promise.all(underWay);
  }

  /** Once everything is as it was, whoever subscribed is told, and nobody else ever was. */
  async settle(): Promise<void> {
    for (const tenant of TENANTS) this.world.renew(tenant);
    for (const [tenant, client] of this.clients) {
      const uri = uriOf(tenant, 0);
      this.#subscribed.get(tenant)?.add(uri);
      await client.subscribe([uri]);
      const told = (): number => updates(client.notifications).filter((other) => other === uri).length;
      const before = told();
      this.world.server.notifyResourceUpdated(uri);
      await until(`word of ${uri}`, () => told() > before);
    }
    this.#check();
  }

  /** Nobody was sent anything of another, nor told of what it did not ask to be told of. */
  #check(): void {
    expect(this.leaks).toEqual([]);
    for (const [tenant, client] of this.clients) {
      const told = client.takeNotifications();
      for (const uri of updates(told)) expect(this.#subscribed.get(tenant)).toContain(uri);
      for (const { method, params } of told) {
        if (method === 'notifications/progress') expect(this.#tokens.get(tenant)).toContain(params['progressToken']);
      }
    }
  }

  async close(): Promise<void> {
    for (const { release } of this.world.hanging.values()) release();
    await Promise.all([...this.clients.values()].map((client) => client.close()));
  }

  #pick<T>(values: readonly T[]): T {
    return values[this.#random(values.length)] as T;
  }

  #client(tenant: string): Client {
    return this.clients.get(tenant) as Client;
  }

  async #step(): Promise<void> {
    const tenant = this.#pick(TENANTS);
    const other = this.#pick(TENANTS.filter((one) => one !== tenant));
    // Its own things more often than those of others.
    const owner = this.#random(3) === 0 ? other : tenant;
    const number = this.#random(4) === 0 ? this.#random(400) : this.#random(2);
    const work = this.#pick([
      'list',
      'list',
      'call',
      'call',
      'read',
      'read',
      'prompt',
      'complete',
      'subscribe',
      'update',
      'level',
      'hang',
      'change',
      'renew',
      'lend',
      'unregister',
      'everybody',
    ] as const);
    this.counts.set(work, (this.counts.get(work) ?? 0) + 1);
    switch (work) {
      case 'list':
        return this.#list(tenant);
      case 'call':
        return this.#ask(tenant, 'tools/call', { name: toolOf(owner, number), arguments: {} }, (shelf) =>
          has(shelf, owner, number) ? { text: `${markerOf(owner)} ${number}` } : 'refused',
        );
      case 'read':
        return this.#ask(tenant, 'resources/read', { uri: uriOf(owner, number) }, (shelf) =>
          has(shelf, owner, number) ? { text: `${markerOf(owner)} ${number}` } : 'refused',
        );
      case 'prompt':
        return this.#ask(tenant, 'prompts/get', { name: promptOf(owner, number) }, (shelf) =>
          has(shelf, owner, number) ? { text: `${markerOf(owner)} ${number}` } : 'refused',
        );
      case 'complete': {
        const params = {
          ref: { type: 'ref/prompt', name: promptOf(owner, number) },
          argument: { name: 'a', value: '' },
        };
        return this.#ask(tenant, 'completion/complete', params, (shelf) =>
          has(shelf, owner, number) ? { values: [markerOf(owner)] } : 'refused',
        );
      }
      case 'subscribe':
        return this.#subscribe(tenant, owner, number);
      case 'update':
        return this.world.server.notifyResourceUpdated(uriOf(owner, number));
      case 'level': {
        const level = this.#pick(['debug', 'info', 'error']);
        if (this.#client(tenant).opened.status === 200 && this.#hasLevels(tenant)) {
          return this.#ask(tenant, 'logging/setLevel', { level }, () => ({}));
        }
        return;
      }
      case 'hang':
        return this.#hang(tenant, other);
      case 'change':
        return this.world.change(tenant);
      case 'renew':
        return this.world.renew(tenant);
      case 'lend':
      case 'unregister': {
        if (work === 'lend') this.world.lend(tenant, other);
        else this.world.unregister(tenant);
        await this.#ask(tenant, 'tools/list', {}, (shelf) =>
          shelf === undefined ? 'nothing' : listOf(shelf, 'tools'),
        );
        return this.world.restore(tenant);
      }
      case 'everybody':
        return this.world.server.invalidateToolCache();
    }
  }

  /** Whether it is of the session era. */
  #hasLevels(tenant: string): boolean {
    return this.#client(tenant).sessionId !== undefined || this.#client(tenant).answersPing;
  }

  #list(tenant: string): Promise<void> {
    const kind = this.#pick(['tools', 'resources', 'prompts'] as const);
    return this.#ask(tenant, `${kind}/list`, {}, (shelf) => shelf && listOf(shelf, kind));
  }

  async #subscribe(tenant: string, owner: string, number: number): Promise<void> {
    const client = this.#client(tenant);
    const uri = uriOf(owner, number);
    const subscribed = this.#subscribed.get(tenant) as Set<string>;
    if (!this.#hasLevels(tenant)) {
      // Whoever listens says so once for all; it asks for what is others', too, and is not told of it.
      if (subscribed.size > 0) return;
      subscribed.add(uriOf(tenant, 0));
      await client.subscribe(
        [uriOf(tenant, 0), uriOf(owner === tenant ? 't0' : owner, 1)].filter((one) => one !== uriOf(tenant, 1)),
      );
      return;
    }
    if (this.#random(3) === 0) {
      return this.#ask(tenant, 'resources/unsubscribe', { uri }, () => ({}));
    }
    // Before the answer something may be told of it.
    if (owner === tenant) subscribed.add(uri);
    return this.#ask(tenant, 'resources/subscribe', { uri }, (shelf) => (has(shelf, owner, number) ? {} : 'refused'));
  }

  /** A call that hangs: cancelled by its own client, or by another one to no effect, while the session changes. */
  async #hang(tenant: string, other: string): Promise<void> {
    const { world } = this;
    const client = this.#client(tenant);
    const id = `hang-${(this.#last += 1)}`;
    this.#tokens.get(tenant)?.add(id);
    const from = world.states.length - 1;
    const giveUp = new AbortController();
    const params = { name: 'hang', arguments: { key: id }, _meta: { progressToken: id } };
    const answered = client.request('tools/call', params, id, giveUp.signal);
    const isOver = answered.then(() => true);
    await until(`the call ${id}`, async () => world.hanging.has(id) || (await Promise.race([isOver, soon()])));
    const call = world.hanging.get(id);
    if (call === undefined) {
      // It did not get in.
      const { answer } = await answered;
      expect(world.since(from).some((state) => !state.has(tenant))).toBe(true);
      expect(answer?.error).toEqual(UNAUTHORIZED);
      return;
    }
    await this.#client(other).notify('notifications/cancelled', { requestId: id });
    const change = this.#random(4);
    if (change === 0) world.renew(tenant);
    if (change === 1) world.unregister(tenant);
    if (change === 2) world.lend(tenant, other);
    // What the other one asked for has arrived when it is answered after it.
    await this.#client(other).request('tools/list');
    expect(call.isAborted, `${id} of ${tenant} was cancelled by ${other}`).toBe(false);
    if (this.#random(2) === 0) {
      if (this.#hasLevels(tenant)) await client.notify('notifications/cancelled', { requestId: id });
      giveUp.abort();
      await until(`the end of ${id}`, () => call.isAborted);
    } else {
      call.release();
      expect(textIn((await answered).answer?.result)).toBe(markerOf(tenant));
    }
    world.restore(tenant);
    world.hanging.delete(id);
  }

  /** Asks, and holds the answer against all states that there were meanwhile. */
  async #ask(tenant: string, method: string, params: Record<string, unknown>, judge: Judge): Promise<void> {
    const from = this.world.states.length - 1;
    const answered = await this.#client(tenant).request(method, params);
    const told = toldBy(answered);
    const shown = this.world.shown(tenant, from);
    const allowed = shown.map((shelf) => (shelf === undefined ? 'Unauthorized' : judge(shelf)));
    const isAllowed = allowed.some((one) => JSON.stringify(one) === JSON.stringify(told));
    if (isAllowed) return;
    throw new Error(
      `${tenant} asked ${method} ${JSON.stringify(params)} and was told ${JSON.stringify(told)} (${JSON.stringify(answered)}), not one of ${JSON.stringify(allowed)}`,
    );
  }
}

function soon(): Promise<false> {
  return new Promise((resolve) => {
    setImmediate(() => resolve(false));
  });
}

function updates(notifications: readonly Notification[]): string[] {
  return notifications
    .filter(({ method }) => method === 'notifications/resources/updated')
    .map(({ params }) => String(params['uri']));
}

function has(shelf: Shelf | undefined, owner: string, number: number): boolean {
  return shelf?.tenant === owner && shelf.numbers.includes(number);
}

function listOf({ tenant, numbers }: Shelf, kind: 'tools' | 'resources' | 'prompts'): unknown {
  const name = { tools: toolOf, resources: uriOf, prompts: promptOf }[kind];
  const names = numbers.map((number) => name(tenant, number));
  return { names: (kind === 'tools' ? ['hang', ...names] : names).toSorted() };
}

/** What an answer comes to. */
function toldBy({ answer }: Answered): unknown {
  const { result, error } = answer ?? {};
  if (error !== undefined) {
    if (error.code === -32001) {
      expect(error).toEqual(UNAUTHORIZED);
      return 'Unauthorized';
    }
    expect([-32602, -32002]).toContain(error.code);
    return 'refused';
  }
  for (const [list, member] of [
    ['tools', 'name'],
    ['resources', 'uri'],
    ['prompts', 'name'],
  ] as const) {
    const listed = result?.[list];
    if (Array.isArray(listed))
      return { names: listed.map((one: Record<string, unknown>) => String(one[member])).toSorted() };
  }
  const text = textIn(result);
  if (text !== undefined) return { text };
  const { completion } = (result ?? {}) as { completion?: { values?: unknown } };
  if (completion !== undefined) return { values: completion.values };
  return result === undefined ? 'nothing' : {};
}

function textIn(result: Record<string, unknown> | undefined): string | undefined {
  const { content, contents, messages } = (result ?? {}) as {
    content?: { text?: string }[];
    contents?: { text?: string }[];
    messages?: { content: { text?: string } }[];
  };
  return content?.[0]?.text ?? contents?.[0]?.text ?? messages?.[0]?.content.text;
}

it.each([
  ['HTTP+SSE and both eras of Streamable HTTP', ['streamable-http', 'streamable-http-stateless', 'sse']],
  ['WebSocket', ['websocket']],
] as [string, Kind[]][])(
  `${TENANTS.length} tenants over %s, ${STEPS} steps`,
  { timeout: 600_000 },
  async (_, kinds) => {
    const seed = Number(process.env['ESPALIER_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
    const story = new Story(seed);
    const { server } = story.world;
    const options = { port: 0, tenantIdExtractor: asWhoever.tenantIdExtractor };
    const transport: MCPTransport = kinds.includes('websocket')
      ? createWebSocketTransport(options)
      : createSSETransport({ ...options, streamableHttp: true });
    await server.start(transport);
    try {
      await story.open(kinds, transport.port);
      await story.run(STEPS);
      await story.settle();
      // Every kind of step was taken.
      expect(story.counts.size).toBe(14);
    } catch (error) {
      throw new Error(`with ESPALIER_SEED=${seed}: ${error instanceof Error ? error.message : String(error)}`, {
        cause: error,
      });
    } finally {
      await story.close();
      await server.stop();
    }
  },
);
