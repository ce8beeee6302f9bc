// A program with remote servers: when it may end, and that it does.

import { describe, expect, it } from 'vitest';

import { sessionServer, sseServer } from '../fixtures/http/mcp.js';
import { peer } from '../fixtures/http/peer.js';
import { program } from '../helpers/programs.js';
import { overBoth } from '../helpers/remote.js';

overBoth(() => {
  const connecting = `
    import { mcpTools } from 'espalier/node';
    const toolset = await mcpTools(input.servers, {
      session: 's',
      auth: async () => ({ token: 't' }),
      allowedHosts: () => ['127.0.0.1'],
      onDiagnostic: () => {},
      onProgress: () => {},
    });`;
  const both = async () => {
    const session = await sessionServer({ get: 'stream' });
    const old = await sseServer();
    return {
      servers: [
        { type: 'streamable-http', name: 'new', url: session.url },
        { type: 'sse', name: 'old', url: old.sseUrl },
      ],
    };
  };

  describe('a program', () => {
    it('ends by itself after `close()`, callbacks or not', async () => {
      const run = program(
        `${connecting}
        say('called', await toolset.call('new__echo', { a: 1 }, { timeoutMs: 600_000 }));
        await toolset.close();
        say('closed');`,
        { input: await both() },
      );
      const ended = await run.ended();

      expect(ended).toMatchObject({ code: 0, signal: null, stderr: '' });
      expect(ended.stdout).toContain('closed');
      expect(ended.msSince('closed')).toBeLessThan(2000);
    });

    it('stays while it is connected', async () => {
      const run = program(`${connecting} say('connected'); setTimeout(() => say('still'), 1500).unref();`, {
        input: await both(),
      });
      await run.says('connected');

      await run.says('still');
    });

    it('ends while it is connected once the toolset is let go', async () => {
      const run = program(`${connecting} toolset.unref(); say('let-go');`, { input: await both() });
      const ended = await run.ended();

      expect(ended).toMatchObject({ code: 0, signal: null });
      expect(ended.msSince('let-go')).toBeLessThan(2000);
    });

    it('ends after servers that could not be reached', async () => {
      const silent = await peer((exchange) => exchange.hang());
      const run = program(`${connecting} await toolset.close(); say('closed');`, {
        input: {
          servers: [
            { type: 'streamable-http', name: 'silent', url: silent.url, timeoutMs: 300 },
            { type: 'sse', name: 'quiet', url: silent.url, timeoutMs: 300 },
            { type: 'streamable-http', name: 'nobody', url: 'http://127.0.0.1:9/mcp', timeoutMs: 300 },
          ],
        },
      });
      const ended = await run.ended();

      expect(ended).toMatchObject({ code: 0, signal: null, stderr: '' });
      expect(ended.msSince('closed')).toBeLessThan(2000);
    });

    it('that is ended with `process.exit()` in the middle of calls ends with that code', async () => {
      const server = await sessionServer({ get: 'stream', tools: { never: () => {} } });
      const run = program(
        `${connecting}
        for (let n = 0; n < 20; n += 1) toolset.call('new__never', { n }).catch(() => {});
        setTimeout(() => process.exit(7), 50);`,
        { input: { servers: [{ type: 'streamable-http', name: 'new', url: server.url }] } },
      );

      expect(await run.ended()).toMatchObject({ code: 7, signal: null });
    });
  });
});
