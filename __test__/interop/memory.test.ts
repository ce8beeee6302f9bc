// `@modelcontextprotocol/server-memory` with a file of its own.

import path from 'node:path';

import { expect, it } from 'vitest';

import { connect } from '../helpers/connect.js';
import { publishedServer } from '../helpers/published.js';
import { workspace } from '../helpers/workspace.js';

it('server-memory creates entities, and knows them after a restart', async () => {
  const server = publishedServer('memory', { env: { MEMORY_FILE_PATH: path.join(workspace(), 'graph.jsonl') } });
  const entities = [{ name: 'Espalier', entityType: 'project', observations: ['grows along a wall', '✅'] }];

  const first = await connect([server]);
  await first.toolset.call('memory__create_entities', { entities });
  await first.toolset.close();

  const second = await connect([server]);
  expect(await second.toolset.call('memory__read_graph', {})).toEqual({ entities, relations: [] });
  expect([...first.diagnostics, ...second.diagnostics]).toEqual([]);
});
