// What was registered, in order of registration. Everything is read once, when it is registered; names may be any text, so
// they are keys of maps and never of objects.

import type {
  ArgumentValidation,
  MCPCompletion,
  MCPPrompt,
  MCPPromptProvider,
  MCPResource,
  MCPResourceProvider,
  MCPResourceTemplate,
  MCPToolDefinition,
  ProviderOptions,
  RegisterOptions,
} from '../types/server.js';
import {
  type Bag,
  type Method,
  assertBag,
  assertName,
  assertType,
  encodeData,
  isHost,
  isObject,
  methodOf,
} from './check.js';
import { ofTool } from './projection.js';
import { inputSchemaOf, toJsonSchema } from './schemas.js';

/** An entry as it is listed, and what answers for it. */
export interface Entry {
  /** JSON text. */
  readonly wire: string;
  readonly visibleTo: Method | undefined;
  readonly handler: Method;
}

export interface ToolEntry {
  readonly name: string;
  readonly wire: string;
  /** JSON texts. */
  readonly schema: string;
  readonly outputSchema: string | undefined;
  /** A tool can be without one where there is an executor. */
  readonly handler: Method | undefined;
  readonly validate: ArgumentValidation | undefined;
  readonly tenantScoped: boolean;
}

export interface ResourceEntry extends Entry {
  readonly uri: string;
  readonly mimeType: string | undefined;
}

export interface TemplateEntry extends Entry {
  /** The core's number of the template. */
  readonly number: number;
  readonly uriTemplate: string;
  readonly mimeType: string | undefined;
}

export interface PromptEntry extends Entry {
  readonly name: string;
  /** The names of the arguments that a caller has to give. */
  readonly required: readonly string[];
}

export interface Provider<Provide> {
  readonly provide: Provide;
  readonly perRequest: boolean;
}

export class Registry {
  readonly tools: Map<string, ToolEntry> = new Map();
  readonly resources: Map<string, ResourceEntry> = new Map();
  readonly templates: Map<string, TemplateEntry> = new Map();
  readonly prompts: Map<string, PromptEntry> = new Map();
  readonly resourceProviders: Provider<MCPResourceProvider>[] = [];
  readonly promptProviders: Provider<MCPPromptProvider>[] = [];
  readonly completions: MCPCompletion[] = [];
}

export const VALIDATIONS: readonly ArgumentValidation[] = ['none', 'shallow', 'full'];

/** Throws a `TypeError` that names the tool. */
export function toolEntry(
  tool: MCPToolDefinition,
  options: RegisterOptions | undefined,
  hasExecutor: boolean,
): ToolEntry {
  if (!isHost(tool)) throw new TypeError('a tool must be an object');
  const { name, validateArguments } = tool;
  assertName('the name of a tool', name);
  const of = `of the tool ${JSON.stringify(name)}`;
  const handler = methodOf(`the handler ${of}`, tool, 'handler');
  if (handler === undefined && !hasExecutor) {
    throw new TypeError(`the tool ${JSON.stringify(name)} needs a handler, as the server has no executor`);
  }
  if (validateArguments !== undefined && !VALIDATIONS.includes(validateArguments)) {
    throw new TypeError(`validateArguments ${of} must be one of ${VALIDATIONS.join(', ')}`);
  }
  assertOptions(`the options ${of}`, options, ['tenantScoped']);
  assertType(`tenantScoped ${of}`, options?.tenantScoped, 'boolean');
  const schema = ofTool(name, () => encodeData('the input schema', inputSchemaOf(tool.inputSchema)));
  const given = tool.outputSchema;
  const outputSchema =
    given === undefined
      ? undefined
      : ofTool(name, () => encodeData('the output schema', toJsonSchema(given, 'output')));
  const shown = shownOf(tool, of, ['title', 'description'], ['annotations', '_meta']);
  const members = [`"name":${JSON.stringify(name)}`, ...shown, `"inputSchema":${schema}`];
  if (outputSchema !== undefined) members.push(`"outputSchema":${outputSchema}`);
  return {
    name,
    wire: `{${members.join(',')}}`,
    schema,
    outputSchema,
    handler,
    validate: validateArguments,
    tenantScoped: options?.tenantScoped === true,
  };
}

export function resourceEntry(resource: MCPResource): ResourceEntry {
  if (!isHost(resource)) throw new TypeError('a resource must be an object');
  const { uri, mimeType, size } = resource;
  assertName('the uri of a resource', uri);
  const of = `of the resource ${JSON.stringify(uri)}`;
  const shown = placeOf(resource, of);
  if (size !== undefined) {
    if (typeof size !== 'number' || !(size >= 0)) throw new TypeError(`the size ${of} must be a number of bytes`);
    shown.push(`"size":${encodeData('size', size)}`);
  }
  const wire = `{"uri":${JSON.stringify(uri)},${shown.join(',')}}`;
  return { uri, wire, mimeType, ...functionsOf(resource, of) };
}

/** `number` is what the core knows the template by. */
export function templateEntry(template: MCPResourceTemplate, number: (uriTemplate: string) => number): TemplateEntry {
  if (!isHost(template)) throw new TypeError('a resource template must be an object');
  const { uriTemplate, mimeType } = template;
  assertName('the uriTemplate of a resource template', uriTemplate);
  const of = `of the resource template ${JSON.stringify(uriTemplate)}`;
  const shown = placeOf(template, of);
  const functions = functionsOf(template, of);
  const wire = `{"uriTemplate":${JSON.stringify(uriTemplate)},${shown.join(',')}}`;
  return { number: number(uriTemplate), uriTemplate, wire, mimeType, ...functions };
}

export function promptEntry(prompt: MCPPrompt): PromptEntry {
  if (!isHost(prompt)) throw new TypeError('a prompt must be an object');
  const { name } = prompt;
  assertName('the name of a prompt', name);
  const of = `of the prompt ${JSON.stringify(name)}`;
  const functions = functionsOf(prompt, of);
  const shown = shownOf(prompt, of, ['title', 'description'], ['_meta']);
  const list = prompt.arguments;
  const required: string[] = [];
  if (list !== undefined) {
    if (!Array.isArray(list)) throw new TypeError(`the arguments ${of} must be an array`);
    for (const argument of list as readonly unknown[]) {
      if (!isObject(argument)) throw new TypeError(`an argument ${of} must be an object`);
      const { name: argumentName, required: isRequired } = argument;
      assertName(`the name of an argument ${of}`, argumentName);
      if (isRequired === true) required.push(argumentName);
    }
    shown.push(`"arguments":${encodeData(`the arguments ${of}`, list)}`);
  }
  const wire = `{${[`"name":${JSON.stringify(name)}`, ...shown].join(',')}}`;
  return { name, wire, required, ...functions };
}

export function provider<Provide>(
  what: string,
  provide: Provide,
  options: ProviderOptions | undefined,
): Provider<Provide> {
  if (typeof provide !== 'function') throw new TypeError(`${what} must be a function`);
  assertOptions(`the options of ${what}`, options, ['perRequest']);
  assertType('perRequest', options?.perRequest, 'boolean');
  return { provide, perRequest: options?.perRequest === true };
}

function assertOptions(what: string, options: object | undefined, known: readonly string[]): void {
  if (options !== undefined) assertBag(what, options, known);
}

/** What resources and their templates have in common. */
function placeOf(place: MCPResource | MCPResourceTemplate, of: string): string[] {
  assertName(`the name ${of}`, place.name);
  return shownOf(place, of, ['name', 'title', 'description', 'mimeType'], ['annotations', '_meta']);
}

function functionsOf(source: object, of: string): { handler: Method; visibleTo: Method | undefined } {
  const handler = methodOf(`the handler ${of}`, source, 'handler');
  if (handler === undefined) throw new TypeError(`the handler ${of} must be a function`);
  return { handler, visibleTo: methodOf(`visibleTo ${of}`, source, 'visibleTo') };
}

/** Members for the wire, as JSON text; icons are among them. */
function shownOf(source: object, of: string, texts: readonly string[], objects: readonly string[]): string[] {
  const members: string[] = [];
  const add = (key: string, value: unknown): void => {
    members.push(`${JSON.stringify(key)}:${encodeData(`the ${key} ${of}`, value)}`);
  };
  const values = source as Bag;
  for (const key of texts) {
    const value = values[key];
    assertType(`the ${key} ${of}`, value, 'string');
    if (value !== undefined) add(key, value);
  }
  for (const key of objects) {
    const value = values[key];
    if (value === undefined) continue;
    if (!isObject(value)) throw new TypeError(`the ${key} ${of} must be an object`);
    add(key, value);
  }
  const { icons } = values;
  if (icons !== undefined) {
    if (!Array.isArray(icons)) throw new TypeError(`the icons ${of} must be an array`);
    add('icons', icons);
  }
  return members;
}
