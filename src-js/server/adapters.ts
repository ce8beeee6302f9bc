// From what a host brings along to entries that a server can register. The host is asked; nothing of it is copied but short
// listings.

import { randomUUID } from 'node:crypto';
import { describe } from '../describe.js';
import type {
  AdapterOptions,
  ArtifactLike,
  HandlerContext,
  HarnessToolExecutor,
  HostContent,
  MCPPrompt,
  MCPResource,
  MCPResourceContent,
  MCPToolDefinition,
  MCPToolResult,
  MimeTypeResolver,
  PromptLike,
  RuntimeLike,
  SandboxEntryLike,
} from '../types/server.js';
import { assertBag, assertType, encodeData, isHost, isObject } from './check.js';
import { argumentProblem, runProjected } from './execute.js';
import { isTextMimeType, resolveMimeType } from './mime.js';
import { DEFAULT_MAX_TOOLS, project } from './projection.js';
import { bytesOf } from './resources.js';
import { failureOf, resultOf } from './results.js';
import { type Scope, Snapshots } from './snapshots.js';

const artifacts = new Snapshots();
const files = new Snapshots();

/**
 * The tools of a runtime as definitions to register, each with a handler that runs it by the rules of the server: through
 * the executor where there is one, else by its own `execute` where `nativeExecution` is `true` and nothing asks for an
 * approval, else not at all. Arguments of native execution are held against the input schema. A tool that cannot be shown
 * is left out, with a process warning. The handlers resolve to {@link MCPToolResult} and never reject; they can also be
 * called without a server, and then need no context.
 *
 * Rejects with whatever listing the tools throws, and with a `TypeError` for a wrong option.
 *
 * @example
 * for (const tool of await adaptHarnessTools(runtime, undefined, 100, { nativeExecution: true })) server.register(tool);
 */
export async function adaptHarnessTools(
  runtime: RuntimeLike,
  executor?: HarnessToolExecutor,
  maxTools: number = DEFAULT_MAX_TOOLS,
  options: { nativeExecution?: boolean } = {},
): Promise<MCPToolDefinition[]> {
  assertRuntime(runtime);
  assertType('the executor', executor, 'function');
  if (!Number.isSafeInteger(maxTools) || maxTools < 1) throw new TypeError('maxTools must be a positive integer');
  const bag: object = options;
  assertBag('the options', bag, ['nativeExecution']);
  assertType('nativeExecution', options.nativeExecution, 'boolean');
  const how = { executor, nativeExecution: options.nativeExecution === true };
  const projection = await project(runtime, maxTools, { odd: warn, cut: warn });
  return Array.from(projection.values(), (projected) => {
    const { name, schema, wire } = projected;
    const handler = async (
      given: Record<string, unknown> = {},
      told?: Partial<HandlerContext>,
    ): Promise<MCPToolResult> => {
      try {
        const context = completed(runtime, told);
        const args = encodeData(`the arguments of ${name}`, given);
        const problem = executor === undefined ? argumentProblem(schema, args, 'shallow') : undefined;
        if (problem !== undefined) return { success: false, error: problem };
        const isAborted = (): boolean => context.signal.aborted;
        const ran = await runProjected(projected, how, { name, args, context, isAborted });
        return 'refusal' in ran ? { success: false, error: ran.refusal } : resultOf(ran.result);
      } catch (error) {
        return failureOf(error);
      }
    };
    return { ...(JSON.parse(wire) as MCPToolDefinition), handler };
  });
}

/**
 * The artifacts of a runtime as resources, `pleach://artifact/<chat_id>/<artifact_id>`. Listings are used again for
 * {@link ADAPTER_RESOURCE_CACHE_TTL_MS}. A runtime without artifacts has none.
 *
 * Rejects with whatever the host throws, and with a `TypeError` for a wrong option.
 *
 * @example
 * server.registerResources(() => adaptHarnessArtifacts(runtime));
 */
export async function adaptHarnessArtifacts(
  runtime: RuntimeLike,
  options: AdapterOptions<ArtifactLike> = {},
): Promise<MCPResource[]> {
  const { scheme, scope } = readOptions(runtime, options);
  const listed = await artifacts.list(runtime, scope, async () => asList(await runtime.artifacts?.list(scope)));
  return adapt(
    listed,
    'an artifact',
    ({ chatId, artifactId, name, description, mimeType, size }: ArtifactLike, entry) => {
      assertTexts({ chatId, artifactId });
      const type = text(options.mimeTypeResolver?.(entry)) ?? text(mimeType);
      return {
        uri: `${scheme}://artifact/${segment(chatId)}/${segment(artifactId)}`,
        name: text(name) ?? artifactId,
        ...shown({ description, mimeType: type, size }),
        handler: async (_uri, context?: HandlerContext) => {
          const { tenantId } = { tenantId: context?.tenantId, ...scope };
          const content = await runtime.artifacts?.read({ chatId, artifactId, ...tenant(tenantId) });
          return contentOf(content, type);
        },
      };
    },
  );
}

/**
 * The sandbox files of a runtime as resources, `pleach://sandbox/<chat_id>/<path>`, by the same rules. The MIME type is
 * what `mimeTypeResolver` gives, else the entry's, else by extension, else `application/octet-stream`; it decides whether
 * bytes are sent as text. A path with `..`, a NUL or a backslash is not read.
 *
 * @example
 * server.registerResources((context) => adaptSandboxFiles(context!.runtime), { perRequest: true });
 */
export async function adaptSandboxFiles(
  runtime: RuntimeLike,
  options: AdapterOptions<SandboxEntryLike> = {},
): Promise<MCPResource[]> {
  const { scheme, scope } = readOptions(runtime, options);
  const listed = await files.list(runtime, scope, async () => asList(await runtime.sandbox?.list(scope)));
  return adapt(listed, 'a sandbox file', ({ chatId, path, name, size }: SandboxEntryLike, entry) => {
    assertTexts({ chatId, path });
    const mimeType = resolveMimeType(entry, options.mimeTypeResolver as MimeTypeResolver<SandboxEntryLike>);
    return {
      uri: `${scheme}://sandbox/${segment(chatId)}/${path.split('/').map(segment).join('/')}`,
      name: text(name) ?? path,
      ...shown({ mimeType, size }),
      handler: async (_uri, context?: HandlerContext) => {
        if (isUnsafe(path)) return undefined;
        const { tenantId } = { tenantId: context?.tenantId, ...scope };
        const content = await runtime.sandbox?.read({ chatId, path, ...tenant(tenantId) });
        return contentOf(content, mimeType);
      },
    };
  });
}

/**
 * The prompts of a runtime as prompts to register. A runtime without prompts has none.
 *
 * Rejects with whatever the host throws.
 *
 * @example
 * server.registerPrompts(() => adaptHarnessPrompts(runtime));
 */
export async function adaptHarnessPrompts(runtime: RuntimeLike, options: AdapterOptions = {}): Promise<MCPPrompt[]> {
  readOptions(runtime, options);
  const { prompts } = runtime;
  const contributed = prompts !== undefined && 'list' in prompts ? await prompts.list() : prompts;
  return adapt(asList(contributed), 'a prompt', (prompt: PromptLike) => {
    const { name, title, description, arguments: list } = prompt;
    assertTexts({ name });
    if (typeof prompt.render !== 'function') throw new TypeError('it has no render');
    return {
      name,
      ...shown({ title, description }),
      ...(list === undefined ? {} : { arguments: list }),
      handler: (args, context) => prompt.render(args, context),
    };
  });
}

/**
 * Drops what was listed of the artifacts of a runtime, or of all runtimes; with a tenant or a chat, only what was listed
 * for these.
 *
 * @example
 * refreshArtifactCache(runtime, { chatId: 'chat-1' });
 */
export function refreshArtifactCache(runtime: RuntimeLike, options?: Scope): void;
export function refreshArtifactCache(options?: Scope): void;
export function refreshArtifactCache(first?: RuntimeLike | Scope, second?: Scope): void {
  refresh(artifacts, first, second);
}

/**
 * The same for sandbox files.
 *
 * @example
 * refreshSandboxCache();
 */
export function refreshSandboxCache(runtime: RuntimeLike, options?: Scope): void;
export function refreshSandboxCache(options?: Scope): void;
export function refreshSandboxCache(first?: RuntimeLike | Scope, second?: Scope): void {
  refresh(files, first, second);
}

function refresh(snapshots: Snapshots, first: RuntimeLike | Scope | undefined, second: Scope | undefined): void {
  const isRuntime =
    first !== undefined &&
    (second !== undefined || snapshots.has(first as RuntimeLike) || FACETS.some((facet) => facet in first));
  if (isRuntime) snapshots.drop(first as RuntimeLike, second ?? {});
  else snapshots.drop(undefined, (first as Scope | undefined) ?? {});
}

/** What tells a runtime, of which nothing was listed, from options. */
const FACETS = ['tools', 'toolRegistry', 'plugins', 'prompts', 'artifacts', 'sandbox'];

/** A server gives the whole context of a call; whoever calls a handler without one gives a part of it, or none. */
function completed(runtime: RuntimeLike, told: Partial<HandlerContext> | undefined): HandlerContext {
  if (told?.signal != null && told.toolCallId != null) return told as HandlerContext;
  return {
    ...told,
    runtime: told?.runtime ?? runtime,
    toolCallId: told?.toolCallId ?? randomUUID(),
    signal: told?.signal ?? new AbortController().signal,
  } as HandlerContext;
}

function readOptions<Entry>(
  runtime: RuntimeLike,
  options: AdapterOptions<Entry>,
): { scheme: string; scope: { tenantId?: string; chatId?: string } } {
  assertRuntime(runtime);
  const given: object = options;
  assertBag('the options', given, ['tenantId', 'chatId', 'scheme', 'mimeTypeResolver']);
  const { tenantId, chatId, scheme = 'pleach', mimeTypeResolver } = options;
  assertType('tenantId', tenantId, 'string');
  assertType('chatId', chatId, 'string');
  assertType('mimeTypeResolver', mimeTypeResolver, 'function');
  if (typeof scheme !== 'string' || !/^[a-z][a-z0-9+.-]*$/i.test(scheme)) {
    throw new TypeError('scheme must be the scheme of a URI');
  }
  return { scheme, scope: { ...tenant(tenantId), ...(chatId === undefined ? {} : { chatId }) } };
}

function assertRuntime(runtime: unknown): void {
  if (!isHost(runtime)) throw new TypeError('the runtime must be an object');
}

function tenant(tenantId: string | undefined): { tenantId?: string } {
  return tenantId === undefined ? {} : { tenantId };
}

/** An odd entry costs itself. */
function adapt<Source, Adapted>(
  sources: readonly Source[],
  what: string,
  read: (source: Source, whole: Source) => Adapted,
): Adapted[] {
  const adapted: Adapted[] = [];
  for (const source of sources) {
    try {
      if (!isObject(source)) throw new TypeError('it is no object');
      adapted.push(read(source, source));
    } catch (error) {
      warn(`${what} is left out: ${describe(error)}`);
    }
  }
  return adapted;
}

function asList<Listed>(listed: readonly Listed[] | null | undefined): readonly Listed[] {
  if (listed == null) return [];
  if (!Array.isArray(listed)) throw new TypeError('the host listed no array');
  return Array.from(listed as readonly Listed[]);
}

function assertTexts(texts: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(texts)) {
    if (typeof value !== 'string' || value === '') throw new TypeError(`its ${name} is no text`);
  }
}

/** What a listing shows besides; whatever is of another type is not shown. */
function shown<Shown extends Record<string, unknown>>(
  values: Shown,
): { [Key in keyof Shown]?: NonNullable<Shown[Key]> } {
  const entries = Object.entries(values).filter(([key, value]) =>
    key === 'size' ? typeof value === 'number' && value >= 0 : typeof value === 'string',
  );
  return Object.fromEntries(entries) as { [Key in keyof Shown]?: NonNullable<Shown[Key]> };
}

/** A lone half of a character cannot be part of a URI. */
function segment(raw: string): string {
  return encodeURIComponent(Buffer.from(raw).toString());
}

function isUnsafe(path: string): boolean {
  return path.includes('\0') || path.includes('\\') || path.split('/').includes('..');
}

/** Bytes of a text type are sent as text, unless they are none. */
function contentOf(
  content: HostContent | null | undefined,
  mimeType: string | undefined,
): MCPResourceContent | undefined {
  if (content == null || 'text' in content || mimeType === undefined || !isTextMimeType(mimeType))
    return content ?? undefined;
  const bytes = bytesOf(content.blob);
  if (bytes === undefined) return content;
  try {
    return { text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch {
    return content;
  }
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function warn(message: string): void {
  process.emitWarning(message, 'EspalierWarning');
}
