// Which registered and provided entries there are for a caller. What a caller must not see is as if it were not there; what
// cannot be found out is not seen.

import { describe } from '../describe.js';
import type { ProviderContext } from '../types/server.js';
import type { Run } from './context.js';
import type { Entry, Provider } from './registry.js';

/** A list on its way out. */
export interface Listing {
  /** JSON text of an array. */
  readonly text: string;
  /** Whether every caller gets the same, until something is registered. */
  readonly cacheable: boolean;
}

/** One kind of entries: those that were registered, and those that are provided for each request. */
export interface Shelf<Source, Kept extends Entry> {
  readonly kept: ReadonlyMap<string, Kept>;
  readonly providers: readonly Provider<
    (context?: ProviderContext) => readonly Source[] | Promise<readonly Source[]>
  >[];
  /** Reads a provided entry. Throws for what is none. */
  readonly read: (source: Source) => Kept;
  readonly key: (entry: Kept) => string;
}

/** All that the caller may see: what was registered first, and what is provided under no name that was registered. */
export async function listed<Source, Kept extends Entry>(
  shelf: Shelf<Source, Kept>,
  run: Run,
  warn: (message: string) => void,
): Promise<Listing> {
  const entries = [...shelf.kept.values()];
  if (shelf.providers.length === 0) return listedOf(entries, run);
  const provided = await Promise.all(shelf.providers.map((provider) => provide(shelf, provider, run, warn)));
  const seen = new Set(shelf.kept.keys());
  for (const entry of provided.flat()) {
    const key = shelf.key(entry);
    if (seen.has(key)) continue;
    seen.add(key);
    entries.push(entry);
  }
  return { ...(await listedOf(entries, run)), cacheable: false };
}

/** Those that the caller may see. */
export async function listedOf(entries: readonly Entry[], run: Run): Promise<Listing> {
  if (entries.every(({ visibleTo }) => visibleTo === undefined)) return { text: textOf(entries), cacheable: true };
  const visible = await Promise.all(entries.map((entry) => isVisible(entry, run)));
  return { text: textOf(entries.filter((_, index) => visible[index] === true)), cacheable: false };
}

/** The one entry of a name; nothing where there is none for the caller. */
export async function found<Source, Kept extends Entry>(
  shelf: Shelf<Source, Kept>,
  name: string,
  run: Run,
  warn: (message: string) => void,
): Promise<Kept | undefined> {
  // A hidden entry keeps its name: what is provided under it does not show through.
  let entry = shelf.kept.get(name);
  for (const provider of shelf.providers) {
    if (entry !== undefined) break;
    entry = (await provide(shelf, provider, run, warn)).find((provided) => shelf.key(provided) === name);
  }
  return entry !== undefined && (await isVisible(entry, run)) ? entry : undefined;
}

/** Gives `false` for what gives `false`, or throws. */
export async function isVisible(entry: Entry, run: Run): Promise<boolean> {
  if (entry.visibleTo === undefined) return true;
  try {
    return (await entry.visibleTo(run.identity)) !== false;
  } catch {
    return false;
  }
}

async function provide<Source, Kept extends Entry>(
  shelf: Shelf<Source, Kept>,
  { provide: call, perRequest }: Shelf<Source, Kept>['providers'][number],
  run: Run,
  warn: (message: string) => void,
): Promise<Kept[]> {
  const sources = perRequest ? await provideFor(call, run) : await call();
  if (sources == null) return [];
  if (!Array.isArray(sources)) throw new TypeError('a provider gave no array');
  const entries: Kept[] = [];
  for (const source of sources as readonly Source[]) {
    try {
      entries.push(shelf.read(source));
    } catch (error) {
      // An odd entry costs itself.
      warn(`a provided entry is left out: ${describe(error)}`);
    }
  }
  return entries;
}

/** Where no runtime is bound there is nothing to ask for. */
async function provideFor<Source>(
  call: (context?: ProviderContext) => readonly Source[] | Promise<readonly Source[]>,
  run: Run,
): Promise<readonly Source[] | undefined> {
  const { runtime } = run;
  if (runtime === undefined) return undefined;
  return call({ runtime, ...run.identity });
}

function textOf(entries: readonly Entry[]): string {
  return `[${entries.map(({ wire }) => wire).join(',')}]`;
}
