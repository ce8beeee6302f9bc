import assert from 'node:assert/strict';
import { test } from 'node:test';

import { startHttpEcho } from './http-echo.mjs';

const program = (code) => ({ command: process.execPath, args: ['-e', code] });

test('the servers are there when their URLs are, and gone when they are closed', async () => {
  const serves = `console.log('["http://one/","http://two/"]'); process.stdin.resume()`;
  const peer = await startHttpEcho(program(serves));
  assert.deepEqual(peer.urls, ['http://one/', 'http://two/']);
  await peer.close();
});

test('a server that ends before it listens is an error, not a wait', async () => {
  await assert.rejects(startHttpEcho(program('process.exit(3)')), /ended before it listened/);
});
