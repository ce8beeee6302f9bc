import { describe, expect, it } from 'vitest';

import { program } from '../helpers/programs.js';
import { scripted, toolEntry } from '../helpers/scripted.js';

const connectFrom = (entry: string): string => `
  import { mcpTools } from '${entry}';
  const diagnostics = [];
  const toolset = await mcpTools([input], { onDiagnostic: (diagnostic) => diagnostics.push(diagnostic) });
  say('result', { tools: Object.keys(toolset.tools), diagnostics, servers: toolset.servers() });
  await toolset.close();
`;

describe('a stdio server', () => {
  it('is off on the root entry: no tools, nothing started, and a diagnostic that points to the other entry', async () => {
    const peer = scripted('local', { tools: [toolEntry('t')] });
    const run = program(connectFrom('espalier'), { input: peer.config });
    expect(await run.ended()).toMatchObject({ code: 0, stderr: '' });

    const result = (await run.says('result')) as { tools: string[]; diagnostics: { message: string }[] };
    expect(result.tools).toEqual([]);
    expect(result.diagnostics).toEqual([
      { section: '7.2.2', rule: 'unsupported-transport', origin: 'local', message: expect.any(String) },
    ]);
    for (const word of ['stdio', 'Workers', 'workerd', 'espalier/node', '@kuralle-agents/mcp/node']) {
      expect(result.diagnostics[0]?.message).toContain(word);
    }
    expect(peer.starts()).toEqual([]);
  });

  it('is on once `espalier/node` is imported', async () => {
    const peer = scripted('local', { tools: [toolEntry('t')] });
    const run = program(connectFrom('espalier/node'), { input: peer.config });
    expect(await run.ended()).toMatchObject({ code: 0, stderr: '' });

    expect(await run.says('result')).toMatchObject({ tools: ['local__t'], diagnostics: [] });
  });

  it('is on for the root entry as well then, whoever imported the other', async () => {
    const peer = scripted('local', { tools: [toolEntry('t')] });
    const run = program(`import 'espalier/node'; ${connectFrom('espalier')}`, { input: peer.config });
    expect(await run.ended()).toMatchObject({ code: 0, stderr: '' });

    expect(await run.says('result')).toMatchObject({ tools: ['local__t'], diagnostics: [] });
  });
});
