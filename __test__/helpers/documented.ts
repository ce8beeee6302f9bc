// The public names that README.md lists in tables, held against the types: a name that one side has and the other lacks
// does not compile here, or fails the test of the README.

import type { McpError, McpOptions, McpServerConfig, McpToolset } from 'espalier/node';

type StdioServer = Extract<McpServerConfig, { type: 'stdio' }>;

export const serverFields: string[] = Object.keys({
  name: true,
  command: true,
  args: true,
  env: true,
  cwd: true,
  cwdRoot: true,
  pluginRoot: true,
  pluginDataRoot: true,
  timeoutMs: true,
  protocol: true,
  lazy: true,
  idleStopMs: true,
  tools: true,
} satisfies Record<Exclude<keyof StdioServer, 'type'>, true>);

export const options: string[] = Object.keys({
  timeoutMs: true,
  resetTimeoutOnProgress: true,
  maxTotalTimeoutMs: true,
  maxParallelConnects: true,
  maxTools: true,
  maxCatalogBytes: true,
  maxMessageBytes: true,
  tools: true,
  protocol: true,
  allowedHosts: true,
  auth: true,
  blockPrivateAddresses: true,
  proxy: true,
  ca: true,
  fetch: true,
  fs: true,
  disclosure: true,
  onListChanged: true,
  lazy: true,
  idleStopMs: true,
  storage: true,
  session: true,
  signal: true,
  onDiagnostic: true,
  onProgress: true,
  onStderr: true,
  onLog: true,
  sampling: true,
  elicitation: true,
  roots: true,
} satisfies Record<keyof McpOptions, true>);

export const toolsetMembers: string[] = Object.keys({
  tools: true,
  call: true,
  servers: true,
  resources: true,
  prompts: true,
  on: true,
  reconciled: true,
  unref: true,
  close: true,
} satisfies Record<Exclude<keyof McpToolset, symbol>, true>);

export const errorCodes: string[] = Object.keys({
  'connection-lost': true,
  timeout: true,
  'server-error': true,
  'tool-error': true,
  unavailable: true,
  closed: true,
  'invalid-arguments': true,
  'invalid-option': true,
  'invalid-response': true,
  store: true,
  'output-schema': true,
  'not-published': true,
  unauthorized: true,
  'host-blocked': true,
  'too-large': true,
} satisfies Record<McpError['code'], true>);
