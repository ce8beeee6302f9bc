import { expect, it } from 'vitest';

import { connect } from '../helpers/connect.js';
import { echoServer } from '../helpers/servers.js';

it.each(['streamable-http', 'sse'] as const)(
  'a server over %s that nobody runs is skipped with a diagnostic, and the others connect',
  async (type) => {
    const { toolset, diagnostics } = await connect([
      {
        type,
        name: 'remote',
        url: 'http://127.0.0.1:9/mcp?key=in-the-query',
        headers: { authorization: 'Bearer abcdefgh12345' },
      },
      echoServer(),
    ]);

    expect(Object.keys(toolset.tools).every((name) => name.startsWith('echo__'))).toBe(true);
    expect(diagnostics).toEqual([
      { section: '7.2.2', rule: 'connection-failure', origin: 'remote', message: expect.stringContaining('remote') },
    ]);
    expect(diagnostics[0]?.message).not.toMatch(/in-the-query|abcdefgh12345/);
  },
);
