import { McpError, type McpErrorCode } from 'espalier/node';
import { expect } from 'vitest';

/** What a promise rejects with; fails when it resolves. */
export async function rejection(promise: Promise<unknown>): Promise<unknown> {
  let value: unknown;
  try {
    value = await promise;
  } catch (error) {
    return error;
  }
  throw new Error(`resolved with ${JSON.stringify(value)} instead of rejecting`);
}

/** Expects a promise to reject with an `McpError` of a code, and gives that error. */
export async function mcpError(promise: Promise<unknown>, code: McpErrorCode): Promise<McpError> {
  const error = await rejection(promise);
  if (!(error instanceof McpError)) throw new Error(`not an McpError: ${String(error)}`, { cause: error });
  expect({ code: error.code, text: error.message }).toEqual({ code, text: expect.any(String) });
  return error;
}
