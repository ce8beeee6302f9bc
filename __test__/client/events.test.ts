// `toolset.on`: who hears of the states of servers and of what they offer.

import type { McpServerStatus, McpToolset } from 'espalier/node';
import { describe, expect, it, onTestFinished } from 'vitest';

import { connect } from '../helpers/connect.js';
import { mcpError } from '../helpers/errors.js';
import { scripted, toolEntry } from '../helpers/scripted.js';
import { until } from '../helpers/until.js';

function mortal(name = 'srv') {
  return scripted(name, {
    tools: [toolEntry('t'), toolEntry('dies'), toolEntry('news'), toolEntry('never')],
    calls: {
      never: [[]],
      dies: [[{ exit: 3 }]],
      news: [[{ message: { method: 'notifications/prompts/list_changed' } }, { default: true }]],
    },
  });
}

function states(toolset: McpToolset): McpServerStatus[] {
  const heard: McpServerStatus[] = [];
  toolset.on('status', (status) => void heard.push(status));
  return heard;
}

describe('the status event', () => {
  it('follows a server through its death, its return and the end, as `servers()` has it', async () => {
    const { toolset } = await connect([mortal('a').config, mortal('b').config]);
    const heard = states(toolset);
    await mcpError(toolset.call('a__dies'), 'connection-lost');
    await until('its death', () => heard.length === 1);
    expect(heard[0]).toMatchObject({ name: 'a', projectedName: 'a', state: 'unavailable', era: 'session', tools: 4 });
    expect(Object.keys(heard[0] ?? {})).toEqual(Object.keys(toolset.servers()[0] ?? {}));

    await toolset.call('a__t');
    await until('its return', () => heard.at(-1)?.state === 'ready');
    expect(heard.map(({ state }) => state)).toEqual(['unavailable', 'connecting', 'ready']);
    expect(heard.every(({ name }) => name === 'a')).toBe(true);
    heard.length = 0;
    await toolset.close();
    await toolset.close();
    expect(heard.map(({ name, state }) => [name, state])).toEqual([
      ['a', 'closed'],
      ['b', 'closed'],
    ]);
  });

  it('says nothing while nothing changes', async () => {
    const { toolset } = await connect([mortal().config]);
    const heard = states(toolset);
    for (let n = 0; n < 5; n += 1) await toolset.call('srv__t');
    await mcpError(toolset.call('srv__never', {}, { timeoutMs: 100 }), 'timeout');

    expect(heard).toEqual([]);
  });
});

describe('a listener', () => {
  it('hears in the order in which it came, may listen twice, and leaves once', async () => {
    const { toolset } = await connect([mortal().config]);
    const heard: string[] = [];
    const same = () => void heard.push('same');
    const offFirst = toolset.on('change', same);
    toolset.on('change', () => void heard.push('other'));
    const offSecond = toolset.on('change', same);
    await toolset.call('srv__news');
    await until('the first change', () => heard.length === 3);
    expect(heard).toEqual(['same', 'other', 'same']);

    heard.length = 0;
    offFirst();
    offFirst();
    await toolset.call('srv__news');
    await until('the second change', () => heard.length === 2);
    expect(heard).toEqual(['other', 'same']);
    offSecond();
  });

  it('that throws or rejects becomes a warning and costs nobody anything', async () => {
    const warned: string[] = [];
    const listener = (warning: Error) => void warned.push(`${warning.name}: ${warning.message}`);
    process.on('warning', listener);
    onTestFinished(() => void process.off('warning', listener));
    const { toolset } = await connect([mortal().config]);
    const heard: unknown[] = [];
    toolset.on('change', () => {
      throw new Error('on purpose');
    });
    toolset.on('change', () => Promise.reject(new Error('later on purpose')) as never);
    toolset.on('change', (change) => void heard.push(change));
    await toolset.call('srv__news');
    await until('both warnings', () => warned.length === 2);

    expect(heard).toEqual([{ server: 'srv', what: 'prompts' }]);
    expect(warned).toEqual([
      'EspalierWarning: change threw: on purpose',
      'EspalierWarning: change threw: later on purpose',
    ]);
  });

  it('that is added or taken out by another one while it is told hears the next event, or not', async () => {
    const { toolset } = await connect([mortal().config]);
    const heard: string[] = [];
    const offOther = toolset.on('change', () => {
      heard.push('first');
      toolset.on('change', () => void heard.push('added'));
    });
    await toolset.call('srv__news');
    await until('the first change', () => heard.length === 1);
    offOther();
    await toolset.call('srv__news');
    await until('the second change', () => heard.length === 2);

    expect(heard).toEqual(['first', 'added']);
  });

  it.each(['changed', '', '__proto__', 'constructor', undefined, 7])('of no event is refused: %j', async (event) => {
    const { toolset } = await connect([]);
    const on = () => toolset.on(event as never, () => {});
    expect(on).toThrow(expect.objectContaining({ code: 'invalid-option' }));
  });

  it.each([undefined, null, 'x', {}])('that is %j is refused', async (listener) => {
    const { toolset } = await connect([]);
    expect(() => toolset.on('change', listener as never)).toThrow(expect.objectContaining({ code: 'invalid-option' }));
  });
});
