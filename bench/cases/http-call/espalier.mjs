// Subject: this package, as a user calls it.

import { mcpTools } from 'espalier/node';

import { startHttpEcho } from '../../lib/http-echo.mjs';

export async function start({ server }) {
  const peer = await startHttpEcho(server);
  const toolset = await mcpTools([{ type: 'streamable-http', name: 'echo', url: peer.urls[0] }], {
    onDiagnostic({ rule, message }) {
      console.error(`espalier: ${rule}: ${message}`);
    },
  });
  const tool = toolset.tools['echo__echo'];
  if (!tool) throw new Error('the server did not come up: there is no tool echo__echo');
  return {
    call: (text) => tool.execute({ text }),
    async close() {
      await toolset.close();
      await peer.close();
    },
  };
}
