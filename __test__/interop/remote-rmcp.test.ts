// A server on the official Rust SDK, in either era and in both.

import { AbortError } from 'espalier/node';
import { beforeAll, describe, expect, it } from 'vitest';

import { connect } from '../helpers/connect.js';
import { mcpError, rejection } from '../helpers/errors.js';
import { buildRmcpServer, rmcpServer } from '../helpers/official.js';
import { http, over, overBoth } from '../helpers/remote.js';

const BUILD_MS = 15 * 60_000;

describe('on the SDK for Rust', () => {
  beforeAll(buildRmcpServer, BUILD_MS);

  overBoth((stack) => {
    describe.each([
      ['session', 'auto', 'session', '2025-11-25'],
      ['stateless', 'auto', 'stateless', '2026-07-28'],
      ['both', 'auto', 'stateless', '2026-07-28'],
      ['both', 'legacy', 'session', '2025-11-25'],
    ] as const)('a server of the era: %s, with `%s`', (mode, protocol, era, protocolVersion) => {
      it('connects, and its tools work', async () => {
        const { toolset, diagnostics } = await connect([http(await rmcpServer(mode))], { ...over(stack), protocol });

        expect(toolset.servers()).toMatchObject([
          { state: 'ready', era, protocolVersion, serverInfo: { name: 'rmcp-fixture' } },
        ]);
        await expect(toolset.call('srv__echo', { text: '価格 — ✅' })).resolves.toBe('価格 — ✅');
        await expect(toolset.call('srv__mirror', { region: ' Zürich ' })).resolves.toBe(' Zürich ');
        await mcpError(toolset.call('srv__fail', {}), 'tool-error');
        const seen: number[] = [];
        await toolset.call('srv__progress', {}, { onProgress: ({ progress }) => void seen.push(progress) });
        expect(seen).toEqual([1, 2, 3]);
        await toolset.close();
        expect(diagnostics).toEqual([]);
      });

      it('answers many calls at once', async () => {
        const { toolset } = await connect([http(await rmcpServer(mode))], { ...over(stack), protocol });
        const texts = Array.from({ length: 64 }, (_, n) => `text ${n}`);

        await expect(Promise.all(texts.map((text) => toolset.call('srv__echo', { text })))).resolves.toEqual(texts);
      });

      it('can be left alone with a long call, and answers the next one', async () => {
        const { toolset } = await connect([http(await rmcpServer(mode))], { ...over(stack), protocol });
        const controller = new AbortController();
        const long = rejection(toolset.call('srv__slow', {}, { signal: controller.signal }));
        await toolset.call('srv__echo', { text: 'meanwhile' });
        controller.abort();

        expect(await long).toBeInstanceOf(AbortError);
        await expect(toolset.call('srv__echo', { text: 'after' })).resolves.toBe('after');
      });
    });
  });
});
