// Reading resources: by URI, or by the templates that the core found to match it.

import type { NativeContent } from '../../native/binding.cjs';
import { type Bag, isHost, isObject } from './check.js';
import { type Run, contextOf } from './context.js';
import { type Shelf, found, isVisible } from './entries.js';
import { type Registry, type ResourceEntry, type TemplateEntry, resourceEntry } from './registry.js';
import type { MCPResource } from '../types/server.js';

/** A template that matches a URI, as the core says it. */
interface Match {
  template: number;
  variables: Record<string, string | string[]>;
}

export function resourceShelf(registry: Registry): Shelf<MCPResource, ResourceEntry> {
  return {
    kept: registry.resources,
    providers: registry.resourceProviders,
    read: resourceEntry,
    key: ({ uri }) => uri,
  };
}

/** What answers for a URI; nothing where nothing does for this caller. */
async function answering(
  registry: Registry,
  uri: string,
  matches: string | undefined,
  run: Run,
  warn: (message: string) => void,
): Promise<{ entry: ResourceEntry | TemplateEntry; args: readonly unknown[] } | undefined> {
  const entry = await found(resourceShelf(registry), uri, run, warn);
  if (entry !== undefined) return { entry, args: [uri] };
  // A hidden resource answers like none, whatever its URI matches besides.
  if (registry.resources.has(uri)) return undefined;
  const templates = [...registry.templates.values()];
  for (const { template, variables } of JSON.parse(matches ?? '[]') as Match[]) {
    const matching = templates.find(({ number }) => number === template);
    if (matching !== undefined && (await isVisible(matching, run))) {
      return { entry: matching, args: [uri, Object.assign(Object.create(null), variables)] };
    }
  }
  return undefined;
}

/** Whether there is such a resource for the caller. */
export async function isThere(
  registry: Registry,
  uri: string,
  matches: string | undefined,
  run: Run,
  warn: (message: string) => void,
): Promise<boolean> {
  return (await answering(registry, uri, matches, run, warn)) !== undefined;
}

/** What a resource holds; nothing where there is no such resource. Rejects with whatever its handler throws. */
export async function readResource(
  registry: Registry,
  uri: string,
  matches: string | undefined,
  run: Run,
  warn: (message: string) => void,
): Promise<NativeContent[] | undefined> {
  const answer = await answering(registry, uri, matches, run, warn);
  if (answer === undefined) return undefined;
  const { entry, args } = answer;
  const content: unknown = await entry.handler(...args, contextOf(run));
  if (content == null) return undefined;
  if (!isObject(content)) throw new TypeError(`the handler of the resource ${uri} gave no content`);
  const { contents } = content;
  if (contents === undefined) return [partOf(content, uri, entry.mimeType)];
  if (!Array.isArray(contents)) throw new TypeError(`the contents of the resource ${uri} are no array`);
  return (contents as readonly unknown[]).map((part) => {
    if (!isObject(part)) throw new TypeError(`a part of the resource ${uri} is no object`);
    return partOf(part, uri, entry.mimeType);
  });
}

function partOf(part: Bag, uri: string, mimeType: string | undefined): NativeContent {
  const { text, blob, _meta } = part;
  const type = typeof part['mimeType'] === 'string' ? part['mimeType'] : mimeType;
  const about = {
    uri: typeof part['uri'] === 'string' ? part['uri'] : uri,
    ...(type === undefined ? {} : { mimeType: type }),
    ...(isObject(_meta) ? { meta: JSON.stringify(_meta) } : {}),
  };
  if (typeof text === 'string') return { ...about, text };
  const bytes = bytesOf(blob);
  if (bytes === undefined) throw new TypeError(`the resource ${uri} has neither a text nor a blob of bytes or base64`);
  return { ...about, blob: bytes };
}

/** Bytes as they are, or out of base64; nothing for what is neither. */
export function bytesOf(blob: unknown): Uint8Array | undefined {
  if (typeof blob === 'string') return BASE64.test(blob) ? Buffer.from(blob, 'base64') : undefined;
  if (!isHost(blob)) return undefined;
  if (blob instanceof ArrayBuffer) return new Uint8Array(blob);
  if (!ArrayBuffer.isView(blob)) return undefined;
  const bytes = new Uint8Array(blob.buffer, blob.byteOffset, blob.byteLength);
  // Memory that is shared with other threads does not cross.
  return blob.buffer instanceof ArrayBuffer ? bytes : Uint8Array.from(bytes);
}

const BASE64 = /^[A-Za-z0-9+/\r\n]*={0,2}[\r\n]*$/;
