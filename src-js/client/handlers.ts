// What is asked of the caller's functions: a token, a message of a model, input of a user, roots, and that a row is saved.

import { describe } from '../describe.js';
import { McpError } from '../errors.js';
import type { NativeEvent } from '../../native/binding.cjs';
import type { McpHandlerContext, McpOptions } from '../types/client.js';
import { report } from './report.js';
import { saveListing, saveRow } from './rows.js';

/** What goes wrong with these is told as a diagnostic. */
const TOLD = new Set<NativeEvent['kind']>(['credential', 'save', 'save-listing']);

/** Takes answers: JSON text, or for a credential the token; or why there is none. */
interface Desk {
  answer(id: number, answer: string | undefined, problem: string | undefined): void;
}

/** The questions of one toolset. */
export class Handlers {
  readonly #options: McpOptions;
  readonly #desk: Desk;
  readonly #sessionOf: (call: number | undefined) => unknown;
  /** What is being answered, so that it can be taken back. */
  readonly #open = new Map<number, AbortController>();

  constructor(options: McpOptions, desk: Desk, sessionOf: (call: number | undefined) => unknown) {
    this.#options = options;
    this.#desk = desk;
    this.#sessionOf = sessionOf;
  }

  /** Answers the question of an event, in its own time. */
  async answer(event: NativeEvent): Promise<void> {
    const id = event.id ?? 0;
    try {
      this.#desk.answer(id, await this.#ask(event, id), undefined);
    } catch (error) {
      // What a handler throws stays here: it is no business of the server's.
      if (!TOLD.has(event.kind)) report(event.kind, error);
      this.#desk.answer(id, undefined, describe(error));
    } finally {
      this.#open.delete(id);
    }
  }

  /** Nobody waits for this answer any more. */
  withdraw(id: number): void {
    this.#open.get(id)?.abort();
    this.#open.delete(id);
  }

  /** Asks the caller for the token of a server; nothing where nobody gives tokens. */
  async credential(server: string, session: unknown): Promise<string | undefined> {
    const { auth } = this.#options;
    if (auth == null) return undefined;
    const token = (await auth(server, { session }))?.token;
    if (typeof token !== 'string') {
      throw new McpError('unauthorized', `auth gave no token for the server ${server}`);
    }
    return token;
  }

  async #ask(event: NativeEvent, id: number): Promise<string | undefined> {
    const { kind, text } = event;
    const server = event.server ?? '';
    if (kind === 'credential') return this.credential(server, this.#options.session);
    if (kind === 'save') {
      const { storage } = this.#options;
      if (storage != null) await saveRow(storage, text ?? 'null');
      return undefined;
    }
    if (kind === 'save-listing') {
      const { storage } = this.#options;
      if (storage != null) await saveListing(storage, text ?? 'null');
      return undefined;
    }
    const controller = new AbortController();
    this.#open.set(id, controller);
    const session = this.#sessionOf(event.during) ?? this.#options.session;
    const context: McpHandlerContext = {
      server,
      signal: controller.signal,
      ...(session === undefined ? {} : { session }),
    };
    return JSON.stringify(await this.#handle(kind, JSON.parse(text ?? 'null') as never, context));
  }

  #handle(kind: NativeEvent['kind'], request: never, context: McpHandlerContext): unknown {
    const { sampling, elicitation, roots } = this.#options;
    if (kind === 'sampling') return sampling?.(request, context);
    if (kind === 'elicitation') return elicitation?.(request, context);
    return typeof roots === 'function' ? roots(context) : roots;
  }
}
