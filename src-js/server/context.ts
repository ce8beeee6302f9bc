// One run of a handler: what it is told of its request, and what it can do with its client. Most handlers look at little
// of that, so nothing is read or made before it is looked at.

import { randomUUID } from 'node:crypto';
import { describe } from '../describe.js';
import { AbortError, McpError, MissingCapabilityError } from '../errors.js';
import type {
  AuthInfo,
  Caller,
  ElicitRequest,
  HandlerContext,
  LogLevel,
  QuestionOptions,
  RuntimeLike,
} from '../types/server.js';
import type { McpElicitationResult, McpRoot, McpSamplingRequest, McpSamplingResult } from '../types/client.js';
import { type Bag, isObject } from './check.js';

/** Who asks, as the core says it. */
export interface CallerFacts {
  readonly connectionId: string;
  readonly tenantId?: string;
  readonly sessionId?: string;
  readonly protocolVersion?: string;
  readonly clientCapabilities?: Bag;
  readonly auth?: AuthInfo;
}

/** A question that was not answered in an earlier round. */
export interface OpenQuestion {
  readonly key: string;
  readonly method: QuestionMethod;
  /** JSON text. */
  readonly params: string;
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: unknown) => void;
  /** Takes it off the list of what may be answered. */
  forget?: () => void;
}

export type QuestionMethod = 'elicitation/create' | 'sampling/createMessage' | 'roots/list';

/** The way to the client. */
export interface Wire {
  progress(run: Run, done: number, total?: number, message?: string): void;
  /** `data` is JSON text. */
  log(run: Run, level: string, data: string): void;
  ask(run: Run, question: OpenQuestion): void;
  closeStream(run: Run, retryMs?: number): void;
}

export class Run {
  /** The core's number of the job; 0 for a call in process. */
  readonly id: number;
  readonly runtime: RuntimeLike | undefined;
  readonly toolCallId: string = randomUUID();
  readonly wire: Wire;
  readonly #callerText: string;
  /** JSON text; there in the stateless era alone. */
  readonly #answersText: string | undefined;
  #caller: CallerFacts | undefined;
  #answers: Bag | undefined;
  #asked: { keys: Set<string>; ordinals: Map<string, number> } | undefined;
  #controller: AbortController | undefined;
  #abortion: AbortError | undefined;
  #open: Set<OpenQuestion> | undefined;

  constructor(
    about: { id: number; runtime: RuntimeLike | undefined; caller: string; answers?: string | undefined },
    wire: Wire,
  ) {
    this.id = about.id;
    this.runtime = about.runtime;
    this.wire = wire;
    this.#callerText = about.caller;
    this.#answersText = about.answers;
  }

  get caller(): CallerFacts {
    this.#caller ??= JSON.parse(this.#callerText) as CallerFacts;
    return this.#caller;
  }

  /** Whose request it is, for a `visibleTo`. */
  get identity(): Caller {
    const { tenantId, sessionId } = this.caller;
    return { tenantId, sessionId };
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#abortion !== undefined) this.#controller.abort(this.#abortion);
    }
    return this.#controller.signal;
  }

  get isAborted(): boolean {
    return this.#abortion !== undefined;
  }

  /** What is open is never answered, and waits for ever where a later run takes over. */
  abort(reason: string): void {
    if (this.#abortion !== undefined) return;
    this.#abortion = new AbortError(`the request was given up: ${reason}`, reason);
    this.#controller?.abort(this.#abortion);
    const open = [...(this.#open ?? [])];
    this.forgetQuestions();
    if (reason !== 'asked') for (const { reject } of open) reject(this.#abortion);
  }

  /** Whatever is answered now is answered to nobody. */
  forgetQuestions(): void {
    for (const { forget } of this.#open ?? []) forget?.();
    this.#open?.clear();
  }

  /**
   * Asks the client, or gives the answer of an earlier round. The promise may be left alone: a handler that asks and does
   * not wait must not end the process.
   */
  ask<Answer>(question: {
    method: QuestionMethod;
    params: unknown;
    /** What the client lacks for it. */
    lacks: Bag | undefined;
    key: unknown;
    read: (answer: Bag) => Answer | undefined;
  }): Promise<Answer> {
    const { method, params, lacks, read } = question;
    const asked = new Promise<Answer>((resolve, reject) => {
      if (this.#abortion !== undefined) throw this.#abortion;
      const key = this.#keyOf(method, question.key);
      if (lacks !== undefined) throw new MissingCapabilityError(lacks);
      const text = jsonOf(`the params of ${method}`, params);
      if (!text.startsWith('{')) throw new McpError('invalid-arguments', `the params of ${method} must be an object`);
      const settle = (answer: unknown): void => {
        const value = isObject(answer) ? read(answer) : undefined;
        if (value !== undefined) resolve(value);
        else reject(new McpError('invalid-response', `the client's answer to ${method} is not what the protocol says`));
      };
      const answers = this.#earlierAnswers();
      if (answers !== undefined && Object.hasOwn(answers, key)) settle(answers[key]);
      else this.#send({ key, method, params: text, resolve: settle, reject });
    });
    asked.catch(() => {});
    return asked;
  }

  #send(question: OpenQuestion): void {
    this.#open ??= new Set();
    this.#open.add(question);
    this.wire.ask(this, question);
  }

  #keyOf(method: QuestionMethod, given: unknown): string {
    if (given !== undefined && (typeof given !== 'string' || given === '')) {
      throw new McpError('invalid-arguments', 'the key of a question must be a string that is not empty');
    }
    this.#asked ??= { keys: new Set(), ordinals: new Map() };
    const { keys, ordinals } = this.#asked;
    const ordinal = (ordinals.get(method) ?? 0) + 1;
    ordinals.set(method, ordinal);
    const key = given ?? `${method}#${ordinal}`;
    if (keys.has(key)) {
      throw new McpError('invalid-arguments', `two questions of one run have the key ${JSON.stringify(key)}`);
    }
    keys.add(key);
    return key;
  }

  #earlierAnswers(): Bag | undefined {
    if (this.#answersText !== undefined) this.#answers ??= JSON.parse(this.#answersText) as Bag;
    return this.#answers;
  }
}

/** The context of a handler. */
export function contextOf(run: Run): HandlerContext {
  return new Context(run);
}

/**
 * Its members are its own, so that it can be taken apart and spread. Made for every call: values are read at once, since an
 * accessor of its own costs more than most of them, and only the signal is dear enough to wait until it is looked at.
 */
class Context implements HandlerContext {
  readonly #run: Run;
  readonly runtime: RuntimeLike | undefined;
  declare readonly signal: AbortSignal;
  readonly connectionId: string;
  readonly toolCallId: string;
  readonly tenantId: string | undefined;
  readonly sessionId: string | undefined;
  readonly protocolVersion: string | undefined;
  readonly clientCapabilities: Bag;
  readonly auth: AuthInfo | undefined;
  readonly progress: HandlerContext['progress'];
  readonly log: HandlerContext['log'];
  readonly elicit: HandlerContext['elicit'];
  readonly sample: HandlerContext['sample'];
  readonly roots: HandlerContext['roots'];
  readonly closeStream: HandlerContext['closeStream'];

  constructor(run: Run) {
    const { caller } = run;
    const capabilities = caller.clientCapabilities ?? {};
    this.#run = run;
    this.runtime = run.runtime;
    this.toolCallId = run.toolCallId;
    Object.defineProperty(this, 'signal', SIGNAL);
    this.tenantId = caller.tenantId;
    this.sessionId = caller.sessionId;
    this.connectionId = caller.connectionId;
    this.protocolVersion = caller.protocolVersion;
    this.clientCapabilities = capabilities;
    this.auth = caller.auth;
    this.progress = (done, total, message) => tellProgress(run, done, total, message);
    this.log = (level, data) => tellLog(run, level, data);
    this.elicit = (request, options) => elicit(run, capabilities, request, options);
    this.sample = (request, options) => sample(run, capabilities, request, options);
    this.roots = (options) => roots(run, capabilities, options);
    this.closeStream = (retryMs) => run.wire.closeStream(run, retryMs);
  }

  /** The signal of a context, or of an object that was made from one. */
  static signalOf(holder: object | null): AbortSignal | undefined {
    for (let at = holder; at !== null; at = Object.getPrototypeOf(at) as object | null) {
      if (#run in at) return at.#run.signal;
    }
    return undefined;
  }
}

/** One for all contexts: with a function each, no two would have the same shape. */
const SIGNAL: PropertyDescriptor = {
  enumerable: true,
  configurable: true,
  get(this: object) {
    return Context.signalOf(this);
  },
};

function tellProgress(run: Run, done: number, total?: number, message?: string): void {
  for (const [name, value] of [
    ['progress', done],
    ['total', total ?? 0],
  ] as const) {
    if (typeof value !== 'number' || !Number.isFinite(value)) {
      throw new McpError('invalid-arguments', `${name} must be a finite number`);
    }
  }
  run.wire.progress(run, done, total ?? undefined, message === undefined ? undefined : String(message));
}

function tellLog(run: Run, level: LogLevel, data: unknown): void {
  run.wire.log(run, String(level), jsonOf('the data of a log message', data ?? null));
}

function elicit(
  run: Run,
  capabilities: Bag,
  request: ElicitRequest,
  options?: QuestionOptions,
): Promise<McpElicitationResult> {
  const lacks = lacksElicitation(capabilities, request?.mode === 'url' ? 'url' : 'form');
  return run.ask({ method: 'elicitation/create', params: request, lacks, key: options?.key, read: readElicitation });
}

function sample(
  run: Run,
  capabilities: Bag,
  request: McpSamplingRequest,
  options?: QuestionOptions,
): Promise<McpSamplingResult> {
  const lacks = lacksSampling(capabilities, request);
  return run.ask({ method: 'sampling/createMessage', params: request, lacks, key: options?.key, read: readMessage });
}

function roots(run: Run, capabilities: Bag, options?: QuestionOptions): Promise<McpRoot[]> {
  const lacks = isObject(capabilities['roots']) ? undefined : { roots: {} };
  return run.ask({ method: 'roots/list', params: {}, lacks, key: options?.key, read: readRoots });
}

/** A client that says nothing of modes has forms. */
function lacksElicitation(capabilities: Bag, mode: string): Bag | undefined {
  const { elicitation } = capabilities as { elicitation?: unknown };
  if (isObject(elicitation)) {
    if (isObject(elicitation[mode])) return undefined;
    if (mode === 'form' && elicitation['url'] === undefined) return undefined;
  }
  return { elicitation: { [mode]: {} } };
}

function lacksSampling(capabilities: Bag, request: McpSamplingRequest): Bag | undefined {
  const { sampling } = capabilities as { sampling?: unknown };
  const wantsTools = request?.['tools'] !== undefined || request?.['toolChoice'] !== undefined;
  if (isObject(sampling) && (!wantsTools || isObject(sampling['tools']))) return undefined;
  return { sampling: wantsTools ? { tools: {} } : {} };
}

// Answers come from a client, and may be anything.

const ACTIONS = new Set<unknown>(['accept', 'decline', 'cancel'] satisfies McpElicitationResult['action'][]);

function readElicitation(answer: Bag): McpElicitationResult | undefined {
  return ACTIONS.has(answer['action']) ? (answer as unknown as McpElicitationResult) : undefined;
}

function readMessage(answer: Bag): McpSamplingResult | undefined {
  const fits = typeof answer['model'] === 'string' && answer['content'] !== undefined;
  return fits ? (answer as unknown as McpSamplingResult) : undefined;
}

function readRoots(answer: Bag): McpRoot[] | undefined {
  return Array.isArray(answer['roots']) ? (answer['roots'] as McpRoot[]) : undefined;
}

function jsonOf(what: string, value: unknown): string {
  try {
    const text = JSON.stringify(value);
    if (text !== undefined) return text;
  } catch (cause) {
    throw new McpError('invalid-arguments', `${what} cannot be written as JSON: ${describe(cause)}`, { cause });
  }
  throw new McpError('invalid-arguments', `${what} cannot be written as JSON`);
}
