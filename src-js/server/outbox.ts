// What goes to the core is collected and handed over once per turn of the event loop: answers, and the questions that a
// handler opened together.

import { type Answer, lineOf } from './frames.js';
import type { NativeContent, NativeQuestion, NativeServer } from '../../native/binding.cjs';

type Core = Pick<NativeServer, 'answer' | 'answerContents' | 'ask'>;

export class Outbox {
  readonly #core: Core;
  #answers = '';
  readonly #questions = new Map<number, NativeQuestion[]>();
  #isScheduled = false;

  constructor(core: Core) {
    this.#core = core;
  }

  /** Throws for an answer that is longer than a string can be. */
  answer(job: number, answer: Answer): void {
    // Who is done does not wait for an answer.
    this.#questions.delete(job);
    const line = lineOf(job, answer);
    if (this.#answers.length + line.length > LONGEST) this.#handOver();
    this.#answers += line;
    this.#schedule();
  }

  contents(job: number, contents: NativeContent[]): void {
    this.#questions.delete(job);
    this.#core.answerContents(job, contents);
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
    this.#handOver();
  }

  #handOver(): void {
    const answers = this.#answers;
    this.#answers = '';
    if (answers !== '') this.#core.answer(answers);
  }
}

/** So many characters of answers are handed over without waiting for the end of the turn. */
const LONGEST = 1024 * 1024;
