// `protocol: { pin }` offers one revision over stdio and takes no other.

import { expect, it } from 'vitest';

import { connect } from '../helpers/connect.js';
import { scripted } from '../helpers/scripted.js';

it('offers the pinned revision, and takes it', async () => {
  const server = scripted('srv', { tools: [], protocolVersion: '2025-06-18' });
  const { toolset } = await connect([server.config], { protocol: { pin: '2025-06-18' } });

  expect(server.received().find(({ method }) => method === 'initialize')?.params).toMatchObject({
    protocolVersion: '2025-06-18',
  });
  expect(toolset.servers()[0]).toMatchObject({ state: 'ready', era: 'session', protocolVersion: '2025-06-18' });
});

it('refuses a server that answers with another one, of its own option as well', async () => {
  const server = scripted('srv', { tools: [], protocolVersion: '2025-03-26' });
  const { diagnostics } = await connect([{ ...server.config, protocol: { pin: '2025-06-18' } }]);

  expect(diagnostics).toMatchObject([{ rule: 'connection-failure', origin: 'srv' }]);
  expect(diagnostics[0]?.message).toMatch(/2025-03-26.*2025-06-18/);
});

it('says at once that a revision without a session is not spoken over stdio', async () => {
  const server = scripted('srv', { tools: [] });
  const { diagnostics } = await connect([server.config], { protocol: { pin: '2026-07-28' } });

  expect(diagnostics).toMatchObject([{ rule: 'connection-failure', origin: 'srv' }]);
  expect(diagnostics[0]?.message).toContain('2026-07-28');
});
