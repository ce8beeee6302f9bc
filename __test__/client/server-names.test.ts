import { describe, expect, it } from 'vitest';

import { connect, tool } from '../helpers/connect.js';
import { mcpError } from '../helpers/errors.js';
import { scripted, toolEntry } from '../helpers/scripted.js';
import { echoServer, type StdioConfig } from '../helpers/servers.js';
import { fnv1a32 } from '../helpers/vectors.js';

function identity({ command, args = [] }: StdioConfig): string {
  return [command, ...args].join(' ');
}

function toolNames(tools: object): string[] {
  return Object.keys(tools);
}

describe('two servers of one name', () => {
  it('are both projected under the name with the hash of their command line, and the clash is reported once', async () => {
    const one = scripted('local', { tools: [toolEntry('whoami')] });
    const other = scripted('local', { tools: [toolEntry('whoami')] });
    const { toolset, of } = await connect([one.config, other.config]);

    expect(toolNames(toolset.tools)).toEqual([
      `local_${fnv1a32(identity(one.config))}__whoami`,
      `local_${fnv1a32(identity(other.config))}__whoami`,
    ]);
    expect(of('server-name-collision')).toEqual([
      { section: '7.2.2', rule: 'server-name-collision', origin: 'local', message: expect.stringContaining('local') },
    ]);
  });

  it('have names that do not depend on their order', async () => {
    const one = scripted('local', { tools: [toolEntry('whoami')] });
    const other = scripted('local', { tools: [toolEntry('whoami')] });
    const forward = await connect([one.config, other.config]);
    const backward = await connect([other.config, one.config]);

    expect(toolNames(backward.toolset.tools)).toEqual(toolNames(forward.toolset.tools).toReversed());
  });

  it('are each called on their own process', async () => {
    const one = scripted('local', { tools: [toolEntry('whoami')] });
    const other = scripted('local', { tools: [toolEntry('whoami')] });
    const { toolset } = await connect([one.config, other.config]);

    await tool(toolset, `local_${fnv1a32(identity(other.config))}__whoami`).execute({});
    await other.waitFor('tools/call');
    expect(one.received('tools/call')).toEqual([]);
  });

  it('are one server, suffixed, when their configurations are the same', async () => {
    const server = scripted('local', { tools: [toolEntry('whoami')] }, { env: { MODE: 'a' } });
    const { toolset, of } = await connect([server.config, { ...server.config, env: { MODE: 'a' } }]);

    expect(toolNames(toolset.tools)).toEqual([`local_${fnv1a32(identity(server.config))}__whoami`]);
    expect(server.starts()).toHaveLength(1);
    expect(of('server-name-collision')).toHaveLength(1);
  });

  it.each<[string, Partial<StdioConfig>]>([
    ['env', { env: { MODE: 'b' } }],
    ['cwd', { cwd: '/' }],
  ])('are both kept when only their %s differs; the later one counts as #2', async (_what, difference) => {
    const server = scripted('local', { tools: [toolEntry('whoami')] }, { env: { MODE: 'a' } });
    const { toolset } = await connect([server.config, { ...server.config, ...difference }]);

    expect(toolNames(toolset.tools)).toEqual([
      `local_${fnv1a32(identity(server.config))}__whoami`,
      `local_${fnv1a32(`${identity(server.config)} #2`)}__whoami`,
    ]);
    expect(server.starts()).toHaveLength(2);
  });

  it('count on for a third one', async () => {
    const server = scripted('local', { tools: [toolEntry('whoami')] });
    const { toolset } = await connect([
      { ...server.config, env: { MODE: 'a' } },
      { ...server.config, env: { MODE: 'b' } },
      { ...server.config, env: { MODE: 'c' } },
    ]);

    const base = identity(server.config);
    expect(toolNames(toolset.tools)).toEqual(
      [base, `${base} #2`, `${base} #3`].map((text) => `local_${fnv1a32(text)}__whoami`),
    );
  });

  it('leave a third server of another name untouched', async () => {
    const one = scripted('local', { tools: [toolEntry('whoami')] });
    const other = scripted('local', { tools: [toolEntry('whoami')] });
    const { toolset } = await connect([one.config, echoServer('mine'), other.config]);

    expect(toolNames(toolset.tools)).toContain('mine__echo');
  });
});

it('an empty server name is a wrong option', async () => {
  const error = await mcpError(connect([echoServer('')]), 'invalid-option');

  expect(error.message).toMatch(/name/);
});
