// Calls that come from the program itself: through the same rules, without a client.

import { onAbort } from '../cancel.js';
import { assertSignal } from '../client/options.js';
import { describe } from '../describe.js';
import { missingCapability } from '../errors.js';
import { native, unwrap } from '../native.js';
import type { MCPToolResult, RuntimeLike } from '../types/server.js';
import { isObject } from './check.js';
import { Run, type Wire } from './context.js';
import { argumentProblem } from './execute.js';
import type { NativeServer } from '../../native/binding.cjs';
import type { Outcome } from './results.js';
import type { Target, Tools } from './tools.js';

export interface InProcessCall {
  readonly tools: Tools;
  readonly native: Pick<NativeServer, 'log'>;
  readonly runtime: RuntimeLike | undefined;
  readonly name: string;
  readonly args: unknown;
  readonly signal: AbortSignal | undefined;
  /** Hears of what a tool's code threw. */
  readonly thrown: (error: unknown) => void;
}

/** Never rejects. */
export async function callInProcess(call: InProcessCall): Promise<MCPToolResult> {
  let forget: (() => void) | undefined;
  try {
    const { runtime, signal } = call;
    const args = argumentsOf(call);
    if (signal != null) assertSignal(signal);
    const run = new Run({ id: 0, runtime, caller: CALLER }, wireOf(call.native));
    const aborted = new Promise<Outcome>((resolve) => {
      if (signal == null) return;
      forget = onAbort(signal, () => {
        run.abort('cancelled');
        resolve({ kind: 'failed', text: 'the call was aborted' });
      });
    });
    return await Promise.race([aborted.then(resultOf), find(call, args, run)]);
  } catch (error) {
    return failure(error, call);
  } finally {
    forget?.();
  }
}

async function find(call: InProcessCall, args: string, run: Run): Promise<MCPToolResult> {
  const { name, runtime } = call;
  try {
    const target = await call.tools.find(name, run);
    if (target === undefined) {
      if (runtime === undefined) return failed('No runtime bound');
      return { ...failed(`Unknown tool: ${JSON.stringify(name)}`), code: native.NATIVE_INVALID_PARAMS };
    }
    const problem = argumentProblem(target.schema, args, target.validate);
    if (problem !== undefined) return failed(problem);
    if (run.isAborted) return failed('the call was aborted');
    const outcome = await target.run(args, run);
    const misfit = misfitOf(target, outcome);
    return misfit === undefined ? resultOf(outcome) : failed(misfit);
  } catch (error) {
    return failure(error, call);
  }
}

/** JSON text of an object. Throws for what is none. */
function argumentsOf({ name, args = {} }: InProcessCall): string {
  if (typeof name !== 'string') throw new TypeError('the name of a tool must be a string');
  const text = isObject(args) ? (JSON.stringify(args) as string | undefined) : undefined;
  if (text === undefined || !text.startsWith('{')) throw new TypeError('the arguments of a tool must be an object');
  return text;
}

/** How an output breaks the tool's output schema, where it has one. */
function misfitOf({ outputSchema }: Target, outcome: Outcome): string | undefined {
  if (outputSchema === undefined || outcome.kind === 'failed') return undefined;
  const problem =
    outcome.kind === 'value' ? argumentProblem(outputSchema, structuredOf(outcome), 'full') : 'there is none';
  return problem === undefined ? undefined : `the result does not fit the tool's output schema: ${problem}`;
}

/** What a client would get as structured content. */
function structuredOf({ output, text }: { output: unknown; text: string }): string {
  if (!isObject(output) || !Array.isArray(output['content'])) return text;
  return JSON.stringify(output['structuredContent']) ?? 'null';
}

function resultOf(outcome: Outcome): MCPToolResult {
  return outcome.kind === 'failed' ? failed(outcome.text) : { success: true, output: outcome.output };
}

function failed(error: string): MCPToolResult & { success: false } {
  return { success: false, error };
}

function failure(error: unknown, call: InProcessCall): MCPToolResult {
  const lacking = missingCapability(error);
  if (lacking !== undefined) {
    return { ...failed(lacking.message), code: native.NATIVE_MISSING_CLIENT_CAPABILITY };
  }
  call.thrown(error);
  return failed(describe(error));
}

/** There is no client: nobody hears of progress or log messages, and nobody can be asked. */
function wireOf(core: Pick<NativeServer, 'log'>): Wire {
  return {
    progress() {},
    log: (run, level, data) => void unwrap(core.log(run.id, level, data)),
    ask() {},
    closeStream() {},
  };
}

const CALLER = JSON.stringify({ connectionId: 'in-process' });
