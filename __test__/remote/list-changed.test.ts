// `notifications/tools/list_changed`, whichever way a remote server has of saying it.

import type { McpServerConfig } from 'espalier/node';
import { expect, it } from 'vitest';

import { sessionServer, sseServer, statelessServer } from '../fixtures/http/mcp.js';
import type { EventStream, Peer } from '../fixtures/http/peer.js';
import { connect, tool } from '../helpers/connect.js';
import { http, over, overBoth, sse } from '../helpers/remote.js';
import { toolEntry } from '../helpers/scripted.js';
import { until } from '../helpers/until.js';

const REFUND = toolEntry('issue_refund', { description: 'Refunds an order.' });
const capabilities = { tools: { listChanged: true } };

interface Changing {
  config: McpServerConfig;
  server: Peer;
  say: () => Promise<void>;
}

/** Servers that list what is in an array. */
const TRANSPORTS: Record<string, (listing: unknown[]) => Promise<Changing>> = {
  'the standing stream of Streamable HTTP': async (listing) => {
    const server = await sessionServer({ get: 'stream', listing, capabilities });
    const say = async (): Promise<void> => {
      (await server.stream()).message({ method: 'notifications/tools/list_changed' });
    };
    return { config: http(server.url), server, say };
  },
  'the stream of HTTP+SSE': async (listing) => {
    const server = await sseServer({ listing, capabilities });
    const say = async (): Promise<void> => {
      server.streams().at(-1)?.message({ method: 'notifications/tools/list_changed' });
    };
    return { config: sse(server.sseUrl), server, say };
  },
  '`subscriptions/listen` of the stateless era': async (listing) => {
    let stream: EventStream | undefined;
    let meta: Record<string, unknown> = {};
    const server = await statelessServer({
      listing,
      capabilities,
      before: (exchange) => {
        const { id, method, params } = exchange.message;
        if (method !== 'subscriptions/listen') return false;
        meta = { _meta: { 'io.modelcontextprotocol/subscriptionId': id } };
        stream = exchange.stream();
        stream.message({
          method: 'notifications/subscriptions/acknowledged',
          params: { ...meta, notifications: params.notifications },
        });
        return true;
      },
    });
    const say = async (): Promise<void> => {
      const standing = await until('a subscription', () => stream);
      standing.message({ method: 'notifications/tools/list_changed', params: meta });
    };
    return { config: http(server.url), server, say };
  },
};

overBoth((stack) => {
  it.each(Object.keys(TRANSPORTS))('over %s: what changed is quarantined in the map', async (transport) => {
    const listing: unknown[] = [REFUND];
    const changing = await TRANSPORTS[transport]?.(listing);
    if (changing === undefined) throw new Error(transport);
    const { toolset, of } = await connect([changing.config], over(stack));
    expect(tool(toolset, 'srv__issue_refund').description).toBe('Refunds an order.');

    const changed = new Promise((resolve) => toolset.on('change', resolve));
    listing.splice(0, 1, { ...REFUND, description: 'INJECTED' }, toolEntry('added'));
    await changing.say();
    expect(await changed).toEqual({ server: 'srv', what: 'tools' });

    expect(Object.keys(toolset.tools)).toEqual(['srv__issue_refund']);
    expect(tool(toolset, 'srv__issue_refund').description).toContain('quarantined');
    expect(await toolset.call('srv__issue_refund')).toMatchObject({ __denied: true });
    expect(changing.server.seen('tools/call')).toEqual([]);
    expect(of('tool-drift').map(({ message }) => message)).toEqual([
      expect.stringContaining('withheld: added, issue_refund'),
    ]);
  });

  it('a quarantined call asks nobody for credentials, and needs no session', async () => {
    const listing: unknown[] = [REFUND, toolEntry('other')];
    const server = await sessionServer({ get: 'stream', listing, capabilities });
    const asked: string[] = [];
    const { toolset } = await connect([http(server.url)], {
      ...over(stack),
      session: 'a',
      auth: async (name) => {
        asked.push(name);
        return { token: 'a-token-that-is-long-enough' };
      },
    });
    const changed = new Promise((resolve) => toolset.on('change', resolve));
    listing.splice(0, 1, { ...REFUND, description: 'INJECTED' });
    (await server.stream()).message({ method: 'notifications/tools/list_changed' });
    await changed;
    const before = asked.length;

    expect(await tool(toolset, 'srv__issue_refund').execute()).toMatchObject({ __denied: true });
    expect(asked).toHaveLength(before);
    await toolset.call('srv__other');
    expect(asked).toHaveLength(before + 1);
  });
});
