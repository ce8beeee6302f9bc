// What goes to the core is collected and handed over once per turn of the event loop: answers, and the questions that a
// handler opened together.

import type { NativeAnswer, NativeQuestion, NativeServer } from '../../native/binding.cjs';

type Core = Pick<NativeServer, 'answer' | 'ask'>;

export class Outbox {
  readonly #core: Core;
  #answers: NativeAnswer[] = [];
  readonly #questions = new Map<number, NativeQuestion[]>();
  #isScheduled = false;

  constructor(core: Core) {
    this.#core = core;
  }

  answer(answer: NativeAnswer): void {
    // Who is done does not wait for an answer.
    this.#questions.delete(answer.id);
    this.#answers.push(answer);
    this.#schedule();
  }

  ask(job: number, question: NativeQuestion): void {
    const questions = this.#questions.get(job);
    if (questions === undefined) this.#questions.set(job, [question]);
    else questions.push(question);
    this.#schedule();
  }

  /** Nothing of this job is to be asked any more. */
  drop(job: number): void {
    this.#questions.delete(job);
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#flush());
  }

  #flush(): void {
    this.#isScheduled = false;
    for (const [job, questions] of this.#questions) this.#core.ask(job, questions);
    this.#questions.clear();
    if (this.#answers.length === 0) return;
    const answers = this.#answers;
    this.#answers = [];
    this.#core.answer(answers);
  }
}
