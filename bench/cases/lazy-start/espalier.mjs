// Subject: this package, as a user calls it.

import { mcpTools } from 'espalier/node';

const TOOLS = 20;

/** A tool as servers have them: some sentences, and a schema of a few hundred bytes. */
function given(n) {
  return {
    name: `tool_${n}`,
    description:
      `Looks for entries of kind ${n} in the archive and gives those that fit, the newest ones first. `.repeat(2),
    inputSchema: {
      type: 'object',
      properties: {
        query: { type: 'string', description: 'What to look for, as words or as a pattern.' },
        limit: { type: 'integer', minimum: 1, maximum: 100, description: 'How many entries to give at most.' },
        order: { type: 'string', enum: ['newest', 'oldest', 'relevance'], description: 'Which ones come first.' },
      },
      required: ['query'],
    },
  };
}

export function start({ command, servers, lazy }) {
  const listing = lazy ? { tools: Array.from({ length: TOOLS }, (_, n) => given(n)) } : {};
  const configs = Array.from({ length: servers }, (_, n) => ({ type: 'stdio', name: `s${n}`, command, ...listing }));
  let toolset;
  return {
    tools: lazy ? TOOLS : 1,
    async ready() {
      toolset = await mcpTools(configs, {
        lazy,
        onDiagnostic({ rule, message }) {
          console.error(`espalier: ${rule}: ${message}`);
        },
      });
      return Object.values(toolset.tools).map((tool) => tool.input['~standard'].jsonSchema.input());
    },
    close: () => toolset?.close(),
  };
}
