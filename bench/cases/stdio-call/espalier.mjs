// Subject: this package, as a user calls it.

import { mcpTools } from 'espalier/node';

export async function start({ server }) {
  const toolset = await mcpTools([{ type: 'stdio', name: 'echo', ...server }], {
    onDiagnostic({ rule, message }) {
      console.error(`espalier: ${rule}: ${message}`);
    },
  });
  const tool = toolset.tools['echo__echo'];
  if (!tool) throw new Error('the server did not come up: there is no tool echo__echo');
  return {
    call: (text) => tool.execute({ text }),
    close: () => toolset.close(),
  };
}
