// The client that the official conformance suite starts once per scenario: `driver.mjs <url of the mock server>`. What
// to do comes by environment variables. Its last line is `driver done`, which tells an end from a death.

import { mcpTools } from 'espalier';
import { scenarios } from './scenarios.mjs';

/** The suite stops a shell that takes too long, and then waits for what the shell has started. */
const WATCHDOG_MS = 45_000;

setTimeout(() => {
  console.error('the driver has taken too long');
  process.exit(3);
}, WATCHDOG_MS).unref();

const [, , url] = process.argv;
const { MCP_CONFORMANCE_SCENARIO: name, MCP_CONFORMANCE_CONTEXT: context = '{}' } = process.env;
const scenario = scenarios[name];
if (url === undefined || scenario === undefined) {
  console.error(`no such scenario: ${name}`);
  process.exit(2);
}

const diagnostics = [];
const opened = [];
await scenario({
  url,
  context: JSON.parse(context),
  async connect(options = {}) {
    const toolset = await mcpTools([{ type: 'streamable-http', name: 'suite', url }], {
      timeoutMs: 30_000,
      onDiagnostic: (diagnostic) => diagnostics.push(diagnostic),
      ...options,
    });
    opened.push(toolset);
    return toolset;
  },
});
for (const toolset of opened) {
  console.log(JSON.stringify(toolset.servers()));
  await toolset.close();
}
for (const diagnostic of diagnostics) console.log(JSON.stringify(diagnostic));
console.log('driver done');
