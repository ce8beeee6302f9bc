// Listings of hosts that are used again for a short time. They hang on the runtime, which is not kept by them, and belong
// to it alone; the store is one for the process.

import { native } from '../native.js';
import type { RuntimeLike } from '../types/server.js';

/** How long a listing of artifacts or files is used again, in milliseconds: 5,000. */
export const ADAPTER_RESOURCE_CACHE_TTL_MS: number = native.NATIVE_ADAPTER_RESOURCE_CACHE_TTL_MS;

/** How many listings are kept of one runtime: 256. The one that was used least recently goes first. */
export const ADAPTER_RESOURCE_CACHE_MAX_KEYS: number = native.NATIVE_ADAPTER_RESOURCE_CACHE_MAX_KEYS;

/** What a listing is for. What is left out of a scope matches everything when listings are dropped. */
export interface Scope {
  readonly tenantId?: string | undefined;
  readonly chatId?: string | undefined;
}

interface Snapshot {
  readonly scope: Scope;
  readonly listing: Promise<readonly unknown[]>;
  /** Of the monotonic clock; unset while the host is still listing. */
  expires: number | undefined;
}

export class Snapshots {
  readonly #byRuntime = new WeakMap<RuntimeLike, Map<string, Snapshot>>();
  /** To find all of them without keeping any. */
  readonly #all = new Set<WeakRef<Map<string, Snapshot>>>();
  readonly #collected = new FinalizationRegistry<WeakRef<Map<string, Snapshot>>>((ref) => this.#all.delete(ref));

  /** What the host lists, asked at most once for all who want it at the same time. */
  list<Listed>(runtime: RuntimeLike, scope: Scope, list: () => Promise<readonly Listed[]>): Promise<readonly Listed[]> {
    const snapshots = this.#of(runtime);
    const key = JSON.stringify([scope.tenantId ?? null, scope.chatId ?? null]);
    const known = snapshots.get(key);
    if (known !== undefined && (known.expires === undefined || known.expires > performance.now())) {
      // The order of a map is the order of use.
      snapshots.delete(key);
      snapshots.set(key, known);
      return known.listing as Promise<readonly Listed[]>;
    }
    const listing = list();
    const snapshot: Snapshot = { scope, listing, expires: undefined };
    snapshots.delete(key);
    snapshots.set(key, snapshot);
    for (const oldest of snapshots.keys()) {
      if (snapshots.size <= ADAPTER_RESOURCE_CACHE_MAX_KEYS) break;
      snapshots.delete(oldest);
    }
    listing.then(
      () => (snapshot.expires = performance.now() + ADAPTER_RESOURCE_CACHE_TTL_MS),
      () => {
        if (snapshots.get(key) === snapshot) snapshots.delete(key);
      },
    );
    return listing;
  }

  has(runtime: RuntimeLike): boolean {
    return this.#byRuntime.has(runtime);
  }

  /** Drops the listings of a scope: of one runtime, or of all. */
  drop(runtime: RuntimeLike | undefined, scope: Scope): void {
    const dropped = runtime === undefined ? [...this.#all].map((ref) => ref.deref()) : [this.#byRuntime.get(runtime)];
    for (const snapshots of dropped) {
      for (const [key, snapshot] of snapshots ?? []) {
        if (matches(scope, snapshot.scope)) snapshots?.delete(key);
      }
    }
  }

  #of(runtime: RuntimeLike): Map<string, Snapshot> {
    let snapshots = this.#byRuntime.get(runtime);
    if (snapshots === undefined) {
      snapshots = new Map();
      this.#byRuntime.set(runtime, snapshots);
      const ref = new WeakRef(snapshots);
      this.#all.add(ref);
      this.#collected.register(snapshots, ref);
    }
    return snapshots;
  }
}

function matches(wanted: Scope, { tenantId, chatId }: Scope): boolean {
  return (
    (wanted.tenantId === undefined || wanted.tenantId === tenantId) &&
    (wanted.chatId === undefined || wanted.chatId === chatId)
  );
}
