// Subject: the ceiling. What is left of a client when everything is taken away that makes it one: no timeouts, no
// signals, no checks, no errors. A Map of pending calls, lines out, lines in. Lines of one turn of the microtask queue
// leave in one write; with one call at a time that is at once.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { StringDecoder } from 'node:string_decoder';

export async function start({ server }) {
  const child = spawn(server.command, server.args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const pending = new Map();
  let lastId = 0;

  let out = '';
  function send(message) {
    if (out === '') queueMicrotask(flush);
    out += `${JSON.stringify(message)}\n`;
  }
  function flush() {
    const lines = out;
    out = '';
    child.stdin.write(lines);
  }

  const decoder = new StringDecoder('utf8');
  let rest = '';
  child.stdout.on('data', (chunk) => {
    const lines = (rest + decoder.write(chunk)).split('\n');
    rest = lines.pop();
    for (const line of lines) {
      const { id, result } = JSON.parse(line);
      const resolve = pending.get(id);
      pending.delete(id);
      resolve(result);
    }
  });

  function request(method, params) {
    return new Promise((resolve) => {
      const id = ++lastId;
      pending.set(id, resolve);
      send({ jsonrpc: '2.0', id, method, params });
    });
  }

  await request('initialize', {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'bench', version: '0.0.0' },
  });
  send({ jsonrpc: '2.0', method: 'notifications/initialized' });

  return {
    async call(text) {
      const { content } = await request('tools/call', { name: 'echo', arguments: { text } });
      return content[0].text;
    },
    async close() {
      child.stdin.end();
      await once(child, 'close');
    },
  };
}
