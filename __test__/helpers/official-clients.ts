import { onTestFinished } from 'vitest';

import type { Json } from './wire.js';

/** Where a server is: a program on standard input and output, Streamable HTTP, or HTTP+SSE. */
export type Target = { command: string; args: string[] } | { url: string } | { sse: string };

export interface OfficialOptions {
  /** `stateless` is for version 2 alone. */
  era?: 'session' | 'stateless';
  capabilities?: Json;
  /** What answers the questions of the server, by their method. */
  answers?: Record<string, (params: Json) => Json>;
}

/** An official client that is connected. In the stateless era it does the same by other means. */
export interface OfficialClient {
  /** The notifications that it was not waiting for by itself. */
  readonly told: { method: string; params: Json }[];
  capabilities(): Json;
  instructions(): string | undefined;
  serverInfo(): Json;
  ping(): Promise<unknown>;
  tools(params?: Json): Promise<{ tools: Json[]; nextCursor?: string }>;
  resources(params?: Json): Promise<{ resources: Json[]; nextCursor?: string }>;
  templates(params?: Json): Promise<{ resourceTemplates: Json[] }>;
  prompts(params?: Json): Promise<{ prompts: Json[]; nextCursor?: string }>;
  call(name: string, args?: Json, options?: CallOptions): Promise<{ content: Json[] } & Json>;
  read(uri: string): Promise<{ contents: Json[] }>;
  prompt(name: string, args?: Record<string, string>): Promise<Json>;
  complete(ref: Json, argument: { name: string; value: string }, context?: Json): Promise<Json>;
  /** Wants log messages of a level and above. */
  logFrom(level: string): Promise<void>;
  subscribe(uri: string): Promise<void>;
  unsubscribe(uri: string): Promise<void>;
  /** Wants to be told of changed lists. */
  follow(): Promise<void>;
  close(): Promise<void>;
}

interface CallOptions {
  onProgress?: (progress: Json) => void;
  signal?: AbortSignal;
}

/** Connects an official client for the running test. */
export async function officialClient(
  version: 'v1' | 'v2',
  target: Target,
  options: OfficialOptions = {},
): Promise<OfficialClient> {
  const { connect } = (await import('../fixtures/official/clients.mjs')) as {
    connect: (version: string, target: Target, options: OfficialOptions) => Promise<OfficialClient>;
  };
  const client = await connect(version, target, options);
  onTestFinished(() => client.close());
  return client;
}

/** The text of the first block of a result. */
export function textOf(result: { content: Json[] }): unknown {
  return result.content[0]?.['text'];
}
