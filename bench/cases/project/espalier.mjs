// Subject: this package, as a user calls it, through a `fetch` that has the server's answers ready. What is measured is
// therefore more than the catalogue: a handshake, and the bytes of the listing on their way into the core.

import { mcpTools } from 'espalier/node';

import { listing } from './listing.mjs';

export async function start({ tools }) {
  // The id is the last member, so that the rest can be made beforehand; the handshake has the one before it.
  const page = new TextEncoder().encode(`{"jsonrpc":"2.0","result":${JSON.stringify(listing(tools))},"id":1}`);
  const open = [];
  return {
    async project() {
      const toolset = await mcpTools([{ type: 'streamable-http', name: 'forge', url: 'http://127.0.0.1:1/mcp' }], {
        protocol: 'legacy',
        fetch: answering(page),
        onDiagnostic({ rule, message }) {
          // So many tools are more than any budget, which is told each time.
          if (rule !== 'disclosure-budget-exceeded') console.error(`espalier: ${rule}: ${message}`);
        },
      });
      open.push(toolset);
      return toolset.tools;
    },
    /** What is over is put away outside of the measured time. */
    async tidy() {
      for (const toolset of open.splice(0)) await toolset.close();
    },
    async close() {
      await this.tidy();
    },
  };
}

function answering(page) {
  const json = { headers: { 'content-type': 'application/json' } };
  return async (_url, { method, body }) => {
    if (method !== 'POST') return new Response(null, { status: 405 });
    const message = JSON.parse(body);
    if (message.method === 'tools/list') {
      if (message.id !== 1) throw new Error(`the listing was asked for under the id ${message.id}`);
      return new Response(page, json);
    }
    if (message.id === undefined) return new Response(null, { status: 202 });
    const result = {
      protocolVersion: message.params.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: 'forge', version: '1.0.0' },
    };
    return new Response(JSON.stringify({ jsonrpc: '2.0', id: message.id, result }), json);
  };
}
