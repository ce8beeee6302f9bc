// The tools of a server: those that were registered, and those that are projected from the runtime of a request.

import type { ArgumentValidation, HarnessToolExecutor, RuntimeLike, ServerLogger } from '../types/server.js';
import { type Run, contextOf } from './context.js';
import { type Execution, parse, runProjected } from './execute.js';
import { log } from './log.js';
import { type Projected, type Projection, project } from './projection.js';
import type { Registry, ToolEntry } from './registry.js';
import { type Outcome, outcomeOf } from './results.js';

export interface ToolSettings extends Execution {
  readonly executor: HarnessToolExecutor | undefined;
  readonly validateArguments: ArgumentValidation | undefined;
  readonly maxTools: number;
  readonly logger: ServerLogger;
}

/** What is called under a name: with the schemas that it is held against, as JSON texts. */
export interface Target {
  readonly name: string;
  readonly schema: string;
  readonly outputSchema: string | undefined;
  readonly validate: ArgumentValidation;
  run(args: string, run: Run): Promise<Outcome>;
}

export class Tools {
  readonly #registry: Registry;
  readonly #settings: ToolSettings;
  #projections = new WeakMap<RuntimeLike, Promise<Projection>>();
  /** Whose cut was logged. */
  readonly #cut = new WeakSet<RuntimeLike>();

  constructor(registry: Registry, settings: ToolSettings) {
    this.#registry = registry;
    this.#settings = settings;
  }

  /** All tools as JSON text; which of two that share a name counts is for the core to say, which knows the caller. */
  async list(runtime: RuntimeLike | undefined): Promise<string> {
    const projection = runtime === undefined ? undefined : await this.#projectionOf(runtime);
    const tools: string[] = [];
    for (const entry of this.#registry.tools.values()) {
      const scoped = entry.tenantScoped ? ',"tenantScoped":true' : '';
      tools.push(`{"tool":${entry.wire},"source":"registered","validate":"${this.#validationOf(entry)}"${scoped}}`);
    }
    for (const { wire } of projection?.values() ?? []) {
      tools.push(`{"tool":${wire},"source":"projected","validate":"${this.#projectedValidation}"}`);
    }
    return `[${tools.join(',')}]`;
  }

  /** Runs a tool whose arguments are in order. Rejects with whatever its code throws. */
  async call(name: string, args: string, run: Run): Promise<Outcome> {
    const entry = this.#entryOf(name, run);
    if (entry !== undefined) return await this.#runEntry(entry, args, run);
    const target = await this.#projectedAs(name, run);
    // It was there when the core looked.
    if (target === undefined) return { kind: 'failed', text: `unknown tool: ${name}` };
    return await target.run(args, run);
  }

  /** What answers to a name for the caller. A tool for tenants is not there for whoever has none. */
  async find(name: string, run: Run): Promise<Target | undefined> {
    const entry = this.#entryOf(name, run);
    return entry === undefined ? await this.#projectedAs(name, run) : this.#registered(entry);
  }

  #entryOf(name: string, run: Run): ToolEntry | undefined {
    const entry = this.#registry.tools.get(name);
    return entry?.tenantScoped && run.caller.tenantId === undefined ? undefined : entry;
  }

  async #projectedAs(name: string, { runtime }: Run): Promise<Target | undefined> {
    const projected = runtime === undefined ? undefined : (await this.#projectionOf(runtime)).get(name);
    return projected && this.#projected(projected);
  }

  /** Forgets what was projected: from one runtime, or from all. */
  invalidate(runtime: RuntimeLike | undefined): void {
    if (runtime === undefined) this.#projections = new WeakMap();
    else this.#projections.delete(runtime);
  }

  #registered(entry: ToolEntry): Target {
    const { name, schema, outputSchema } = entry;
    return {
      name,
      schema,
      outputSchema,
      validate: this.#validationOf(entry),
      run: (args, run) => this.#runEntry(entry, args, run),
    };
  }

  async #runEntry({ name, handler }: ToolEntry, args: string, run: Run): Promise<Outcome> {
    const context = contextOf(run);
    // A tool can be registered without a handler only where there is an executor.
    const result: unknown = await (handler === undefined
      ? this.#settings.executor?.(name, parse(args), context)
      : handler(parse(args), context));
    return outcomeOf(result);
  }

  #projected(projected: Projected): Target {
    const { name, schema } = projected;
    return {
      name,
      schema,
      outputSchema: undefined,
      validate: this.#projectedValidation,
      run: async (args, run) => {
        const call = { name, args, context: contextOf(run), isAborted: () => run.isAborted };
        const ran = await runProjected(projected, this.#settings, call);
        return 'refusal' in ran ? { kind: 'failed', text: ran.refusal } : outcomeOf(ran.result);
      },
    };
  }

  #validationOf({ validate }: ToolEntry): ArgumentValidation {
    return validate ?? this.#settings.validateArguments ?? 'none';
  }

  get #projectedValidation(): ArgumentValidation {
    const { validateArguments, executor, nativeExecution } = this.#settings;
    return validateArguments ?? (executor === undefined && nativeExecution ? 'shallow' : 'none');
  }

  #projectionOf(runtime: RuntimeLike): Promise<Projection> {
    const known = this.#projections.get(runtime);
    if (known !== undefined) return known;
    const { maxTools, logger } = this.#settings;
    const projection = project(runtime, maxTools, {
      odd: (message) => log(logger, 'warn', message),
      cut: (message) => {
        if (!this.#cut.has(runtime)) log(logger, 'warn', message);
        this.#cut.add(runtime);
      },
    });
    this.#projections.set(runtime, projection);
    // What failed is tried again by the next who asks.
    projection.catch(() => {
      if (this.#projections.get(runtime) === projection) this.#projections.delete(runtime);
    });
    return projection;
  }
}
