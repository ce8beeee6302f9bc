// What all servers offer: an echo, and tools that are there to be listed.

import { z } from 'zod';

const ECHO = {
  name: 'echo',
  description: 'Returns its text.',
  inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
};

/** So many tools, as a list has them. */
export function listing(count) {
  return [ECHO, ...Array.from({ length: count - 1 }, (_, i) => other(i + 1))];
}

function other(i) {
  return {
    name: `tool_${i}`,
    title: `Tool ${i}`,
    description: `Looks through the records of collection ${i} and returns those that match, newest first.`,
    inputSchema: {
      type: 'object',
      properties: {
        query: { type: 'string', description: 'What to look for; words are joined by and' },
        limit: { type: 'integer', minimum: 1, maximum: 100, description: 'How many to return' },
        archived: { type: 'boolean', description: 'Whether those that were put away count' },
      },
      required: ['query'],
      additionalProperties: false,
    },
  };
}

/** The input of a tool of the listing, as a schema of Zod. */
export function zodShape({ name }) {
  if (name === 'echo') return { text: z.string() };
  return {
    query: z.string().describe('What to look for; words are joined by and'),
    limit: z.number().int().min(1).max(100).describe('How many to return').optional(),
    archived: z.boolean().describe('Whether those that were put away count').optional(),
  };
}

export { z };

/** What every tool does, as a result of the protocol: `echo` gives its text back, and the others are never called. */
export function run({ text = '' }) {
  return { content: [{ type: 'text', text }] };
}

/** The listing as name and description of each tool, with the input schema that `convert` makes of it. */
export function converted(count, convert) {
  return listing(count).map((tool) => {
    const { name, title, description } = tool;
    return [name, { title, description, inputSchema: convert(tool) }];
  });
}
