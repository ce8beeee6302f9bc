import {
  EXTENSION_MIME_TYPES,
  FALLBACK_MIME_TYPE,
  isTextMimeType,
  mimeTypeFromPath,
  resolveMimeType,
} from 'espalier/server';
import { describe, expect, it } from 'vitest';

describe('the table of extensions', () => {
  it('is frozen, has no prototype, and knows what is common', () => {
    expect(Object.isFrozen(EXTENSION_MIME_TYPES)).toBe(true);
    expect(Object.getPrototypeOf(EXTENSION_MIME_TYPES)).toBeNull();
    expect(EXTENSION_MIME_TYPES).toMatchObject({ md: 'text/markdown', png: 'image/png', json: 'application/json' });
    expect(Object.keys(EXTENSION_MIME_TYPES).length).toBeGreaterThan(1000);
  });
});

describe('mimeTypeFromPath', () => {
  it.each([
    ['notes/today.md', 'text/markdown'],
    ['PHOTO.PNG', 'image/png'],
    ['a.b/c.tar.gz', 'application/gzip'],
    [String.raw`C:\notes\plan.txt`, 'text/plain'],
    ['a.txt/none', undefined],
    ['.gitignore', undefined],
    ['no-extension', undefined],
    ['what.is-this', undefined],
    ['x.', undefined],
    ['x.constructor', undefined],
    ['x.__proto__', undefined],
    ['', undefined],
  ])('finds for %j the type %j', (path, type) => {
    expect(mimeTypeFromPath(path)).toBe(type);
  });
});

describe('resolveMimeType', () => {
  const entry = { path: 'a.md', mimeType: 'text/x-own' };

  it('asks the resolver first, then the entry, then the extension, and falls back', () => {
    expect(resolveMimeType(entry, () => 'text/x-given')).toBe('text/x-given');
    expect(resolveMimeType(entry, () => undefined)).toBe('text/x-own');
    expect(resolveMimeType(entry, () => null)).toBe('text/x-own');
    expect(resolveMimeType(entry, () => '')).toBe('text/x-own');
    expect(resolveMimeType({ path: 'a.md' })).toBe('text/markdown');
    expect(resolveMimeType({ name: 'a.md' })).toBe('text/markdown');
    expect(resolveMimeType({ path: 'a' })).toBe(FALLBACK_MIME_TYPE);
    expect(FALLBACK_MIME_TYPE).toBe('application/octet-stream');
  });

  it('hands the whole entry to the resolver', () => {
    expect(resolveMimeType(entry, (given) => `text/x-${String(given === entry)}`)).toBe('text/x-true');
  });
});

describe('isTextMimeType', () => {
  it.each([
    'text/plain',
    'TEXT/HTML; charset=utf-8',
    'application/json',
    'application/ld+json; profile="x"',
    'image/svg+xml',
    'application/xml',
    'application/x-yaml',
    'application/javascript',
    'application/toml',
  ])('takes %j for text', (type) => {
    expect(isTextMimeType(type)).toBe(true);
  });

  it.each(['application/octet-stream', 'image/png', 'application/pdf', 'application/zip', 'textual/plain', ''])(
    'takes %j for bytes',
    (type) => {
      expect(isTextMimeType(type)).toBe(false);
    },
  );
});
