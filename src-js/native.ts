// The only importer of the binary. Loads it, or says readably why it does not load; turns its failures, which come as
// values, into errors.

import { createRequire } from 'node:module';
import type * as Binding from '../native/binding.cjs';
import type { NativeFailure, NativeReply } from '../native/binding.cjs';
import { McpError } from './errors.js';

const require = createRequire(import.meta.url);

export const native: typeof Binding = load();

/** The text of a reply; a failure is thrown. */
export function unwrap(reply: NativeReply): string | undefined {
  if (reply.failure != null) throw toError(reply.failure);
  return reply.text ?? undefined;
}

/** A failure as the error that users see. */
export function toError(failure: NativeFailure): McpError {
  const data = failure.data == null ? {} : { data: JSON.parse(failure.data) as unknown };
  return new McpError(failure.code, failure.message, data);
}

function load(): typeof Binding {
  const platform = `${process.platform}-${process.arch}`;
  let binding: typeof Binding;
  try {
    binding = require('../native/binding.cjs') as typeof Binding;
  } catch (cause) {
    throw new Error(
      `espalier cannot load its native addon on ${platform} (${runtime()}). It comes as an optional dependency, ` +
        `${packageNames()}: install without leaving optional dependencies out, on the system that runs it, ` +
        'and see the cause for what was tried.',
      { cause },
    );
  }
  const { version } = require('../package.json') as { version: string };
  const built = binding.nativeVersion();
  if (built !== version) {
    throw new Error(
      `espalier ${version} found the native addon of version ${built} on ${platform}. Both have to be of one version: ` +
        'install espalier again.',
    );
  }
  return binding;
}

function runtime(): string {
  const { bun, node } = process.versions;
  return bun === undefined ? `Node ${node}` : `Bun ${bun}`;
}

function packageNames(): string {
  const base = `@espalier/binding-${process.platform}-${process.arch}`;
  if (process.platform === 'linux') return `${base}-gnu or ${base}-musl`;
  return process.platform === 'win32' ? `${base}-msvc` : base;
}
