// A server over the standard streams of its own process, which may print as it likes.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect, it, onTestFinished } from 'vitest';

import { until } from '../helpers/until.js';

const cwd = fileURLToPath(new URL('../../', import.meta.url));

const TALKATIVE = `
  import { createPluggableStdioTransport, MCPServer } from 'espalier/server';
  console.log('before');
  const server = new MCPServer({
    name: 'talkative',
    nativeExecution: true,
    runtime: { tools: { list: () => [{ name: 'echo', execute: async ({ text }) => ({ echoed: text }) }] } },
  });
  server.register({
    name: 'talk',
    inputSchema: { type: 'object' },
    handler() {
      console.log('log');
      console.info('info');
      console.table([1]);
      process.stdout.write('written\\n');
      process.stdout.write(Buffer.from('bytes\\n'), () => console.error('called back'));
      return 'talked';
    },
  });
  await server.start(createPluggableStdioTransport());
  console.log('after');
`;

it('serves the official client, and what else is printed goes to standard error', async () => {
  const args = ['--input-type=module', '--eval', TALKATIVE.replace("console.log('before');", '')];
  const transport = new StdioClientTransport({ command: process.execPath, args, cwd, stderr: 'pipe' });
  let stderr = '';
  transport.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const client = new Client({ name: 'test', version: '1' });
  onTestFinished(async () => client.close());
  await client.connect(transport);
  expect(client.getServerVersion()).toMatchObject({ name: 'talkative' });
  expect((await client.listTools()).tools.map(({ name }) => name).toSorted()).toEqual(['echo', 'talk']);
  expect(await client.callTool({ name: 'talk' })).toMatchObject({ content: [{ text: 'talked' }] });
  expect(await client.callTool({ name: 'echo', arguments: { text: 'a' } })).toMatchObject({
    structuredContent: { echoed: 'a' },
  });
  for (const word of ['after', 'log', 'info', 'written', 'bytes', 'called back']) {
    await until(word, () => stderr.includes(word));
  }
});

it('ends with its input, without being stopped', async () => {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', TALKATIVE], { cwd });
  let stdout = '';
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stdin.end(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })}\n`);
  const [code] = (await once(child, 'close')) as [number];
  expect(code).toBe(0);
  expect(stdout).toContain('before\n{"jsonrpc":"2.0","id":1,"result":{}}\n');
});

it('gives standard output back when it stops, and the process ends by itself', async () => {
  const source = `${TALKATIVE}
    await server.stop();
    console.log('stopped');
  `;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', source], { cwd });
  const output = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk: Buffer) => (output.stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (output.stderr += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number];
  expect({ code, ...output }).toEqual({ code: 0, stdout: 'before\nstopped\n', stderr: 'after\n' });
});

it('leaves a process alone that only imports it, or makes a server without starting it', async () => {
  const source = `
    import { MCPServer } from 'espalier/server';
    const server = new MCPServer();
    server.register({ name: 'a', inputSchema: {}, handler: () => 'ran' });
    console.log(JSON.stringify([await server.callTool('a'), (await server.listTools()).length]));
  `;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', source], { cwd });
  let stdout = '';
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number];
  expect({ code, stdout }).toEqual({ code: 0, stdout: '[{"success":true,"output":"ran"},1]\n' });
});
