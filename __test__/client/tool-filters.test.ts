import { expect, it } from 'vitest';

import { connect } from '../helpers/connect.js';
import { scripted, toolEntry } from '../helpers/scripted.js';

function servers() {
  return [
    scripted('one', { tools: [toolEntry('read'), toolEntry('write'), toolEntry('a/b')] }).config,
    scripted('two', { tools: [toolEntry('read'), toolEntry('drop')] }).config,
  ];
}

it('`allow` keeps the tools that it names by projected name', async () => {
  const { toolset } = await connect(servers(), { tools: { allow: ['two__read', 'one__write'] } });

  expect(Object.keys(toolset.tools)).toEqual(['one__write', 'two__read']);
});

it('`allow` keeps the tools that it names by the name their server gives them', async () => {
  const { toolset } = await connect(servers(), { tools: { allow: ['read', 'a/b'] } });

  expect(Object.keys(toolset.tools)).toEqual(['one__read', expect.stringMatching(/^one__a_b_/), 'two__read']);
});

it('`block` hides tools by either name', async () => {
  const { toolset } = await connect(servers(), { tools: { block: ['read', 'one__write'] } });

  expect(Object.keys(toolset.tools)).toEqual([expect.stringMatching(/^one__a_b_/), 'two__drop']);
});

it('an empty `allow` hides everything, an empty `block` nothing, and an unknown name is no error', async () => {
  const none = await connect(servers(), { tools: { allow: [] } });
  const all = await connect(servers(), { tools: { block: [] } });
  const unknown = await connect(servers(), { tools: { block: ['never-heard-of'] } });

  expect(Object.keys(none.toolset.tools)).toEqual([]);
  expect(Object.keys(all.toolset.tools)).toHaveLength(5);
  expect(Object.keys(unknown.toolset.tools)).toHaveLength(5);
  expect([...none.diagnostics, ...all.diagnostics, ...unknown.diagnostics]).toEqual([]);
});

it('a hidden tool cannot be called by name either', async () => {
  const { toolset } = await connect(servers(), { tools: { block: ['drop'] } });

  await expect(toolset.call('two__drop')).rejects.toThrow(/two__drop/);
});
