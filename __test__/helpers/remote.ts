import type { McpOptions, McpServerConfig } from 'espalier/node';
import { describe, onTestFinished } from 'vitest';

/** A configuration of a remote server. */
export type RemoteConfig = Extract<McpServerConfig, { url: string }>;

/** What carries the requests. */
export type Stack = (typeof STACKS)[number];
const STACKS = ['native', 'fetch'] as const;

/** Every promise about remote servers holds over each stack. */
export function overBoth(body: (stack: Stack) => void): void {
  describe.each(STACKS)('over %s', body);
}

/** The options that choose a stack. */
export function over(stack: Stack): McpOptions {
  return stack === 'fetch' ? { fetch: (url, init) => fetch(url, init) } : {};
}

/** A configuration of the server at an address. */
export function http(url: string, more: Partial<RemoteConfig> = {}): RemoteConfig {
  return { type: 'streamable-http', name: 'srv', url, ...more };
}

/** The same over HTTP+SSE. */
export function sse(url: string, more: Partial<RemoteConfig> = {}): RemoteConfig {
  return { type: 'sse', name: 'srv', url, ...more };
}

/** Sets an environment variable of this process for the running test. */
export function environment(name: string, value: string): void {
  const before = process.env[name];
  process.env[name] = value;
  onTestFinished(() => {
    if (before === undefined) delete process.env[name];
    else process.env[name] = before;
  });
}
