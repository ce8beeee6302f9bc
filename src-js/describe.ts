// What was thrown, in words. Anything can be thrown, and some of it throws again when it is looked at.

/** A short text for any thrown value; never throws itself. */
export function describe(thrown: unknown): string {
  try {
    return thrown instanceof Error ? String(thrown.message) : String(thrown);
  } catch {
    // An object without a text of its own, or one whose text throws: there is nothing more to say of it.
    return 'a value that has no text';
  }
}
