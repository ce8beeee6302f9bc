// Wrong use of the server half throws a `TypeError` that names the culprit. What is data is judged by the core, which
// knows the numbers; here is what JSON would blur.

import { describe } from '../describe.js';
import type { NativeReply } from '../../native/binding.cjs';

export type Bag = Readonly<Record<string, unknown>>;

/** Any object, of whatever realm; no list. */
export function isObject(value: unknown): value is Bag {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What can carry members: a runtime may be a function, too. */
export function isHost(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}

/** Throws for what is no object, and for a member that is not among the known ones: a misspelt option must not be ignored. */
export function assertBag(what: string, value: unknown, known: readonly string[]): asserts value is Bag {
  if (!isObject(value)) throw new TypeError(`${what} must be an object`);
  for (const name of Object.keys(value)) {
    if (!known.includes(name)) throw new TypeError(`${what}: there is no option ${JSON.stringify(name)}`);
  }
}

/** Throws for what is given and of another type. */
export function assertType(name: string, value: unknown, type: 'string' | 'boolean' | 'function'): void {
  if (value !== undefined && typeof value !== type) throw new TypeError(`${name} must be a ${type}`);
}

/** Throws for what is given and no finite number, which JSON would make nothing of. */
export function assertNumber(name: string, value: unknown): void {
  if (value !== undefined && (typeof value !== 'number' || !Number.isFinite(value))) {
    throw new TypeError(`${name} must be a number; got ${describe(value)}`);
  }
}

/** A function of somebody else's, with its `this`. */
export type Method = (...args: unknown[]) => unknown;

/** The function that a member holds, bound to its object; nothing where there is none. Throws for what is no function. */
export function methodOf(what: string, source: object, name: string): Method | undefined {
  const method: unknown = Reflect.get(source, name);
  if (method === undefined) return undefined;
  if (typeof method !== 'function') throw new TypeError(`${what} must be a function`);
  return (...args) => Reflect.apply(method as Method, source, args);
}

/** Throws for what is no text, or an empty one. */
export function assertName(what: string, value: unknown): asserts value is string {
  if (typeof value !== 'string' || value === '') throw new TypeError(`${what} must be a string that is not empty`);
}

/**
 * Whether a text is one in UTF-8 as well. One with half a character in it is not: it would become the same as others that
 * have another half there.
 */
export function isWholeText(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}

/** Throws for what is no name of somebody: no text, an empty one, or one with half a character in it. */
export function assertIdentity(what: string, value: unknown): asserts value is string {
  assertName(what, value);
  if (!isWholeText(value)) throw new TypeError(`${what} must have no half of a character (a lone surrogate) in it`);
}

/** The text of a reply; a failure is thrown as the `TypeError` that a wrong option is. */
export function unwrapOption(reply: NativeReply): string {
  if (reply.failure != null) throw new TypeError(reply.failure.message);
  return reply.text ?? '';
}

/** JSON text of what is data. */
export function encodeData(what: string, value: unknown): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (cause) {
    throw new TypeError(`${what} cannot be written as JSON: ${describe(cause)}`, { cause });
  }
  if (text === undefined) throw new TypeError(`${what} cannot be written as JSON`);
  return text;
}
