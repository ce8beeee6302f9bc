// Configuration files of other hosts. They are read and judged by the core.

import { fileURLToPath } from 'node:url';
import { McpError } from '../errors.js';
import { native, unwrap } from '../native.js';
import type { McpConfig, McpConfigOptions } from '../types/client.js';
import { encode } from './options.js';

/**
 * Reads the servers of a configuration file as Claude Desktop, VS Code, Cursor and Agent Plugins have it (`mcpServers`,
 * `servers`): JSON, also with comments. Fills in `${VAR}`, `${VAR:-default}`, `${env:VAR}` and `${input:id}`. A bad
 * entry is a diagnostic, with its place, and the rest is kept. Reads the file at once, without a promise.
 *
 * Throws `McpError` with the code `invalid-option` for a file that cannot be read, and for arguments of a wrong kind.
 *
 * @example
 * const { servers, diagnostics } = loadMcpConfig('.vscode/mcp.json');
 * const toolset = await mcpTools(servers);
 */
export function loadMcpConfig(config: string | URL | object, options: McpConfigOptions = {}): McpConfig {
  if (typeof options !== 'object' || options === null) throw wrong('the options must be an object');
  const { baseDir } = options;
  if (baseDir != null && typeof baseDir !== 'string') throw wrong('baseDir must be a string');
  const env = texts('env', options.env ?? process.env);
  const inputs = texts('inputs', options.inputs ?? {});
  const path = pathOf(config);
  const text = path === undefined ? encode('the configuration', () => config) : '';
  const loaded = unwrap(native.nativeLoadConfig(path, text, env, inputs, baseDir)) ?? '';
  return JSON.parse(loaded) as McpConfig;
}

function pathOf(config: unknown): string | undefined {
  if (typeof config === 'string') return config;
  if (config instanceof URL) {
    try {
      return fileURLToPath(config);
    } catch (cause) {
      throw wrong('the configuration must be a file', { cause });
    }
  }
  if (typeof config !== 'object' || config === null) {
    throw wrong('the configuration must be the path of a file, or an object');
  }
  return undefined;
}

/** What is not there is left out, as `process.env` has it. */
function texts(name: string, values: unknown): Record<string, string> {
  if (typeof values !== 'object' || values === null) throw wrong(`${name} must be an object of strings`);
  const entries = Object.entries(values).filter(([, value]) => value !== undefined);
  const odd = entries.find(([, value]) => typeof value !== 'string');
  if (odd !== undefined) throw wrong(`${name}.${odd[0]} must be a string`);
  return Object.fromEntries(entries) as Record<string, string>;
}

function wrong(message: string, options?: ErrorOptions): McpError {
  return new McpError('invalid-option', message, options);
}
