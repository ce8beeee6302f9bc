// One listener per AbortSignal, however many calls share it, and none when the last of them is over.

type Waiting = Set<(reason: unknown) => void>;

const waiting = new WeakMap<AbortSignal, { calls: Waiting; listener: () => void }>();

/**
 * Calls `abort` when the signal fires, at once if it has fired already. What is returned takes that back, and has to be
 * called in the end.
 */
export function onAbort(signal: AbortSignal, abort: (reason: unknown) => void): () => void {
  if (signal.aborted) {
    abort(signal.reason);
    return () => {};
  }
  let entry = waiting.get(signal);
  if (entry === undefined) {
    const calls: Waiting = new Set();
    const listener = (): void => {
      waiting.delete(signal);
      for (const call of calls) call(signal.reason);
    };
    signal.addEventListener('abort', listener, { once: true });
    entry = { calls, listener };
    waiting.set(signal, entry);
  }
  const { calls, listener } = entry;
  calls.add(abort);
  return () => {
    calls.delete(abort);
    if (calls.size > 0 || waiting.get(signal)?.calls !== calls) return;
    waiting.delete(signal);
    signal.removeEventListener('abort', listener);
  };
}
