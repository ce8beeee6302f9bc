// One call of the stateless era whose every round goes to another process of the same server.

import { expect, it } from 'vitest';

import { fullServer } from '../helpers/served.js';
import type { Answer, Json } from '../helpers/wire.js';

const SAID: Json = { name: 'Ann', colour: 'green', dish: 'soup' };

async function post(url: string, params: Json, name = 'interview'): Promise<Answer> {
  const reply = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': name,
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: {
        name,
        arguments: {},
        ...params,
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
        },
      },
    }),
  });
  return (await reply.json()) as Answer;
}

/** What a client says to the questions of a round. */
function answered({ result }: Answer): Json {
  expect(result).toMatchObject({ resultType: 'input_required', requestState: expect.any(String) });
  const { inputRequests, requestState } = result as {
    inputRequests: Record<string, { params: Json }>;
    requestState: string;
  };
  const responses = Object.entries(inputRequests).map(([key, { params }]) => {
    const [topic = ''] = Object.keys((params['requestedSchema'] as { properties: Json }).properties);
    return [key, { action: 'accept', content: { [topic]: SAID[topic] } }];
  });
  return { inputResponses: Object.fromEntries(responses), requestState };
}

async function processes(secrets: string[]): Promise<string[]> {
  const targets = await Promise.all(secrets.map((secret) => fullServer('http', { STATE_SECRET: secret.repeat(32) })));
  return targets.map((target) => ('url' in target ? target.url : ''));
}

it('three questions are answered at four processes that share their secret', async () => {
  const urls = await processes(['a', 'a', 'a', 'a']);
  let params: Json = {};
  for (const url of urls.slice(0, -1)) params = answered(await post(url, params));

  const { result } = await post(urls.at(-1) ?? '', params);
  expect(result).toMatchObject({ content: [{ text: expect.stringMatching(/^Ann, green, soup; process \d+$/) }] });
});

it('a process with another secret refuses the round', async () => {
  const [first = '', other = ''] = await processes(['a', 'b']);
  const params = answered(await post(first, {}));

  expect((await post(other, params)).error).toMatchObject({ code: -32_602 });
  // Nothing was used up by that.
  expect((await post(first, params)).result).toMatchObject({ resultType: 'input_required' });
});

it('a state that was altered, or is for another tool or other arguments, is refused', async () => {
  const [url = ''] = await processes(['a']);
  const params = answered(await post(url, {}));
  const state = String(params['requestState']);
  const middle = Math.floor(state.length / 2);
  const altered = `${state.slice(0, middle)}${state[middle] === 'A' ? 'B' : 'A'}${state.slice(middle + 1)}`;

  for (const refused of [
    await post(url, { ...params, requestState: altered }),
    await post(url, { ...params, requestState: '' }),
    await post(url, { ...params, requestState: 7 }),
    await post(url, { ...params, arguments: { other: true } }),
    await post(url, params, 'visit'),
  ]) {
    expect(refused).toMatchObject({ error: { code: -32_602 } });
  }
  expect((await post(url, params)).result).toMatchObject({ resultType: 'input_required' });
});
