// What the core asks of the program: jobs, each answered once. A job that throws is logged under a reference, by which its
// client and its operator can speak of it.

import { describe } from '../describe.js';
import { missingCapability } from '../errors.js';
import { native, toError, unwrap } from '../native.js';
import type { MCPServerConfig, ServerLogger } from '../types/server.js';
import { isHost } from './check.js';
import { type OpenQuestion, Run, type Wire } from './context.js';
import { listed, listedOf } from './entries.js';
import { inspectThrown, log } from './log.js';
import { type Answer, type Job, NOTHING, stringAnswer, thrownAnswer } from './frames.js';
import type { NativeContent, NativeServer } from '../../native/binding.cjs';
import { Outbox } from './outbox.js';
import { complete, promptShelf, renderPrompt } from './prompts.js';
import type { Registry } from './registry.js';
import { isThere, readResource, resourceShelf } from './resources.js';
import type { Outcome } from './results.js';
import type { Runtimes } from './runtimes.js';
import type { Tools } from './tools.js';

/** What jobs are done with. */
export interface Workshop {
  readonly native: NativeServer;
  readonly registry: Registry;
  readonly runtimes: Runtimes;
  readonly tools: Tools;
  readonly logger: ServerLogger;
  readonly resolveRuntime: MCPServerConfig['resolveRuntime'];
  /** Says who is behind a request to a port, both JSON text. */
  readonly identify: (request: string) => Promise<string | undefined>;
}

export class Jobs {
  readonly #shop: Workshop;
  readonly #outbox: Outbox;
  readonly #runs = new Map<number, Run>();
  readonly #questions = new Map<number, OpenQuestion>();
  /** Runtimes that a hook gave, by the job that they answered, until its request is over. */
  readonly #routed = new Map<number, number>();
  readonly #wire: Wire;
  #lastQuestion = 0;

  constructor(shop: Workshop) {
    this.#shop = shop;
    this.#outbox = new Outbox(shop.native);
    const core = shop.native;
    this.#wire = {
      progress: (run, done, total, message) => core.progress(run.id, done, total, message),
      log: (run, level, data) => void unwrap(core.log(run.id, level, data)),
      closeStream: (run, retryMs) => core.closeStream(run.id, retryMs),
      ask: (run, question) => this.#ask(run, question),
    };
  }

  /** Takes a job that wants an answer, or word of one. */
  take(job: Job): void {
    const { kind, id, text } = job;
    if (kind === 'abort') this.#abort(id, text ?? 'closed');
    else if (kind === 'answered') this.#answered(id, job);
    else if (kind === 'released') this.#release(id);
    else if (kind === 'warn') log(this.#shop.logger, 'warn', text ?? '');
    else void this.#perform(id, job, WORK.get(kind));
  }

  /** What is to be said of something that was thrown, which is logged here. */
  thrown(what: string, error: unknown): Answer {
    const lacking = missingCapability(error);
    if (lacking !== undefined) {
      return { kind: 'missing-capability', json: JSON.stringify(lacking.requiredCapabilities) };
    }
    const reference = unwrap(native.nativeReference()) ?? '';
    log(this.#shop.logger, 'error', `${what} failed (ref ${reference}): ${inspectThrown(error)}`);
    return thrownAnswer(describe(error), reference);
  }

  async #perform(id: number, job: Job, work: Work | undefined): Promise<void> {
    if (work === undefined) return;
    const { runtime, caller, answers } = job;
    const run = new Run(
      {
        id,
        runtime: runtime === undefined ? undefined : this.#shop.runtimes.get(runtime),
        caller: caller ?? '{}',
        answers,
      },
      this.#wire,
    );
    // One that says who is there, and never settles, must not be kept: callers come again and again.
    const isKept = job.kind !== 'identify';
    if (isKept) this.#runs.set(id, run);
    let done: Done;
    try {
      done = await work(this.#shop, job, run);
    } catch (error) {
      done = this.thrown(nameOf(job), error);
    }
    // A later run took over, and nobody asks for this one.
    if (isKept && !this.#runs.delete(id)) return;
    run.forgetQuestions();
    if (done.kind === 'runtime') this.#routed.set(id, Number(done.json));
    // Nobody will be routed to it.
    if (run.isAborted) this.#release(id);
    this.#answer(job, done);
  }

  #answer(job: Job, done: Done): void {
    try {
      if (done.kind === 'contents') this.#outbox.contents(job.id, done.contents);
      else this.#outbox.answer(job.id, done);
    } catch (error) {
      this.#outbox.answer(job.id, this.thrown(nameOf(job), error));
    }
  }

  #abort(id: number, reason: string): void {
    const run = this.#runs.get(id);
    if (reason === 'asked') this.#runs.delete(id);
    this.#outbox.drop(id);
    this.#release(id);
    run?.abort(reason);
  }

  #ask(run: Run, question: OpenQuestion): void {
    const id = ++this.#lastQuestion;
    const { key, method, params } = question;
    this.#questions.set(id, question);
    question.forget = () => this.#questions.delete(id);
    this.#outbox.ask(run.id, { id, key, method, params });
  }

  #answered(id: number, job: Job): void {
    const question = this.#questions.get(id);
    if (question === undefined) return;
    question.forget?.();
    if (job.failure !== undefined) question.reject(toError(job.failure));
    else question.resolve(JSON.parse(job.text ?? 'null'));
  }

  #release(id: number): void {
    const runtime = this.#routed.get(id);
    this.#routed.delete(id);
    if (runtime !== undefined) this.#shop.runtimes.letGo(runtime);
  }
}

type Done = Answer | { readonly kind: 'contents'; readonly contents: NativeContent[] };

type Work = (shop: Workshop, job: Job, run: Run) => Promise<Done>;

const WORK = new Map<string, Work>([
  [
    'identify',
    async ({ identify }, job) => {
      const identified = await identify(job.text ?? '{}');
      return identified === undefined ? NOTHING : value(identified);
    },
  ],
  ['resolve', resolve],
  ['list-tools', async ({ tools }, _job, run) => value(await tools.list(run.runtime), true)],
  [
    'list-resources',
    async ({ registry, logger }, _job, run) => {
      const { text, cacheable } = await listed(resourceShelf(registry), run, warning(logger));
      return value(text, cacheable);
    },
  ],
  [
    'list-templates',
    async ({ registry }, _job, run) => {
      const { text, cacheable } = await listedOf([...registry.templates.values()], run);
      return value(text, cacheable);
    },
  ],
  [
    'list-prompts',
    async ({ registry, logger }, _job, run) => {
      const { text, cacheable } = await listed(promptShelf(registry), run, warning(logger));
      return value(text, cacheable);
    },
  ],
  ['call', async ({ tools }, job, run) => crossing(await tools.call(job.name ?? '', job.text ?? '{}', run))],
  [
    'read',
    async ({ registry, logger }, job, run) => {
      const contents = await readResource(registry, job.name ?? '', job.text, run, warning(logger));
      return contents === undefined ? NOTHING : { kind: 'contents', contents };
    },
  ],
  [
    'visible',
    async ({ registry, logger }, job, run) =>
      value(String(await isThere(registry, job.name ?? '', job.text, run, warning(logger)))),
  ],
  [
    'prompt',
    async ({ registry, logger }, job, run) => {
      const rendered = await renderPrompt(registry, job.name ?? '', job.text, run, warning(logger));
      if (rendered === undefined) return NOTHING;
      return 'invalid' in rendered ? stringAnswer('invalid', rendered.invalid) : value(rendered.text);
    },
  ],
  [
    'complete',
    async ({ registry, logger }, job, run) => {
      const values = await complete(registry, job.text, run, warning(logger));
      return values === undefined ? NOTHING : value(JSON.stringify(values));
    },
  ],
]);

async function resolve({ runtimes, resolveRuntime }: Workshop, _job: Job, run: Run): Promise<Answer> {
  const { connectionId, tenantId, sessionId } = run.caller;
  const runtime: unknown = await resolveRuntime?.({ connectionId, tenantId, sessionId });
  if (runtime == null) return NOTHING;
  if (!isHost(runtime)) throw new TypeError('resolveRuntime gave neither a runtime nor nothing');
  return { kind: 'runtime', json: String(runtimes.hold(runtime)) };
}

function crossing(outcome: Outcome): Answer {
  if (outcome.kind === 'nothing') return NOTHING;
  return outcome.kind === 'value' ? value(outcome.text) : stringAnswer(outcome.kind, outcome.text);
}

function value(json: string, isShared = false): Answer {
  return { kind: isShared ? 'shared' : 'value', json };
}

function warning(logger: ServerLogger): (message: string) => void {
  return (message) => log(logger, 'warn', message);
}

/** In a log. */
function nameOf({ kind, name }: Job): string {
  return name === undefined ? kind : `${kind} ${JSON.stringify(name)}`;
}
