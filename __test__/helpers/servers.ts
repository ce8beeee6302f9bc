import { fileURLToPath } from 'node:url';

import type { McpServerConfig } from 'espalier/node';

/** A configuration of a stdio server. */
export type StdioConfig = Extract<McpServerConfig, { type: 'stdio' }>;

/** The path of a fixture server. */
export function fixture(file: string): string {
  return fileURLToPath(new URL(`../fixtures/servers/${file}`, import.meta.url));
}

/** The clean server with `echo`, `sum`, `slow`, `fail`, `structured` and `log`. */
export function echoServer(name = 'echo', more: Partial<StdioConfig> = {}): StdioConfig {
  return { type: 'stdio', name, command: process.execPath, args: [fixture('echo.mjs')], ...more };
}

/** A server that is a line of shell. */
export function shellServer(name: string, script: string, more: Partial<StdioConfig> = {}): StdioConfig {
  return { type: 'stdio', name, command: '/bin/sh', args: ['-c', script], ...more };
}

/** A shell server from a fixture file. */
export function shellFixture(name: string, file: string, ...args: string[]): StdioConfig {
  return { type: 'stdio', name, command: '/bin/sh', args: [fixture(file), ...args] };
}
