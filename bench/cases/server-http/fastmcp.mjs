// Subject: `fastmcp`, without sessions and with JSON replies, which is its faster manner.

import { createServer } from 'node:net';
import { once } from 'node:events';
import { FastMCP } from 'fastmcp';

import { listing, z, zodShape } from '../../lib/servers/tools.mjs';

export async function start({ tools }) {
  const server = new FastMCP({ name: 'bench', version: '1.0.0', logger: silent });
  for (const tool of listing(tools)) {
    const { name, title, description } = tool;
    const execute = async ({ text = '' }) => text;
    server.addTool({ name, description, annotations: { title }, parameters: z.object(zodShape(tool)), execute });
  }
  const port = await freePort();
  const httpStream = { port, host: '127.0.0.1', stateless: true, enableJsonResponse: true };
  await server.start({ transportType: 'httpStream', httpStream });
  return { info: { url: `http://127.0.0.1:${port}/mcp` }, close: () => server.stop() };
}

/** It does not say which port it was given. */
async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address();
  probe.close();
  await once(probe, 'close');
  return port;
}

const silent = { debug() {}, error: console.error, info() {}, log() {}, warn() {} };
