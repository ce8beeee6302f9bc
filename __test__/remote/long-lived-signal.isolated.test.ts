// One AbortSignal for all the calls of a long life: nothing of a call stays on it.

import { getEventListeners } from 'node:events';

import { expect, it } from 'vitest';

import { statelessServer } from '../fixtures/http/mcp.js';
import { connect } from '../helpers/connect.js';
import { http, over, overBoth } from '../helpers/remote.js';

const CALLS = 10_000;
const WARM_UP = 1000;
const AT_ONCE = 50;
const MEBIBYTE = 1024 * 1024;

overBoth((stack) => {
  it(`${CALLS} calls leave no listener, no warning, and memory as it was after the first ${WARM_UP}`, async () => {
    const warnings: string[] = [];
    const warned = (warning: Error): void => void warnings.push(String(warning));
    process.on('warning', warned);
    const server = await statelessServer();
    const { toolset } = await connect([http(server.url)], over(stack));
    const { signal } = new AbortController();

    const calls = async (count: number): Promise<void> => {
      for (let done = 0; done < count; done += AT_ONCE) {
        const round = Array.from({ length: AT_ONCE }, (_, n) => toolset.call('srv__echo', { n }, { signal }));
        expect(await Promise.all(round)).toHaveLength(AT_ONCE);
      }
      server.forget();
    };
    await calls(WARM_UP);
    const before = live();
    await calls(CALLS - WARM_UP);
    const grown = live() - before;
    process.off('warning', warned);

    expect(getEventListeners(signal, 'abort')).toEqual([]);
    expect(warnings).toEqual([]);
    if (process.env['ESPALIER_SOAK'] !== undefined) {
      const [first, more] = [before, grown].map((bytes) => (bytes / MEBIBYTE).toFixed(2));
      console.log(`live heap after ${WARM_UP}: ${first} MiB, grown by ${more} MiB`);
    }
    expect(grown).toBeLessThan(Math.max(before * 0.05, 5 * MEBIBYTE));
  }, 180_000);
});

function live(): number {
  globalThis.gc?.();
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
