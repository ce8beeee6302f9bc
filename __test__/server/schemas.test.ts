// Schemas of validation libraries as schemas of tools.

import { MCPServer, projectToolDefinitionToMCP, type RuntimeLike } from 'espalier/server';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';

import { quiet } from '../helpers/wire.js';

const shape = { text: z.string(), count: z.number().default(1) };

/** As the first releases of Zod 4 have it: without a way to convert itself. */
function early(schema: object): object {
  const standard = (schema as { '~standard': { validate: unknown } })['~standard'];
  return Object.create(schema, {
    '~standard': { value: { version: 1, vendor: 'zod', validate: standard.validate } },
  }) as object;
}

const library = {
  '~standard': {
    version: 1,
    vendor: 'mine',
    validate: (value: unknown) => ({ value }),
    jsonSchema: {
      input: ({ target }: { target: string }) => ({ type: 'object', title: `input ${target}` }),
      output: ({ target }: { target: string }) => ({ type: 'object', title: `output ${target}` }),
    },
  },
} as const;

describe('a schema', () => {
  it('of Zod says what goes in', () => {
    const { inputSchema } = projectToolDefinitionToMCP({ name: 'a', parameters: z.object(shape) });
    expect(inputSchema).toMatchObject({
      type: 'object',
      properties: { text: { type: 'string' }, count: { type: 'number', default: 1 } },
      required: ['text'],
    });
  });

  it('of an early Zod 4 is converted by its own package', () => {
    const { inputSchema } = projectToolDefinitionToMCP({ name: 'a', parameters: early(z.object(shape)) as never });
    expect(inputSchema).toMatchObject({ type: 'object', required: ['text'] });
  });

  it('of any library that converts itself is asked for the current draft, and for the side that it is for', async () => {
    const server = new MCPServer();
    server.register({ name: 'a', inputSchema: library, outputSchema: library, handler: () => ({}) });
    expect(await server.listTools()).toMatchObject([
      { inputSchema: { title: 'input draft-2020-12' }, outputSchema: { title: 'output draft-2020-12' } },
    ]);
  });

  it('may be a function', () => {
    const callable = Object.assign(() => {}, library);
    expect(projectToolDefinitionToMCP({ name: 'a', parameters: callable }).inputSchema).toMatchObject({
      type: 'object',
    });
  });

  it.each([
    ['of a library that does not convert itself', { '~standard': { version: 1, vendor: 'x', validate: () => ({}) } }],
    ['that cannot be said as JSON Schema', z.object({ when: z.date() })],
    ['of no object', z.string()],
    [
      'whose conversion throws',
      {
        '~standard': {
          ...library['~standard'],
          jsonSchema: {
            input() {
              throw new Error('x');
            },
          },
        },
      },
    ],
    [
      'whose conversion gives no schema',
      { '~standard': { ...library['~standard'], jsonSchema: { input: () => 'x' } } },
    ],
  ])('%s throws when its tool is registered, and costs only it in a projection', async (_, schema) => {
    expect(() => new MCPServer().register({ name: 'odd', inputSchema: schema, handler: () => 1 })).toThrow(/"odd"/);
    const logger = quiet();
    const runtime: RuntimeLike = {
      tools: { list: () => [{ name: 'odd', parameters: schema }, { name: 'good' }] },
    };
    expect(await new MCPServer({ runtime, logger }).listTools()).toMatchObject([{ name: 'good' }]);
    expect(logger.lines).toEqual([expect.stringContaining('"odd"')]);
  });
});
