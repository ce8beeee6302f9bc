// Subject: this package, as a user calls it.

import { mcpTools } from 'espalier/node';

import { startHttpEcho } from '../../lib/http-echo.mjs';

export async function start({ server, servers }) {
  const peer = await startHttpEcho(server);
  const configs = peer.urls.map((url, i) => ({ type: 'streamable-http', name: `server-${i}`, url }));
  let toolset;
  return {
    servers,
    async connect() {
      toolset = await mcpTools(configs, {
        onDiagnostic({ rule, message }) {
          console.error(`espalier: ${rule}: ${message}`);
        },
      });
      return Object.keys(toolset.tools).length;
    },
    async close() {
      await toolset?.close();
      await peer.close();
    },
  };
}
