// What a tenant is shown: the lists, with all their pages.

import { MOST_PAGES, OWN_ITEMS } from './bounds.js';
import { isObject, type Json, type Lane, type RequestOptions } from './lane.js';
import type { TestedCall, TestedPrompt, TestedTenant } from '../types/testing.js';

export interface Inventory {
  readonly tools: readonly Json[];
  readonly resources: readonly Json[];
  readonly templates: readonly Json[];
  readonly prompts: readonly Json[];
}

export const NOTHING: Inventory = { tools: [], resources: [], templates: [], prompts: [] };

const LISTS = [
  ['tools', 'tools/list', 'tools'],
  ['resources', 'resources/list', 'resources'],
  ['templates', 'resources/templates/list', 'resourceTemplates'],
  ['prompts', 'prompts/list', 'prompts'],
] as const;

/** `idOf` names the requests; by default they have ids that nobody else has. */
export async function listAll(lane: Lane, idOf?: (list: string) => string): Promise<Inventory> {
  const lists = await Promise.all(
    LISTS.map(async ([name, method, member]) => [name, await list(lane, method, member, idOf?.(name))] as const),
  );
  return { ...NOTHING, ...Object.fromEntries(lists) };
}

async function list(lane: Lane, method: string, member: string, id: string | undefined): Promise<Json[]> {
  const items: Json[] = [];
  let cursor: unknown;
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const options: RequestOptions = id === undefined ? {} : { id: `${id}-${page}` };
    const { answer } = await lane.request(method, cursor === undefined ? {} : { cursor }, options);
    const listed = answer?.result?.[member];
    if (Array.isArray(listed)) items.push(...(listed as readonly unknown[]).filter(isObject));
    cursor = answer?.result?.['nextCursor'];
    if (typeof cursor !== 'string') break;
  }
  return items;
}

export function textsOf(items: readonly Json[], member: string): string[] {
  return items.map((item) => item[member]).filter((text) => typeof text === 'string');
}

/** The tools that a tenant calls. */
export function callsOf(tenant: TestedTenant, { tools }: Inventory): readonly TestedCall[] {
  if (tenant.calls !== undefined) return tenant.calls;
  const harmless = tools.filter(({ inputSchema, annotations }) => {
    const required = isObject(inputSchema) ? inputSchema['required'] : undefined;
    const destroys = isObject(annotations) && annotations['destructiveHint'] === true;
    return !destroys && !(Array.isArray(required) && required.length > 0);
  });
  return textsOf(harmless, 'name')
    .filter((name) => name !== tenant.slowCall?.name)
    .slice(0, OWN_ITEMS)
    .map((name) => ({ name }));
}

/** The resources that a tenant reads. */
export function readsOf(tenant: TestedTenant, { resources }: Inventory): readonly string[] {
  return tenant.reads ?? textsOf(resources, 'uri').slice(0, OWN_ITEMS);
}

/** The prompts that a tenant gets. */
export function promptsOf(tenant: TestedTenant, { prompts }: Inventory): readonly TestedPrompt[] {
  if (tenant.prompts !== undefined) return tenant.prompts;
  const free = prompts.filter(({ arguments: args }) => !(Array.isArray(args) && args.some(isRequired)));
  return textsOf(free, 'name')
    .slice(0, OWN_ITEMS)
    .map((name) => ({ name }));
}

function isRequired(argument: unknown): boolean {
  return isObject(argument) && argument['required'] === true;
}
