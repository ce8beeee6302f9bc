// Connects servers once and leaves their rows in a file: `node remember.mjs <file> <configurations as JSON>`.

import { createSqliteMcpConnectionStore, mcpTools } from 'espalier';

const [file, configs] = process.argv.slice(2);
const storage = createSqliteMcpConnectionStore(file);
const toolset = await mcpTools(JSON.parse(configs), {
  storage,
  onDiagnostic({ rule, message }) {
    throw new Error(`${rule}: ${message}`);
  },
});
await toolset.close();
await storage.close();
