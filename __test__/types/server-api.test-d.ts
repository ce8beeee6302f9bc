// The public types of the server half, by use. Compiled with the declarations that the package ships; nothing here runs.

import {
  adaptHarnessArtifacts,
  adaptHarnessPrompts,
  adaptHarnessTools,
  adaptSandboxFiles,
  type AuthInfo,
  createMcpServer,
  createPluggableStdioTransport,
  createSSETransport,
  EXTENSION_MIME_TYPES,
  type HandlerContext,
  type HarnessToolExecutor,
  isTextMimeType,
  McpError,
  type MCPPrompt,
  type McpPromptRegistration,
  type MCPResource,
  type McpResourceRegistration,
  type MCPResourceTemplate,
  McpRuntime,
  MCPServer,
  type MCPServerConfig,
  type MCPToolContext,
  type MCPToolDefinition,
  type McpToolRegistration,
  type MCPToolResult,
  type MCPTransport,
  mimeTypeFromPath,
  MissingCapabilityError,
  NotImplementedError,
  projectToolDefinitionToMCP,
  refreshArtifactCache,
  resolveMimeType,
  type RuntimeLike,
  type SandboxEntryLike,
  type ServerStats,
  type ToolLike,
} from 'espalier/server';
import { createMcpServer as createOfRoot, MCPServer as ServerOfRoot } from 'espalier';
import { expectTypeOf } from 'vitest';
import { z } from 'zod';

expectTypeOf(ServerOfRoot).toEqualTypeOf(MCPServer);
expectTypeOf(createOfRoot).toEqualTypeOf(createMcpServer);

// Options.

const runtime: RuntimeLike = {
  tools: {
    list: async () => [
      {
        name: 'echo',
        description: 'd',
        parameters: { type: 'object' },
        execute: ({ text }) => text,
        category: 'files',
      },
      { name: 'zod', parameters: z.object({ a: z.string() }), needsApproval: () => false, requiresGPU: false },
    ],
  },
  plugins: { collectApprovalFlow: () => ({ checkApprovalNeeded: ({ toolName }) => toolName === 'rm' }) },
  prompts: [{ name: 'greet', render: ({ who }) => `Hello ${who}` }],
};

export const config: MCPServerConfig = {
  name: 'n',
  version: '1',
  icons: [{ src: 'data:,' }],
  runtime,
  nativeExecution: true,
  resolveRuntime: ({ tenantId }) => (tenantId === 'acme' ? runtime : undefined),
  validateArguments: 'full',
  requestStateSecret: new Uint8Array(32),
  logger: console,
};
// @ts-expect-error -- a misspelt option
export const misspelt: MCPServerConfig = { nativeexecution: true };
// @ts-expect-error -- a way to validate that there is not
export const deep: MCPServerConfig = { validateArguments: 'deep' };

const executor: HarnessToolExecutor = async (name, args, context) => {
  expectTypeOf(name).toEqualTypeOf<string>();
  expectTypeOf(args).toEqualTypeOf<Record<string, unknown>>();
  expectTypeOf(context?.tenantId).toEqualTypeOf<string | undefined>();
  return name === '' ? { success: false, error: 'x' } : { success: true, output: args };
};

/** How a server is used. */
export async function use(): Promise<void> {
  const server = createMcpServer(config, executor);
  server.register(
    { name: 'a', inputSchema: {}, handler: (_args, context) => context.tenantId },
    { tenantScoped: true },
  );
  server.registerTool({ name: 'b', inputSchema: z.object({ a: z.string() }) });
  // @ts-expect-error -- a tool has a name
  server.register({ inputSchema: {} });
  server.registerResource({ uri: 'a:b', name: 'a', handler: async () => ({ blob: new Uint8Array() }) });
  server.registerResourceTemplate({ uriTemplate: 'a:{b}', name: 'a', handler: (_uri, { b }) => ({ text: String(b) }) });
  // @ts-expect-error -- a resource holds text or bytes
  server.registerResource({ uri: 'a:b', name: 'a', handler: () => ({ txt: '' }) });
  server.registerResources(() => adaptHarnessArtifacts(runtime));
  server.registerResources((context) => adaptHarnessArtifacts(context!.runtime), { perRequest: true });
  server.registerResources(() => adaptSandboxFiles(runtime, { mimeTypeResolver: ({ path }) => path }));
  server.registerPrompt({ name: 'a', handler: ({ who }) => ({ messages: [{ role: 'user', content: who ?? '' }] }) });
  server.registerPrompts(() => adaptHarnessPrompts(runtime));
  server.registerCompletion((ref, { value }) => [ref.type, value]);
  server.registerSession('id', runtime, { tenantId: 'acme' });
  expectTypeOf(server.getSession('id')?.runtime).toEqualTypeOf<RuntimeLike | undefined>();
  expectTypeOf(server.unregister('a')).toEqualTypeOf<boolean>();
  for (const tool of await adaptHarnessTools(runtime, undefined, 100, { nativeExecution: true })) server.register(tool);

  const transport = createPluggableStdioTransport({ input: process.stdin, output: process.stdout, maxBodyBytes: 5 });
  expectTypeOf(transport).toEqualTypeOf<MCPTransport>();
  await server.start(transport);
  await server.start({ transport: 'stdio' });
  await server.start({ transport: 'sse', port: 0 });
  await server.start(createSSETransport({ port: 0, tenantIdExtractor: ({ headers }) => headers['x-tenant'] }));
  // @ts-expect-error -- a port has to be said
  await server.start({ transport: 'sse' });
  expectTypeOf(server.getTransport()).toEqualTypeOf<MCPTransport | undefined>();
  expectTypeOf(server.isStarted()).toEqualTypeOf<boolean>();
  expectTypeOf(server.stats()).toEqualTypeOf<ServerStats>();
  expectTypeOf(await server.listTools()).toEqualTypeOf<MCPToolDefinition[]>();
  const result = await server.callTool('a', {}, AbortSignal.timeout(5));
  expectTypeOf(result).toEqualTypeOf<MCPToolResult>();
  if (result.success) expectTypeOf(result.output).toBeUnknown();
  else expectTypeOf(result.error).toEqualTypeOf<string>();
  await server.stop();
  await using disposed = new MCPServer();
  expectTypeOf(disposed).toEqualTypeOf<MCPServer>();
}

/** What a handler can do. */
export async function handle(context: HandlerContext): Promise<void> {
  expectTypeOf(context).toEqualTypeOf<MCPToolContext>();
  expectTypeOf(context.signal).toEqualTypeOf<AbortSignal>();
  expectTypeOf(context.auth).toEqualTypeOf<AuthInfo | undefined>();
  context.progress(1, 2, 'half');
  context.log('warning', { a: 1 });
  // @ts-expect-error -- a level that there is not
  context.log('loud', 1);
  const form = { message: 'm', requestedSchema: { type: 'object', properties: {} } };
  expectTypeOf((await context.elicit(form, { key: 'k' })).action).toEqualTypeOf<'accept' | 'decline' | 'cancel'>();
  await context.elicit({ mode: 'url', message: 'm', url: 'https://example.com' });
  expectTypeOf((await context.sample({ messages: [], maxTokens: 1 })).model).toEqualTypeOf<string>();
  expectTypeOf((await context.roots())[0]?.uri).toEqualTypeOf<string | undefined>();
  context.closeStream(5);
}

// Registered entries, also by themselves.

export const tool: MCPToolDefinition = { name: 'a', inputSchema: {}, outputSchema: {}, annotations: {}, _meta: {} };
export const resource: MCPResource = {
  uri: 'a:b',
  name: 'a',
  visibleTo: ({ tenantId }) => tenantId === 'acme',
  handler: () => null,
};
export const template: MCPResourceTemplate = { uriTemplate: 'a:{b}', name: 'a', handler: () => undefined };
export const prompt: MCPPrompt = { name: 'a', arguments: [{ name: 'who', required: true }], handler: () => 'x' };
export const hosted: ToolLike = { name: 'a', requiresApproval: true, anything: 1 };

/** The ledger of capabilities. */
export async function register(server: MCPServer): Promise<void> {
  const ledger = new McpRuntime(server);
  await ledger.registerCapability({ kind: 'resource', name: 'runbook', uri: 'file:///runbooks/agent.md' });
  await ledger.registerCapability({
    kind: 'tool',
    name: 'a',
    inputSchema: {},
    handler: async (input: unknown) => input,
  });
  // @ts-expect-error -- a kind that there is not
  await ledger.registerCapability({ kind: 'widget', name: 'a' });
  expectTypeOf(ledger.capabilities('tool')).toEqualTypeOf<McpToolRegistration[]>();
  expectTypeOf(ledger.capabilities('resource')).toEqualTypeOf<McpResourceRegistration[]>();
  expectTypeOf(ledger.capabilities('prompt')).toEqualTypeOf<McpPromptRegistration[]>();
}

// Adapters and MIME types.

expectTypeOf(projectToolDefinitionToMCP).returns.toEqualTypeOf<MCPToolDefinition>();
expectTypeOf(adaptSandboxFiles).returns.resolves.toEqualTypeOf<MCPResource[]>();
expectTypeOf(adaptHarnessPrompts).returns.resolves.toEqualTypeOf<MCPPrompt[]>();
expectTypeOf(mimeTypeFromPath('a.md')).toEqualTypeOf<string | undefined>();
expectTypeOf(resolveMimeType({ path: 'a.md' })).toEqualTypeOf<string>();
expectTypeOf(resolveMimeType({} as SandboxEntryLike, ({ chatId }) => chatId)).toEqualTypeOf<string>();
expectTypeOf(isTextMimeType).returns.toEqualTypeOf<boolean>();
expectTypeOf(EXTENSION_MIME_TYPES).toEqualTypeOf<Readonly<Record<string, string>>>();
refreshArtifactCache();
refreshArtifactCache(runtime, { tenantId: 'acme' });
refreshArtifactCache({ chatId: 'c' });

// Errors.

expectTypeOf(new MissingCapabilityError({ roots: {} }).requiredCapabilities).toExtend<object>();
expectTypeOf(new NotImplementedError()).toExtend<Error>();
expectTypeOf(McpError).toBeConstructibleWith('closed', 'text');
