// `@modelcontextprotocol/server-everything`: built on the official SDK, it uses most of what a server can do.

import { AbortError } from 'espalier/node';
import { describe, expect, it } from 'vitest';

import { connect, tool } from '../helpers/connect.js';
import { mcpError, rejection } from '../helpers/errors.js';
import { publishedServer } from '../helpers/published.js';

const server = publishedServer('everything');

describe('server-everything', () => {
  it('connects, with its name and its tools, and nothing to report', async () => {
    const { toolset, diagnostics } = await connect([server]);

    expect(toolset.servers()).toMatchObject([
      { state: 'ready', era: 'session', protocolVersion: '2025-11-25', serverInfo: { name: 'mcp-servers/everything' } },
    ]);
    const names = ['echo', 'get-sum', 'get-structured-content', 'get-tiny-image', 'trigger-long-running-operation'];
    expect(Object.keys(toolset.tools)).toEqual(expect.arrayContaining(names.map((name) => `everything__${name}`)));
    expect(diagnostics).toEqual([]);
  });

  it('echoes and adds', async () => {
    const { toolset } = await connect([server]);

    await expect(toolset.call('everything__echo', { message: '価格 — ✅' })).resolves.toBe('Echo: 価格 — ✅');
    await expect(toolset.call('everything__get-sum', { a: 2, b: 40 })).resolves.toMatch(/\b42\b/);
  });

  it('gives structured content', async () => {
    const { toolset } = await connect([server]);

    const weather = await toolset.call('everything__get-structured-content', { location: 'Chicago' });
    expect(weather).toEqual({
      temperature: expect.any(Number),
      conditions: expect.any(String),
      humidity: expect.any(Number),
    });
  });

  it('reports progress of a long operation', async () => {
    const { toolset } = await connect([server]);
    const seen: number[] = [];

    await toolset.call(
      'everything__trigger-long-running-operation',
      { duration: 0.5, steps: 5 },
      { onProgress: ({ progress }) => void seen.push(progress) },
    );
    expect(seen).toEqual([1, 2, 3, 4, 5]);
  });

  it('can be left alone with a long operation, and answers the next call', async () => {
    const { toolset } = await connect([server]);
    const controller = new AbortController();
    const long = rejection(
      tool(toolset, 'everything__trigger-long-running-operation').execute(
        { duration: 60, steps: 600 },
        { signal: controller.signal },
      ),
    );
    await toolset.call('everything__echo', { message: 'meanwhile' });
    controller.abort();

    expect(await long).toBeInstanceOf(AbortError);
    await expect(toolset.call('everything__echo', { message: 'after' })).resolves.toBe('Echo: after');
  });

  it('refuses wrong arguments in a way that reaches the caller', async () => {
    const { toolset } = await connect([server]);

    const error = await mcpError(toolset.call('everything__get-sum', { a: 'two' }), 'tool-error');
    expect(error.message).toMatch(/^MCP tool error: /);
  });

  it('sees an environment of its own', async () => {
    const { toolset } = await connect([{ ...server, env: { FOR_EVERYTHING: 'yes' } }]);

    const env = JSON.parse(String(await toolset.call('everything__get-env', {}))) as Record<string, string>;
    expect(env).toMatchObject({ FOR_EVERYTHING: 'yes' });
    expect(Object.keys(env).filter((name) => name.startsWith('VITEST') || name.startsWith('npm_'))).toEqual([]);
  });
});
