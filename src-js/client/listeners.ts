// Who listens to a toolset: functions by event, called in the order in which they came.

import { McpError } from '../errors.js';
import type { McpToolsetEvents } from '../types/client.js';
import { guarded } from './report.js';

type Listener = (event: never) => void;

const EVENTS = new Set<string>(['change', 'status'] satisfies (keyof McpToolsetEvents)[]);

export class Listeners {
  readonly #functions = new Map<string, Set<{ call: Listener }>>();

  /** What is returned takes the function out again. Throws `invalid-option` for an event that there is not. */
  on(event: keyof McpToolsetEvents, call: Listener): () => void {
    if (!EVENTS.has(event))
      throw new McpError('invalid-option', `there is no event ${String(event)}: change and status are`);
    if (typeof call !== 'function') throw new McpError('invalid-option', `the listener of ${event} must be a function`);
    const functions = this.#functions.get(event) ?? new Set();
    this.#functions.set(event, functions);
    // An entry of its own, so that one function may listen twice.
    const entry = { call };
    functions.add(entry);
    return () => {
      functions.delete(entry);
    };
  }

  tell<Event extends keyof McpToolsetEvents>(event: Event, value: McpToolsetEvents[Event]): void {
    // A listener may add others, which hear the next event.
    const entries = Array.from(this.#functions.get(event) ?? []);
    for (const { call } of entries) {
      guarded(event, () => (call as (value: McpToolsetEvents[Event]) => void)(value));
    }
  }
}
