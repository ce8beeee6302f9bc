// The core's server, as the facade uses it.

import { native } from '../native.js';
import type { NativeReply } from '../../native/binding.cjs';

export interface NativeContent {
  uri: string;
  mimeType?: string;
  text?: string;
  blob?: Uint8Array;
  meta?: string;
}

export interface NativeJob {
  kind: string;
  id?: number;
  runtime?: number;
  caller?: string;
  name?: string;
  text?: string;
  answers?: string;
  failure?: NonNullable<NativeReply['failure']>;
}

export interface NativeAnswer {
  id: number;
  kind: string;
  text?: string;
  reference?: string;
  runtime?: number;
  cacheable?: boolean;
  contents?: NativeContent[];
}

export interface NativeQuestion {
  id: number;
  key: string;
  method: string;
  params: string;
}

export interface NativeServer {
  configure(options: string, secret?: Uint8Array): NativeReply;
  offer(facts: string): void;
  changed(kind: string, runtime?: number): void;
  addTemplate(uriTemplate: string): NativeReply;
  removeTemplate(number: number): void;
  setSession(sessionId: string, runtime: number, tenantId?: string): void;
  removeSession(sessionId: string): void;
  forget(runtime: number): void;
  resourceUpdated(uri: string): void;
  answer(batch: NativeAnswer[]): void;
  progress(job: number, done: number, total?: number, message?: string): void;
  log(job: number, level: string, data: string): NativeReply;
  ask(job: number, questions: NativeQuestion[]): void;
  closeStream(job: number, retryMs?: number): void;
  listTools(id: number): void;
  reference(): NativeReply;
  startStdio(id: number, own: boolean, limits: string): void;
  input(bytes: Uint8Array): void;
  inputEnded(): void;
  written(ok: boolean): void;
  stop(): void;
  release(): void;
  stats(): string;
}

interface Later {
  NativeServer: new (deliver: (jobs: NativeJob[]) => void) => NativeServer;
  nativeValidateArguments(schema: string, args: string, full: boolean): NativeReply;
  nativeCheckStdioLimits(options: string): NativeReply;
  nativeMimeTypes(): string;
  NATIVE_FALLBACK_MIME_TYPE: string;
  NATIVE_DEFAULT_PROJECTED_TOOLS: number;
  NATIVE_ADAPTER_RESOURCE_CACHE_TTL_MS: number;
  NATIVE_ADAPTER_RESOURCE_CACHE_MAX_KEYS: number;
  NATIVE_INVALID_PARAMS: number;
  NATIVE_MISSING_CLIENT_CAPABILITY: number;
}

export const later: Later = native as unknown as Later;
