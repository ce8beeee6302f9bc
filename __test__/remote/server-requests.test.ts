// What a server of the session era asks, and how it is answered.

import { describe, expect, it } from 'vitest';

import { sessionServer, type Call } from '../fixtures/http/mcp.js';
import { connect } from '../helpers/connect.js';
import { http, over, overBoth } from '../helpers/remote.js';
import { textResult } from '../helpers/scripted.js';
import { until } from '../helpers/until.js';

const requests = [
  [
    'a question',
    {
      method: 'elicitation/create',
      params: {
        message: 'Who?',
        requestedSchema: { type: 'object', properties: { name: { type: 'string', default: 'John' } } },
      },
    },
  ],
  [
    'sampling',
    {
      method: 'sampling/createMessage',
      params: { messages: [{ role: 'user', content: { type: 'text', text: 'hi' } }], maxTokens: 10 },
    },
  ],
  ['the roots', { method: 'roots/list' }],
  ['the unknown', { method: 'shell/run' }],
] as const;

overBoth((stack) => {
  describe.each(['call', 'standing'] as const)('a request on the stream of the %s', (where) => {
    it.each(requests)('for %s is refused where nobody handles it', async (_what, request) => {
      const server = await sessionServer({
        get: 'stream',
        tools: {
          ask: async ({ exchange }: Call) => {
            const own = exchange.stream();
            const on = where === 'call' ? own : await server.stream();
            on.message({ id: 'ask-1', ...request });
            const { message } = await until('the answer', () =>
              server.seen('POST').find((one) => one.message.id === 'ask-1' && one.message.method === undefined),
            );
            own.result(textResult(JSON.stringify(message.result ?? { error: message.error?.code }))).end();
          },
        },
      });
      const { toolset } = await connect([http(server.url)], over(stack));

      await expect(toolset.call('srv__ask')).resolves.toBe('{"error":-32601}');
      expect(server.seen('initialize')[0]?.message.params.capabilities).toEqual({});
    });
  });
});
