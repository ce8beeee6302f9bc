// Jobs as the core sends them, and answers as it reads them: many in one text. The form of both stands in the core's module
// of this name.

import type { NativeAnswerKind, NativeFailure, NativeJobKind } from '../../native/binding.cjs';

/** Something to be done, or word of it. */
export interface Job {
  readonly kind: NativeJobKind;
  readonly id: number;
  /** The routed runtime, by the number that it was given. */
  readonly runtime: number | undefined;
  readonly name: string | undefined;
  /** JSON text of who asks. */
  readonly caller: string | undefined;
  readonly text: string | undefined;
  /** JSON text of an object: what the client answered in earlier rounds. There in the stateless era alone. */
  readonly answers: string | undefined;
  readonly failure: NativeFailure | undefined;
}

/** How many facts there are of each job. */
const FACTS = 8;

export function jobsOf(batch: string): Job[] {
  const end = batch.indexOf('\n');
  const facts = JSON.parse(batch.slice(0, end)) as never[];
  const jobs: Job[] = [];
  let at = end + 1;
  const take = (length: number): string | undefined => {
    if (length < 0) return undefined;
    at += length;
    return batch.slice(at - length, at);
  };
  for (let i = 0; i < facts.length; i += FACTS) {
    jobs.push({
      kind: facts[i]!,
      id: facts[i + 1]!,
      runtime: facts[i + 2] ?? undefined,
      name: facts[i + 3] ?? undefined,
      // These stand behind the facts, in this order.
      caller: take(facts[i + 4]!),
      text: take(facts[i + 5]!),
      answers: take(facts[i + 6]!),
      failure: facts[i + 7] ?? undefined,
    });
  }
  return jobs;
}

/** What became of a job: `json` is text of what its kind has. */
export interface Answer {
  readonly kind: NativeAnswerKind;
  readonly json: string;
}

export const NOTHING: Answer = { kind: 'nothing', json: 'null' };

/** A string, in which a half of a surrogate pair becomes what no reader stumbles over. */
export function stringAnswer(kind: 'text' | 'failed' | 'invalid', text: string): Answer {
  const json = JSON.stringify(text);
  return { kind, json: json.includes('\\ud') ? JSON.stringify(wellFormed(text)) : json };
}

/** What was thrown: for local eyes, and under which reference it was logged. */
export function thrownAnswer(message: string, reference: string): Answer {
  return { kind: 'thrown', json: JSON.stringify([wellFormed(message), reference]) };
}

function wellFormed(text: string): string {
  // In every runtime that is supported, and not yet in the types.
  return (text as unknown as { toWellFormed(): string }).toWellFormed();
}

/** The line of an answer. */
export function lineOf(id: number, { kind, json }: Answer): string {
  return `[${id},"${kind}",${json}]\n`;
}
