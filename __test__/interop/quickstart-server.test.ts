// The first server that a reader of the documentation writes, as a program of its own, and other people's clients on its
// standard input and output.

import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

import { inspect } from '../helpers/inspector.js';
import { officialClient } from '../helpers/official-clients.js';
import { workspace } from '../helpers/workspace.js';

const QUICKSTART = `import { MCPServer, createPluggableStdioTransport } from "espalier/server";

const runtime = {
  tools: {
    list: () => [
      {
        name: "echo",
        description: "Echo the text back.",
        parameters: {
          type: "object",
          properties: { text: { type: "string" } },
          required: ["text"],
        },
        execute: async (args) => ({ echoed: args.text }),
      },
    ],
  },
};

const server = new MCPServer({
  name:            "my-mcp-server",
  version:         "1.0.0",
  runtime,               // tools/call needs a bound runtime
  nativeExecution: true, // run each tool's own execute; off by default
});

await server.start(createPluggableStdioTransport());
// The server now answers tools/list and tools/call on stdio.
`;

const ECHO = {
  name: 'echo',
  description: 'Echo the text back.',
  inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
};
const ECHOED = {
  content: [{ type: 'text', text: '{"echoed":"価格 — ✅"}' }],
  structuredContent: { echoed: '価格 — ✅' },
};
const REFUSED = { isError: true, content: [{ text: expect.stringContaining('/text: expected string, got number') }] };

/** The program in a folder where the package is installed. */
function quickstart(): string {
  const folder = workspace();
  const file = path.join(folder, 'server.js');
  writeFileSync(file, QUICKSTART);
  writeFileSync(path.join(folder, 'package.json'), '{ "type": "module" }');
  mkdirSync(path.join(folder, 'node_modules'));
  symlinkSync(
    fileURLToPath(new URL('../../', import.meta.url)),
    path.join(folder, 'node_modules/espalier'),
    'junction',
  );
  return file;
}

describe('the quickstart', () => {
  it.each([
    ['v1', 'session'],
    ['v2', 'session'],
    ['v2', 'stateless'],
  ] as const)('serves the official client %s in the %s era', async (version, era) => {
    const client = await officialClient(version, { command: process.execPath, args: [quickstart()] }, { era });

    expect(client.serverInfo()).toEqual({ name: 'my-mcp-server', version: '1.0.0' });
    expect((await client.tools()).tools).toEqual([ECHO]);
    expect(await client.call('echo', { text: '価格 — ✅' })).toMatchObject(ECHOED);
    expect(await client.call('echo', { text: 5 })).toMatchObject(REFUSED);
  });

  it.for(['legacy', 'auto', 'modern'])(
    'serves the command line of the MCP Inspector with --protocol-era %s',
    { timeout: 180_000 },
    async (era, context) => {
      const run = (...args: string[]): Promise<unknown> =>
        inspect(context, '--protocol-era', era, process.execPath, quickstart(), ...args);

      expect(await run('--method', 'tools/list')).toMatchObject({ tools: [ECHO] });
      expect(await run('--method', 'tools/call', '--tool-name', 'echo', '--tool-arg', 'text=価格 — ✅')).toMatchObject(
        ECHOED,
      );
    },
  );
});
