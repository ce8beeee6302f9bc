// The public types, by use. Compiled with the declarations that the package ships; nothing here runs.

import {
  AbortError,
  type AnyTool,
  catalogTokens,
  composeMcpSystemPrompt,
  createMemoryMcpConnectionStore,
  DEFAULT_DISCLOSURE_BUDGET_TOKENS,
  createSqliteMcpConnectionStore,
  type Diagnostic,
  estimateTokens,
  isProviderLegalToolName,
  loadMcpConfig,
  MCP_DESCRIBE_TOOL,
  type McpConfig,
  type McpConnectionStore,
  McpError,
  type McpErrorCode,
  type McpListedPrompt,
  type McpListedResource,
  type McpListedResourceTemplate,
  type McpLog,
  type McpServerStatus,
  type McpOptions,
  type McpServerConfig,
  type McpSqlStorage,
  type McpDriftReview,
  mcpTools,
  type McpToolCallOptions,
  type McpToolDenied,
  type McpToolset,
  type PersistedServer,
  type PersistedTool,
  rebuildMcpToolsFromStorage,
  retrustMcpServer,
  reviewMcpDrift,
} from 'espalier/node';
import { mcpTools as mcpToolsOfRoot, type McpToolset as McpToolsetOfRoot } from 'espalier';
import { expectTypeOf } from 'vitest';

// Configurations.

expectTypeOf<{ type: 'stdio'; name: string; command: string }>().toExtend<McpServerConfig>();
expectTypeOf<{ type: 'sse'; name: string; url: string }>().toExtend<McpServerConfig>();
const configs: readonly McpServerConfig[] = [
  {
    type: 'stdio',
    name: 'files',
    command: 'node',
    args: ['server.mjs'],
    env: { A: 'b' },
    cwd: '/',
    timeoutMs: Number.POSITIVE_INFINITY,
  },
  { type: 'streamable-http', name: 'docs', url: 'https://example.com/mcp', headers: { 'x-key': 'y' } },
];
// @ts-expect-error -- a transport that there is not
export const unknownTransport: McpServerConfig = { type: 'websocket', name: 'x', url: 'ws://x' };
// @ts-expect-error -- a stdio server has a command
export const withoutCommand: McpServerConfig = { type: 'stdio', name: 'x' };
// @ts-expect-error -- a remote server has a url, not a command
export const remoteWithCommand: McpServerConfig = { type: 'sse', name: 'x', command: 'node' };
// @ts-expect-error -- values of the environment are text
export const numberInEnv: McpServerConfig = { type: 'stdio', name: 'x', command: 'node', env: { PORT: 80 } };

// Options.

export const options: McpOptions = {
  timeoutMs: 1000,
  resetTimeoutOnProgress: false,
  maxTotalTimeoutMs: 5000,
  maxParallelConnects: 4,
  maxTools: 100,
  maxCatalogBytes: 1_000_000,
  maxMessageBytes: 1_000_000,
  fetch,
  tools: { allow: ['read'] },
  disclosure: { budget: 'auto', alwaysLoad: ['files'] },
  onListChanged: 'apply',
  storage: createMemoryMcpConnectionStore(),
  session: { user: 1 },
  signal: new AbortController().signal,
  onDiagnostic(diagnostic) {
    expectTypeOf(diagnostic).toEqualTypeOf<Diagnostic>();
    expectTypeOf(diagnostic.message).toEqualTypeOf<string>();
  },
  onProgress(event) {
    expectTypeOf(event.server).toEqualTypeOf<string>();
    expectTypeOf(event.tool).toEqualTypeOf<string>();
    expectTypeOf(event.progress).toEqualTypeOf<number>();
    expectTypeOf(event.total).toEqualTypeOf<number | undefined>();
    expectTypeOf(event.message).toEqualTypeOf<string | undefined>();
    expectTypeOf(event.toolCallId).toEqualTypeOf<string | undefined>();
  },
  onLog(log) {
    expectTypeOf(log).toEqualTypeOf<McpLog>();
    expectTypeOf(log.data).toBeUnknown();
    expectTypeOf(log.logger).toEqualTypeOf<string | undefined>();
  },
  sampling(request, context) {
    expectTypeOf(request.maxTokens).toEqualTypeOf<number>();
    expectTypeOf(context.signal).toEqualTypeOf<AbortSignal>();
    expectTypeOf(context.session).toBeUnknown();
    return { role: 'assistant', model: 'm', content: { type: 'text', text: request.systemPrompt ?? context.server } };
  },
  async elicitation(request) {
    if (request.mode === 'url') {
      expectTypeOf(request.url).toEqualTypeOf<string>();
      return { action: 'decline' };
    }
    expectTypeOf(request.requestedSchema).toEqualTypeOf<Record<string, unknown>>();
    return { action: 'accept', content: { name: 'Ada', age: 36, agreed: true, tags: ['a'] } };
  },
  roots: () => [{ uri: 'file:///work', name: 'Work' }],
  onStderr(server, line) {
    expectTypeOf(server).toEqualTypeOf<string>();
    expectTypeOf(line).toEqualTypeOf<string>();
  },
};
export const fixedRoots: McpOptions = { roots: [{ uri: 'file:///work' }] as const };
// @ts-expect-error -- a form has an action
export const withoutAction: McpOptions = { elicitation: () => ({ content: {} }) };
// @ts-expect-error -- and flat content
export const deepContent: McpOptions = { elicitation: () => ({ action: 'accept', content: { a: { b: 1 } } }) };
// @ts-expect-error -- a message has a model
export const withoutModel: McpOptions = { sampling: () => ({ role: 'assistant', content: { type: 'text' } }) };
// @ts-expect-error -- a root is an object
export const textRoot: McpOptions = { roots: ['file:///work'] };
// @ts-expect-error -- milliseconds are a number
export const textTimeout: McpOptions = { timeoutMs: '60000' };

// @ts-expect-error -- a budget is a number, or `'auto'`
export const textBudget: McpOptions = { disclosure: { budget: 'none' } };

// The toolset.

expectTypeOf(mcpTools).returns.resolves.toEqualTypeOf<McpToolset>();
expectTypeOf(mcpToolsOfRoot).toEqualTypeOf(mcpTools);
expectTypeOf<McpToolsetOfRoot>().toEqualTypeOf<McpToolset>();

/** How a toolset is used. */
export async function use(): Promise<void> {
  const toolset = await mcpTools(configs, options);
  expectTypeOf(toolset.tools).toEqualTypeOf<Record<string, AnyTool>>();
  expectTypeOf(toolset.reconciled).toEqualTypeOf<Promise<void>>();
  expectTypeOf(toolset.close()).toEqualTypeOf<Promise<void>>();
  expectTypeOf(toolset[Symbol.asyncDispose]()).toEqualTypeOf<Promise<void>>();
  expectTypeOf(toolset.unref()).toEqualTypeOf<void>();

  const call: McpToolCallOptions = { signal: new AbortController().signal, timeoutMs: 5, onProgress() {}, session: 1 };
  expectTypeOf(await toolset.call('files__read', { path: '/' }, call)).toBeUnknown();
  expectTypeOf(await toolset.call('files__read')).toBeUnknown();
  // @ts-expect-error -- a signal is an AbortSignal
  await toolset.call('files__read', {}, { signal: 'now' });
  // @ts-expect-error -- the map of tools is not to be replaced
  toolset.tools = {};

  const [report] = toolset.servers();
  expectTypeOf(report?.name).toEqualTypeOf<string | undefined>();
  expectTypeOf(report?.tools).toEqualTypeOf<number | undefined>();
  expectTypeOf(report?.disclosure).toEqualTypeOf<{ tier: 'inline' | 'names' | 'bare'; tokens: number } | undefined>();
  expectTypeOf(report?.state).toEqualTypeOf<
    'connecting' | 'ready' | 'unavailable' | 'stopped' | 'closed' | undefined
  >();

  const off = toolset.on('change', ({ server, what }) => {
    expectTypeOf(server).toEqualTypeOf<string>();
    expectTypeOf(what).toEqualTypeOf<'tools' | 'prompts' | 'resources'>();
  });
  expectTypeOf(off).toEqualTypeOf<() => void>();
  toolset.on('status', (status) => expectTypeOf(status).toEqualTypeOf<McpServerStatus>());
  // @ts-expect-error -- an event that there is not
  toolset.on('changed', () => {});

  await using disposed = await mcpTools(configs);
  expectTypeOf(disposed).toEqualTypeOf<McpToolset>();
  // @ts-expect-error -- servers are a list
  await mcpTools({ files: configs[0] });
  // @ts-expect-error -- and not left out
  await mcpTools();
}

// Resources and prompts.

/** How resources and prompts are used. */
export async function useFeatures({ resources, prompts }: McpToolset): Promise<void> {
  expectTypeOf(await resources.list()).toEqualTypeOf<McpListedResource[]>();
  expectTypeOf(await resources.templates('docs')).toEqualTypeOf<McpListedResourceTemplate[]>();
  const { contents } = await resources.read('docs', 'file:///a', { signal: AbortSignal.timeout(5) });
  expectTypeOf(contents[0]?.text).toEqualTypeOf<string | undefined>();
  const off = await resources.subscribe('docs', 'file:///a', (uri) => expectTypeOf(uri).toEqualTypeOf<string>());
  expectTypeOf(off()).toEqualTypeOf<Promise<void>>();
  expectTypeOf(await prompts.list('docs')).toEqualTypeOf<McpListedPrompt[]>();
  const { messages } = await prompts.get('docs', 'greet', { who: 'Ann' }, { signal: AbortSignal.timeout(5) });
  expectTypeOf(messages[0]?.role).toEqualTypeOf<'user' | 'assistant' | undefined>();
  const { completion } = await prompts.complete(
    'docs',
    { type: 'ref/resource', uri: 'note://{name}' },
    { name: 'name', value: 'a' },
    { arguments: { other: 'b' } },
  );
  expectTypeOf(completion.values).toEqualTypeOf<string[]>();
  // @ts-expect-error -- arguments of prompts are text
  await prompts.get('docs', 'greet', { who: 5 });
  // @ts-expect-error -- what is completed is a prompt or a resource
  await prompts.complete('docs', { type: 'ref/tool', name: 'x' }, { name: 'a', value: '' });
}

// A projected tool.

/** How a tool is used. */
export async function useTool(tool: AnyTool): Promise<void> {
  expectTypeOf(tool.name).toEqualTypeOf<string>();
  expectTypeOf(tool.description).toEqualTypeOf<string>();
  expectTypeOf(tool.replay).toExtend<boolean>();
  expectTypeOf(await tool.execute()).toBeUnknown();
  expectTypeOf(
    await tool.execute(
      { any: 1 },
      { signal: AbortSignal.timeout(5), abortSignal: AbortSignal.timeout(5), toolCallId: 'x' },
    ),
  ).toBeUnknown();
  const standard = tool.input['~standard'];
  expectTypeOf(standard.version).toEqualTypeOf<1>();
  expectTypeOf(standard.vendor).toExtend<string>();
  // @ts-expect-error -- the id of a tool call is text
  await tool.execute({}, { toolCallId: 5 });
}

// Errors.

expectTypeOf<McpError>().toExtend<Error>();
expectTypeOf<AbortError>().toExtend<Error>();
expectTypeOf<McpError['code']>().toEqualTypeOf<McpErrorCode>();
expectTypeOf<McpErrorCode>().toEqualTypeOf<
  | 'connection-lost'
  | 'timeout'
  | 'server-error'
  | 'tool-error'
  | 'output-schema'
  | 'unavailable'
  | 'closed'
  | 'not-published'
  | 'unauthorized'
  | 'host-blocked'
  | 'too-large'
  | 'invalid-arguments'
  | 'invalid-option'
  | 'invalid-response'
  | 'store'
>();

/** How an error is told apart. */
export function explain(error: unknown): string {
  if (error instanceof AbortError) return error.name;
  if (!(error instanceof McpError)) return 'not ours';
  expectTypeOf(error.data).toBeUnknown();
  // @ts-expect-error -- a code that there is not
  if (error.code === 'no-such-code') return 'never';
  return error.code === 'timeout' ? 'too slow' : error.message;
}

// The store.

expectTypeOf(createMemoryMcpConnectionStore()).toExtend<McpConnectionStore>();
expectTypeOf(createMemoryMcpConnectionStore().trustedTools('x')).toExtend<unknown>();
expectTypeOf(createSqliteMcpConnectionStore('rows.sqlite')).toEqualTypeOf<Required<McpConnectionStore>>();
/** What a Durable Object has. */
interface DurableObjectSql {
  exec<T extends Record<string, ArrayBuffer | string | number | null>>(
    query: string,
    ...bindings: unknown[]
  ): Cursor<T>;
}
interface Cursor<T> extends Iterable<T> {
  one(): T;
}
declare const durableObjectSql: DurableObjectSql;
expectTypeOf(durableObjectSql).toExtend<McpSqlStorage>();
expectTypeOf(createSqliteMcpConnectionStore(durableObjectSql)).toExtend<McpConnectionStore>();
export const store: McpConnectionStore = {
  list: () => [],
  async save(row) {
    expectTypeOf(row).toEqualTypeOf<PersistedServer>();
  },
  remove(id) {
    expectTypeOf(id).toEqualTypeOf<string>();
  },
};
expectTypeOf(rebuildMcpToolsFromStorage([], { storage: store }, { stdio: false })).toEqualTypeOf<Promise<McpToolset>>();
// @ts-expect-error -- whether children may be started has to be said
void rebuildMcpToolsFromStorage([], { storage: store });
expectTypeOf(retrustMcpServer(store, 'docs')).toEqualTypeOf<Promise<boolean>>();
expectTypeOf(reviewMcpDrift(store, [])).toEqualTypeOf<Promise<McpDriftReview[]>>();
export const row: PersistedServer = { id: 'x', name: 'x', type: 'sse', url: 'https://example.com/sse' };
export const persisted: PersistedTool = { name: 'x' };
// @ts-expect-error -- a stdio server is never stored
export const stdioRow: PersistedServer = { id: 'x', name: 'x', type: 'stdio', url: '' };

// Configuration files.

expectTypeOf(loadMcpConfig('mcp.json')).toEqualTypeOf<McpConfig>();
export const fromFile: McpServerConfig[] = loadMcpConfig(new URL('file:///mcp.json'), {
  env: { A: undefined },
}).servers;
export const fromObject: Diagnostic[] = loadMcpConfig(
  { mcpServers: {} },
  { baseDir: '/', inputs: { key: 'x' } },
).diagnostics;
// @ts-expect-error -- neither a path nor an object
loadMcpConfig(7);

// The rest.

expectTypeOf(estimateTokens).toEqualTypeOf<(text: string) => number>();
expectTypeOf(isProviderLegalToolName('x')).toEqualTypeOf<boolean>();
expectTypeOf(DEFAULT_DISCLOSURE_BUDGET_TOKENS).toEqualTypeOf<number>();
expectTypeOf(MCP_DESCRIBE_TOOL).toEqualTypeOf<string>();
expectTypeOf(catalogTokens([{ name: 'a' }, { name: 'b', description: 'B.' }])).toEqualTypeOf<number>();
export const prompt: string = composeMcpSystemPrompt({ mine: { description: 'Mine.' } }, { disclosure: { budget: 5 } });
export const denied: McpToolDenied = { __denied: true, toolName: 'x', deniedBy: 'y', message: 'z' };
