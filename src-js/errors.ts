// The error classes that the package throws. Codes come from the binary: no list is kept here.

import type { NativeErrorCode } from '../native/binding.cjs';

/**
 * The stable codes of {@link McpError}:
 *
 * - `connection-lost`: the connection went away under a call; its outcome is unknown
 * - `timeout`: a time limit ran out; the outcome is unknown
 * - `server-error`: the server answered with a JSON-RPC error, given in `data` as `{ code, message, data? }`
 * - `tool-error`: the tool ran and reported a failure (`isError`)
 * - `output-schema`: a structured result does not fit the tool's output schema
 * - `unavailable`: the server cannot be called
 * - `closed`: the toolset was closed
 * - `not-published`: the server no longer publishes the tool
 * - `unauthorized`: the server refused the credentials
 * - `host-blocked`: a host outside the allowed ones
 * - `too-large`: a message over its size limit
 * - `invalid-arguments`: arguments that are not a JSON object, or a tool that is not in the map
 * - `invalid-option`: a wrong option
 * - `invalid-response`: the server sent something that is not what the protocol says
 * - `store`: a connection store failed
 */
export type McpErrorCode = NativeErrorCode;

/** Everything that this package rejects or throws, but for {@link AbortError}. */
export class McpError extends Error {
  override readonly name = 'McpError';
  /** What went wrong, as a stable code. */
  readonly code: McpErrorCode;
  /** What the server sent along, where it sent something: of a `server-error`, its JSON-RPC error object. */
  readonly data?: unknown;

  constructor(code: McpErrorCode, message: string, options?: ErrorOptions & { data?: unknown }) {
    super(message, options);
    this.code = code;
    if (options !== undefined && 'data' in options) this.data = options.data;
  }
}

/** The rejection of something that was given up through its `AbortSignal`. `cause` is the signal's reason. */
export class AbortError extends Error {
  override readonly name = 'AbortError';

  constructor(message: string, reason: unknown) {
    super(message, { cause: reason });
  }
}

/** A handler asked its client for something that the client cannot do. */
export class MissingCapabilityError extends Error {
  override readonly name = 'MissingCapabilityError';
  /** What the client would have to declare, in the form of its capabilities. */
  readonly requiredCapabilities: Readonly<Record<string, unknown>>;

  constructor(requiredCapabilities: Readonly<Record<string, unknown>>, message?: string) {
    super(message ?? `the client lacks the capability ${Object.keys(requiredCapabilities).join(', ')}`);
    this.requiredCapabilities = requiredCapabilities;
  }
}

/** The error, if it is one. Anything can be thrown, and some of it throws again when it is looked at. */
export function missingCapability(thrown: unknown): MissingCapabilityError | undefined {
  try {
    return thrown instanceof MissingCapabilityError ? thrown : undefined;
  } catch {
    return undefined;
  }
}

/** Nothing throws this any more; it is here for code that asks for it by name. */
export class NotImplementedError extends Error {
  override readonly name = 'NotImplementedError';
}
