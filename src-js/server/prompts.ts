// Prompts, and what completes their arguments and the variables of templates.

import type { MCPPrompt } from '../types/server.js';
import { type Bag, isObject } from './check.js';
import { type Run, contextOf } from './context.js';
import { type Shelf, found, isVisible } from './entries.js';
import { type PromptEntry, type Registry, promptEntry } from './registry.js';
import { isThere } from './resources.js';

export function promptShelf(registry: Registry): Shelf<MCPPrompt, PromptEntry> {
  return {
    kept: registry.prompts,
    providers: registry.promptProviders,
    read: promptEntry,
    key: ({ name }) => name,
  };
}

/** What became of a `prompts/get`: JSON text of the result, or what is wrong with the arguments. */
export type Rendered = { readonly text: string } | { readonly invalid: string };

/** Renders a prompt; nothing where there is none for this caller. Rejects with whatever its handler throws. */
export async function renderPrompt(
  registry: Registry,
  name: string,
  args: string | undefined,
  run: Run,
  warn: (message: string) => void,
): Promise<Rendered | undefined> {
  const entry = await found(promptShelf(registry), name, run, warn);
  if (entry === undefined) return undefined;
  const given = JSON.parse(args ?? '{}') as Record<string, string>;
  const missing = entry.required.filter((argument) => !Object.hasOwn(given, argument));
  if (missing.length > 0) return { invalid: `the prompt ${JSON.stringify(name)} needs ${missing.join(', ')}` };
  const rendered: unknown = await entry.handler(given, contextOf(run));
  if (typeof rendered === 'string') return { text: JSON.stringify({ messages: [userText(rendered)] }) };
  if (!isObject(rendered) || !Array.isArray(rendered['messages'])) {
    throw new TypeError(`the prompt ${JSON.stringify(name)} gave neither messages nor a text`);
  }
  const { description } = rendered;
  return {
    text: JSON.stringify({
      ...(typeof description === 'string' ? { description } : {}),
      messages: (rendered['messages'] as readonly unknown[]).map((message) => messageOf(message, name)),
    }),
  };
}

/** The values that complete an argument; nothing where the caller asks about what is not there for it. */
export async function complete(
  registry: Registry,
  text: string | undefined,
  run: Run,
  warn: (message: string) => void,
): Promise<readonly string[] | undefined> {
  const { ref, argument, context } = JSON.parse(text ?? '{}') as { ref?: Bag; argument?: unknown; context?: unknown };
  if (!isObject(ref) || !(await isKnown(registry, ref, run, warn))) return undefined;
  for (const completion of registry.completions) {
    const values: unknown = await (completion as (...args: unknown[]) => unknown)(
      ref,
      argument,
      isObject(context) ? context : {},
      contextOf(run),
    );
    if (values == null) continue;
    if (!Array.isArray(values)) throw new TypeError('a completion gave no array');
    return values.map(String);
  }
  return [];
}

async function isKnown(registry: Registry, ref: Bag, run: Run, warn: (message: string) => void): Promise<boolean> {
  const { type, name, uri } = ref;
  if (type === 'ref/prompt' && typeof name === 'string') {
    return (await found(promptShelf(registry), name, run, warn)) !== undefined;
  }
  if (type !== 'ref/resource' || typeof uri !== 'string') return false;
  const template = registry.templates.get(uri);
  if (template !== undefined) return isVisible(template, run);
  return isThere(registry, uri, undefined, run, warn);
}

function messageOf(message: unknown, name: string): Bag {
  const role = isObject(message) ? message['role'] : undefined;
  const content = isObject(message) ? message['content'] : undefined;
  if ((role !== 'user' && role !== 'assistant') || !(typeof content === 'string' || isObject(content))) {
    throw new TypeError(`a message of the prompt ${JSON.stringify(name)} has no role or no content`);
  }
  return { role, content: typeof content === 'string' ? textBlock(content) : content };
}

function userText(text: string): Bag {
  return { role: 'user', content: textBlock(text) };
}

function textBlock(text: string): Bag {
  return { type: 'text', text };
}
