// Subject: this package. Another process connects the servers first and leaves their rows in a file.

import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { createSqliteMcpConnectionStore, mcpTools, rebuildMcpToolsFromStorage } from 'espalier';

import { startHttpEcho } from '../../lib/http-echo.mjs';

const REMEMBER = fileURLToPath(new URL('./remember.mjs', import.meta.url));

const options = {
  onDiagnostic({ rule, message }) {
    console.error(`espalier: ${rule}: ${message}`);
  },
};

export async function start({ server, servers, from, file }) {
  const peer = await startHttpEcho(server);
  const configs = peer.urls.map((url, i) => ({ type: 'streamable-http', name: `server-${i}`, url }));
  await promisify(execFile)(process.execPath, [REMEMBER, file, JSON.stringify(configs)]);
  const storage = createSqliteMcpConnectionStore(file);
  const closePeer = async () => {
    await storage.close();
    await peer.close();
  };
  if (from !== 'rows') return answering({ servers, from, configs, storage, closePeer });
  // The store was read before the clock starts.
  return silent({ servers, configs, rows: await storage.list(), closePeer });
}

/** The servers that were remembered: woken out of their file, or connected as if nobody knew them. */
function answering({ servers, from, configs, storage, closePeer }) {
  let toolset;
  return {
    servers,
    async ready() {
      toolset = await (from === 'servers'
        ? mcpTools(configs, options)
        : rebuildMcpToolsFromStorage(configs, { ...options, storage }, { stdio: false }));
      return toolset.tools;
    },
    async close() {
      await toolset?.reconciled;
      await toolset?.close();
      await closePeer();
    },
  };
}

/** In their place servers that take every connection and never say a word. */
async function silent({ servers, configs, rows, closePeer }) {
  const sockets = new Set();
  const listener = createServer((socket) => sockets.add(socket.on('error', () => {}))).listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const urls = new Map(configs.map(({ name }) => [name, `http://127.0.0.1:${listener.address().port}/${name}`]));
  const elsewhere = (one) => Object.assign({}, one, { url: urls.get(one.name) });
  const read = rows.map(elsewhere);
  let toolset;
  return {
    servers,
    silent: true,
    async ready() {
      const storage = { list: () => read, save() {}, remove() {} };
      toolset = await rebuildMcpToolsFromStorage(configs.map(elsewhere), { ...options, storage }, { stdio: false });
      return toolset.tools;
    },
    async close() {
      await toolset?.close();
      for (const socket of sockets) socket.destroy();
      listener.close();
      await closePeer();
    },
  };
}
