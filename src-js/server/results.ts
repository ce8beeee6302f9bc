// What a tool's function gave, as what it means: an output with its JSON, or a failure with its text.

import { describe } from '../describe.js';
import type { MCPToolResult } from '../types/server.js';
import { isObject } from './check.js';

/** An output in the form in which it crosses, or the text of a failure. */
export type Outcome =
  | { readonly kind: 'text'; readonly text: string; readonly output: unknown }
  | { readonly kind: 'value'; readonly text: string; readonly output: unknown }
  | { readonly kind: 'nothing'; readonly output: undefined }
  | { readonly kind: 'failed'; readonly text: string };

/** What was thrown, by the failure that stands for it. */
const thrownBy = new WeakMap<object, unknown>();

/**
 * Own members decide: `success: false` is a failure, `success: true` beside an `output` is that output, and anything else
 * is output itself. Throws what looking at the value throws, and what was thrown where {@link failureOf} made the failure.
 */
export function outcomeOf(result: unknown): Outcome {
  if (isObject(result) && thrownBy.has(result)) throw thrownBy.get(result);
  const meant = resultOf(result);
  return meant.success ? outputOf(meant.output) : { kind: 'failed', text: meant.error };
}

/** By the same rules, for who calls a handler without a server. */
export function resultOf(result: unknown): MCPToolResult {
  if (isObject(result) && Object.hasOwn(result, 'success')) {
    const { success } = result;
    if (success === false) return { success, error: textOf(result['error']) };
    if (success === true && Object.hasOwn(result, 'output')) return { success, output: result['output'] };
  }
  return { success: true, output: result };
}

/** A failure with the text of what was thrown, which a server tells from one that was returned: not every client may read it. */
export function failureOf(thrown: unknown): MCPToolResult {
  const failure = { success: false, error: describe(thrown) } as const;
  thrownBy.set(failure, thrown);
  return failure;
}

function outputOf(output: unknown): Outcome {
  if (typeof output === 'string') return { kind: 'text', text: output, output };
  let text: string | undefined;
  try {
    text = JSON.stringify(output, refuse);
  } catch (error) {
    const why = error instanceof Unwritable ? error.message : whyNot(error);
    if (why === undefined) throw error;
    return { kind: 'failed', text: `the output of the tool cannot be written as JSON: ${why}` };
  }
  return text === undefined ? { kind: 'nothing', output: undefined } : { kind: 'value', text, output };
}

/** JSON would leave these out without a word. */
function refuse(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') throw new Unwritable('there is a BigInt in it');
  if (typeof value === 'function') throw new Unwritable('there is a function in it');
  if (typeof value === 'symbol') throw new Unwritable('there is a symbol in it');
  return value;
}

class Unwritable extends Error {}

/** The engine's own objections, which have no type of their own; nothing for what a getter or a `toJSON` threw. */
function whyNot(error: unknown): string | undefined {
  if (error instanceof RangeError) return 'it is nested too deeply, or too long';
  if (error instanceof TypeError && /circular|cyclic/i.test(error.message)) return 'there is a cycle in it';
  return undefined;
}

function textOf(error: unknown): string {
  const text = error instanceof Error ? error.message : error;
  return typeof text === 'string' && text !== '' ? text : 'tool failed';
}
