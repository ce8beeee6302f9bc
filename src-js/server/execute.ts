// How a tool is run: by its registered handler, else by the executor, else by its own `execute`, else not at all. The
// rules of native execution fail closed: whatever is not plainly in order refuses, and then nothing has run.

import type { Method } from './check.js';
import { native } from '../native.js';
import type {
  ApprovalQuery,
  ArgumentValidation,
  HandlerContext,
  HarnessToolExecutor,
  RuntimeLike,
  ToolLike,
  ToolLikeContext,
} from '../types/server.js';

/** A call on its way to its tool. */
export interface ToolCall {
  readonly name: string;
  /** JSON text of an object. Each part of a call reads its own copy, so that none can change what another one saw. */
  readonly args: string;
  readonly context: HandlerContext;
  readonly isAborted: () => boolean;
}

/** What ran gave; or why nothing ran. */
export type Ran = { readonly result: unknown } | { readonly refusal: string };

export interface ProjectedTool {
  /** As the host has it, with all that the wire does not show. */
  readonly tool: ToolLike;
  readonly runtime: RuntimeLike;
}

export interface Execution {
  readonly executor: HarnessToolExecutor | undefined;
  readonly nativeExecution: boolean;
}

/** Runs a projected tool. Rejects with whatever its code throws. */
export async function runProjected({ tool, runtime }: ProjectedTool, how: Execution, call: ToolCall): Promise<Ran> {
  const { executor, nativeExecution } = how;
  if (executor !== undefined) return { result: await executor(call.name, parse(call.args), call.context) };
  if (!nativeExecution) {
    return { refusal: `no executor configured for ${call.name}: pass one, or set nativeExecution` };
  }
  const execute: unknown = Reflect.get(tool, 'execute');
  if (typeof execute !== 'function')
    return { refusal: `no executor configured for ${call.name}, which has no execute` };
  const refusal = await refusalOf(tool, runtime, call);
  if (refusal !== undefined) return { refusal: `${call.name} was not run: ${refusal}` };
  // An approval may have taken its time.
  if (call.isAborted()) return { refusal: `${call.name} was not run: the call was given up` };
  return { result: await Reflect.apply(execute as Method, tool, [parse(call.args), ownContext(call.context)]) };
}

/** What a tool's own functions are told. */
function ownContext(context: HandlerContext): ToolLikeContext {
  const { toolCallId, tenantId, sessionId } = context;
  return {
    toolCallId,
    // Made only for who looks at it.
    get signal() {
      return context.signal;
    },
    tenantId,
    sessionId,
  };
}

/** Why a tool may not be run without somebody's approval; nothing where nothing asks for one. */
async function refusalOf(tool: ToolLike, runtime: RuntimeLike, call: ToolCall): Promise<string | undefined> {
  try {
    if (isSet(tool.requiresApproval)) return 'it requires approval';
    if (isSet(tool.requiresGPU)) return 'it requires a GPU';
  } catch {
    return 'what it requires cannot be read';
  }
  return (await toolRefusal(tool, call)) ?? flowRefusal(runtime, call);
}

async function toolRefusal(tool: ToolLike, call: ToolCall): Promise<string | undefined> {
  try {
    const { needsApproval } = tool;
    if (typeof needsApproval !== 'function') return isSet(needsApproval) ? 'it needs approval' : undefined;
    const needs: unknown = await Reflect.apply(needsApproval, tool, [parse(call.args), ownContext(call.context)]);
    return needs === false ? undefined : 'it needs approval';
  } catch {
    return 'whether it needs approval cannot be found out';
  }
}

async function flowRefusal(runtime: RuntimeLike, call: ToolCall): Promise<string | undefined> {
  try {
    const { plugins } = runtime;
    if (plugins == null || plugins.collectApprovalFlow == null) return undefined;
    const flow = await Promise.resolve(plugins.collectApprovalFlow());
    if (flow == null) return undefined;
    const { toolCallId, tenantId, sessionId } = call.context;
    const query: ApprovalQuery = {
      toolName: call.name,
      args: parse(call.args),
      toolCallId,
      ...(tenantId === undefined ? {} : { tenantId }),
      ...(sessionId === undefined ? {} : { sessionId }),
    };
    const request = await Promise.resolve(flow.checkApprovalNeeded(query));
    return request == null || request === false ? undefined : 'the approval flow asks for approval';
  } catch {
    return 'the approval flow cannot be asked';
  }
}

/** Anything but `false` or nothing at all. */
function isSet(value: unknown): boolean {
  if (value === undefined || value === false) return false;
  // Nobody waits for a promise that stands where none belongs, and its rejection must not end the process.
  if (value instanceof Promise) value.catch(() => {});
  return true;
}

/** Why arguments do not fit a schema; nothing where they do. Both are JSON texts. */
export function argumentProblem(schema: string, args: string, mode: ArgumentValidation): string | undefined {
  if (mode === 'none') return undefined;
  return native.nativeValidateArguments(schema, args, mode === 'full').failure?.message;
}

export function parse(args: string): Record<string, unknown> {
  return JSON.parse(args) as Record<string, unknown>;
}
