// Native execution fails closed: every way in which something may ask for an approval, with every other.

import { MCPServer, type RuntimeLike, type ToolLike } from 'espalier/server';
import { describe, expect, it } from 'vitest';

import { quiet, served } from '../helpers/wire.js';

type Case<T> = readonly [name: string, isFree: boolean, value: T];

const NOTHING = Symbol('nothing');

const APPROVALS: Case<unknown>[] = [
  ['absent', true, NOTHING],
  ['undefined', true, undefined],
  ['false', true, false],
  ['true', false, true],
  ['null', false, null],
  ['0', false, 0],
  ['an empty text', false, ''],
  ['an object', false, {}],
  ['a promise of false', false, Promise.resolve(false)],
];

const NEEDS: Case<unknown>[] = [
  ...APPROVALS.filter(([name]) => ['absent', 'false', 'true', 'null'].includes(name)),
  ['a function giving false', true, () => false],
  ['a function resolving to false', true, async () => false],
  ['a function giving true', false, () => true],
  ['a function giving nothing', false, () => undefined],
  ['a function giving 0', false, () => 0],
  ['a function resolving to true', false, async () => true],
  [
    'a function that throws',
    false,
    () => {
      throw new Error('x');
    },
  ],
  ['a function that rejects', false, () => Promise.reject(new Error('x'))],
  [
    'a thenable that throws',
    false,
    () => ({
      // oxlint-disable-next-line unicorn/no-thenable -- what it is about
      then() {
        throw new Error('x');
      },
    }),
  ],
];

const FLOWS: Case<unknown>[] = [
  ['no plugins', true, NOTHING],
  ['plugins that are null', true, null],
  ['plugins without a flow', true, {}],
  ['a flow that is nothing', true, { collectApprovalFlow: () => undefined }],
  ['a flow that is null', true, { collectApprovalFlow: () => null }],
  ...(
    [
      ['giving nothing', true, () => undefined],
      ['giving null', true, () => null],
      ['giving false', true, () => false],
      ['resolving to false', true, async () => false],
      ['giving a request', false, () => ({ id: 1 })],
      ['giving true', false, () => true],
      ['giving 0', false, () => 0],
      ['giving an empty text', false, () => ''],
      ['resolving to a request', false, async () => ({ id: 1 })],
      ['rejecting', false, () => Promise.reject(new Error('x'))],
      [
        'throwing',
        false,
        () => {
          throw new Error('x');
        },
      ],
      ['that is no function', false, 1],
    ] as Case<unknown>[]
  ).map(([name, isFree, checkApprovalNeeded]): Case<unknown> => [
    `a flow ${name}`,
    isFree,
    { collectApprovalFlow: () => ({ checkApprovalNeeded }) },
  ]),
  [
    'a collector that throws',
    false,
    {
      collectApprovalFlow() {
        throw new Error('x');
      },
    },
  ],
  ['a collector that is no function', false, { collectApprovalFlow: 1 }],
];

const ARGUMENTS: Case<Record<string, unknown>>[] = [
  ['arguments that fit', true, { text: 'a' }],
  ['arguments that do not', false, { text: 1 }],
];

const EXECUTES: Case<boolean>[] = [
  ['an execute', true, true],
  ['no execute', false, false],
];

const parameters = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] };

describe('native execution', () => {
  it.each(FLOWS)(
    'with %s runs a tool when nothing asks for an approval, and never otherwise',
    async (_, flowIsFree, plugins) => {
      const cases: { tool: ToolLike; isFree: boolean; what: string }[] = [];
      let ran = 0;
      for (const [approval, approvalIsFree, requiresApproval] of APPROVALS)
        for (const [need, needIsFree, needsApproval] of NEEDS)
          for (const [gpu, gpuIsFree, requiresGPU] of APPROVALS.slice(0, 5))
            for (const [runs, runIsFree, hasExecute] of EXECUTES) {
              const members = { requiresApproval, needsApproval, requiresGPU };
              const execute = hasExecute ? () => (ran += 1) : NOTHING;
              cases.push({
                tool: without(NOTHING, { name: `tool-${cases.length}`, parameters, ...members, execute }) as never,
                isFree: flowIsFree && approvalIsFree && needIsFree && gpuIsFree && runIsFree,
                what: `requiresApproval ${approval}, needsApproval ${need}, requiresGPU ${gpu}, ${runs}`,
              });
            }
      const runtime = without(NOTHING, {
        tools: { list: () => cases.map(({ tool }) => tool) },
        plugins,
      }) as RuntimeLike;
      const server = new MCPServer({ runtime, nativeExecution: true, maxTools: cases.length, logger: quiet() });
      for (const { tool, isFree, what } of cases) {
        for (const [args, argumentIsFree, given] of ARGUMENTS) {
          ran = 0;
          const { success } = await server.callTool(tool.name, given);
          const expected = isFree && argumentIsFree;
          expect({ what, args, ran, success }).toEqual({ what, args, ran: expected ? 1 : 0, success: expected });
        }
      }
      expect(cases.length).toBeGreaterThan(1000);
    },
  );

  it('is off unless it is asked for', async () => {
    let ran = 0;
    const runtime: RuntimeLike = { tools: { list: () => [{ name: 'tool', execute: () => (ran += 1) }] } };
    const server = new MCPServer({ runtime });
    expect(await server.callTool('tool')).toEqual({
      success: false,
      error: expect.stringContaining('no executor configured') as string,
    });
    expect(ran).toBe(0);
  });

  it('says that there is no executor for a tool without an execute', async () => {
    const runtime: RuntimeLike = { tools: { list: () => [{ name: 'tool' }] } };
    const server = new MCPServer({ runtime, nativeExecution: true });
    expect(await server.callTool('tool')).toEqual({
      success: false,
      error: expect.stringContaining('no executor configured') as string,
    });
  });

  it('refuses over the wire as well, as a result', async () => {
    let ran = 0;
    const list = (): ToolLike[] => [
      { name: 'asks', parameters, execute: () => (ran += 1), needsApproval: () => Promise.reject(new Error('x')) },
      { name: 'free', parameters, execute: ({ text }) => ({ text }) },
    ];
    const { client } = await served({ runtime: { tools: { list } }, nativeExecution: true });
    expect(await client.call('asks', { text: 'a' })).toMatchObject({ isError: true });
    expect(ran).toBe(0);
    const unfit = await client.call('free', { text: 1 });
    expect(unfit).toMatchObject({ isError: true });
    expect(JSON.stringify(unfit)).toContain('/text: expected string, got number');
    expect(await client.call('free', { text: 'a' })).toMatchObject({ structuredContent: { text: 'a' } });
  });

  it('lets no check change what another one saw', async () => {
    const seen: unknown[] = [];
    const execute = (args: Record<string, unknown>): string => {
      seen.push(args);
      return 'ran';
    };
    const meddle = (args: unknown): false => {
      (args as Record<string, unknown>)['text'] = 'changed';
      return false;
    };
    const runtime: RuntimeLike = {
      tools: { list: () => [{ name: 'tool', parameters, execute, needsApproval: meddle }] },
      plugins: { collectApprovalFlow: () => ({ checkApprovalNeeded: ({ args }) => meddle(args) }) },
    };
    const server = new MCPServer({ runtime, nativeExecution: true });
    expect(await server.callTool('tool', { text: 'a' })).toEqual({ success: true, output: 'ran' });
    expect(seen).toEqual([{ text: 'a' }]);
  });

  it('tells the approval flow what is called, and by whom', async () => {
    const queries: unknown[] = [];
    const runtime: RuntimeLike = {
      tools: { list: () => [{ name: 'tool', execute: () => 'ran' }] },
      plugins: { collectApprovalFlow: () => ({ checkApprovalNeeded: (query) => void queries.push(query) }) },
    };
    await new MCPServer({ runtime, nativeExecution: true }).callTool('tool', { a: 1 });
    expect(queries).toEqual([{ toolName: 'tool', args: { a: 1 }, toolCallId: expect.any(String) as string }]);
  });

  it('does not run what was given up while it waited for an approval', async () => {
    let ran = 0;
    const controller = new AbortController();
    const needsApproval = async (): Promise<boolean> => {
      controller.abort();
      return false;
    };
    const runtime: RuntimeLike = {
      tools: { list: () => [{ name: 'tool', needsApproval, execute: () => (ran += 1) }] },
    };
    const server = new MCPServer({ runtime, nativeExecution: true });
    expect(await server.callTool('tool', {}, controller.signal)).toMatchObject({ success: false });
    await new Promise(setImmediate);
    expect(ran).toBe(0);
  });
});

describe('an executor', () => {
  it('wins over native execution, and is given name, arguments and context', async () => {
    const calls: unknown[][] = [];
    const runtime: RuntimeLike = {
      tools: { list: () => [{ name: 'tool', requiresApproval: true, execute: () => 'native' }] },
    };
    const server = new MCPServer({ runtime, nativeExecution: true }, async (...call) => {
      calls.push(call);
      return { success: true, output: 'executed' };
    });
    expect(await server.callTool('tool', { a: 1 })).toEqual({ success: true, output: 'executed' });
    expect(calls).toEqual([['tool', { a: 1 }, expect.objectContaining({ runtime })]]);
  });

  it('fails the call when it throws', async () => {
    const runtime: RuntimeLike = { tools: { list: () => [{ name: 'tool' }] } };
    const server = new MCPServer({ runtime, logger: quiet() }, () => Promise.reject(new Error('broken')));
    expect(await server.callTool('tool')).toEqual({ success: false, error: 'broken' });
  });
});

/** The members of an object whose value is not this one. */
function without(marker: unknown, object: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== marker));
}
