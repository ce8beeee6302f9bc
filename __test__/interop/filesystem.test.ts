// `@modelcontextprotocol/server-filesystem` on a folder of its own.

import { readFileSync } from 'node:fs';
import path from 'node:path';

import { describe, expect, it } from 'vitest';

import { connect } from '../helpers/connect.js';
import { mcpError } from '../helpers/errors.js';
import { publishedServer } from '../helpers/published.js';
import { workspace } from '../helpers/workspace.js';

describe('server-filesystem', () => {
  it('writes and reads a file', async () => {
    const folder = workspace();
    const file = path.join(folder, 'note.txt');
    const { toolset, diagnostics } = await connect([publishedServer('filesystem', { args: [folder] })]);

    await toolset.call('filesystem__write_file', { path: file, content: 'grüße\nund — ✅\n' });
    expect(readFileSync(file, 'utf8')).toBe('grüße\nund — ✅\n');
    expect(JSON.stringify(await toolset.call('filesystem__read_text_file', { path: file }))).toContain('grüße');
    expect(diagnostics).toEqual([]);
  });

  it('refuses what lies outside', async () => {
    const { toolset } = await connect([publishedServer('filesystem', { args: [workspace()] })]);

    const error = await mcpError(toolset.call('filesystem__read_text_file', { path: '/etc/hostname' }), 'tool-error');
    expect(error.message).toMatch(/access denied/i);
  });

  it('that is given no folder it can use fails with its own words', async () => {
    const { of } = await connect([publishedServer('filesystem', { args: [path.join(workspace(), 'absent')] })], {
      timeoutMs: 10_000,
    });

    expect(of('connection-failure')).toEqual([expect.objectContaining({ origin: 'filesystem' })]);
  });
});
