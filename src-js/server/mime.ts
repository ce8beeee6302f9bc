// MIME types by file extension. The table is the core's.

import { native } from '../native.js';
import type { MimeTypeResolver, MimeTypeSubject } from '../types/server.js';

/** The MIME type of each known file extension: in lower case, without its dot. Frozen, and without a prototype. */
export const EXTENSION_MIME_TYPES: Readonly<Record<string, string>> = readTable(native.nativeMimeTypes());

/** What is said of a file of which nothing is known: `application/octet-stream`. */
export const FALLBACK_MIME_TYPE: string = native.NATIVE_FALLBACK_MIME_TYPE;

/**
 * The MIME type that the extension of a path stands for; nothing where it has none, or one that is not known.
 *
 * @example
 * const type = mimeTypeFromPath('notes/today.md'); // 'text/markdown'
 */
export function mimeTypeFromPath(path: string): string | undefined {
  const name = path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1);
  const dot = name.lastIndexOf('.');
  // A name that begins with its only dot is hidden, and has no extension.
  return dot > 0 ? EXTENSION_MIME_TYPES[name.slice(dot + 1).toLowerCase()] : undefined;
}

/**
 * The MIME type of an entry: what the resolver gives, else its own `mimeType`, else by the extension of its path or name,
 * else {@link FALLBACK_MIME_TYPE}. Throws what the resolver throws.
 *
 * @example
 * const type = resolveMimeType({ path: 'plan.txt', mimeType: 'text/x-plan' }); // 'text/x-plan'
 */
export function resolveMimeType<Entry extends MimeTypeSubject>(
  entry: Entry,
  resolver?: MimeTypeResolver<Entry>,
): string {
  const { path, name } = entry;
  return (
    named(resolver?.(entry)) ??
    named(entry.mimeType) ??
    mimeTypeFromPath(named(path) ?? named(name) ?? '') ??
    FALLBACK_MIME_TYPE
  );
}

/**
 * Whether content of a MIME type is text: `text/*`, and what is built on JSON, XML, YAML, TOML or a programming language.
 *
 * @example
 * const isText = isTextMimeType('application/ld+json; charset=utf-8'); // true
 */
export function isTextMimeType(type: string): boolean {
  const essence = (type.split(';')[0] ?? '').trim().toLowerCase();
  return essence.startsWith('text/') || TEXT_SUFFIX.test(essence) || TEXT_TYPES.has(essence);
}

const TEXT_SUFFIX = /\+(?:json|xml|yaml)$/;

const TEXT_TYPES = new Set(
  [
    'ecmascript',
    'graphql',
    'javascript',
    'json',
    'json5',
    'jsonl',
    'ndjson',
    'sql',
    'toml',
    'typescript',
    'x-httpd-php',
    'x-javascript',
    'x-ndjson',
    'x-perl',
    'x-python',
    'x-ruby',
    'x-sh',
    'x-sql',
    'x-typescript',
    'x-www-form-urlencoded',
    'x-yaml',
    'xml',
    'xml-dtd',
    'yaml',
  ].map((name) => `application/${name}`),
);

function named(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function readTable(text: string): Readonly<Record<string, string>> {
  const table = Object.create(null) as Record<string, string>;
  for (const line of text.split('\n')) {
    const at = line.indexOf(' ');
    table[line.slice(0, at)] = line.slice(at + 1);
  }
  return Object.freeze(table);
}
