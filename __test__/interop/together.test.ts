// The three published servers in one toolset.

import { expect, it } from 'vitest';

import { connect } from '../helpers/connect.js';
import { publishedServer } from '../helpers/published.js';
import { workspace } from '../helpers/workspace.js';

it('three published servers and one that cannot start are one toolset of three', async () => {
  const folder = workspace();
  const { toolset, of } = await connect([
    publishedServer('memory', { env: { MEMORY_FILE_PATH: `${folder}/graph.jsonl` } }),
    { type: 'stdio', name: 'absent', command: 'no-such-command-anywhere' },
    publishedServer('filesystem', { args: [folder] }),
    publishedServer('everything'),
  ]);

  const prefixes = Object.keys(toolset.tools).map((name) => name.slice(0, name.indexOf('__')));
  expect([...new Set(prefixes)]).toEqual(['memory', 'filesystem', 'everything']);
  expect(of('connection-failure').map(({ origin }) => origin)).toEqual(['absent']);
  const answers = await Promise.all([
    toolset.call('memory__read_graph', {}),
    toolset.call('filesystem__list_allowed_directories', {}),
    toolset.call('everything__echo', { message: 'hello' }),
  ]);
  expect(answers).toEqual([{ entities: [], relations: [] }, expect.anything(), 'Echo: hello']);
});
