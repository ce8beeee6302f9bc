// Subject: the official TypeScript client, version 2, over its own HTTP transport.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

import { startOfficial } from './start-official.mjs';

export const start = ({ server }) => startOfficial(server, Client, StreamableHTTPClientTransport);
