// The numbers by which the core knows runtimes. It never holds one: a number of a runtime that nobody else holds is
// forgotten there, too.

import type { RuntimeLike } from '../types/server.js';

interface Known {
  readonly weak: WeakRef<RuntimeLike>;
  /** Kept as long as it is held: as the server's own, by sessions, by requests that were routed to it. */
  strong: RuntimeLike | undefined;
  holds: number;
}

export class Runtimes {
  readonly #numbers = new WeakMap<RuntimeLike, number>();
  readonly #known = new Map<number, Known>();
  readonly #collected: FinalizationRegistry<number>;
  #last = 0;

  constructor(forget: (number: number) => void) {
    const known = this.#known;
    this.#collected = new FinalizationRegistry((number) => {
      known.delete(number);
      forget(number);
    });
  }

  numberOf(runtime: RuntimeLike): number {
    const number = this.#numbers.get(runtime);
    if (number !== undefined) return number;
    const next = ++this.#last;
    this.#numbers.set(runtime, next);
    this.#known.set(next, { weak: new WeakRef(runtime), strong: undefined, holds: 0 });
    this.#collected.register(runtime, next);
    return next;
  }

  /** The number of a runtime, if it has one. */
  known(runtime: RuntimeLike): number | undefined {
    return this.#numbers.get(runtime);
  }

  get(number: number): RuntimeLike | undefined {
    return this.#known.get(number)?.weak.deref();
  }

  /** The number of a runtime that is kept until it is let go as often as it was held. */
  hold(runtime: RuntimeLike): number {
    const number = this.numberOf(runtime);
    const known = this.#known.get(number);
    if (known !== undefined) {
      known.strong = runtime;
      known.holds += 1;
    }
    return number;
  }

  letGo(number: number): void {
    const known = this.#known.get(number);
    if (known === undefined || known.holds === 0) return;
    known.holds -= 1;
    if (known.holds === 0) known.strong = undefined;
  }
}
