// Subject: the official TypeScript client, version 1, over its own HTTP transport.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

import { startOfficial } from './start-official.mjs';

export const start = ({ server }) => startOfficial(server, Client, StreamableHTTPClientTransport);
