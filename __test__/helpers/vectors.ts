import { readFileSync } from 'node:fs';

/** The parts of the shared vectors that these tests use. */
export interface Vectors {
  toolNames: { server: string; tool: string; projected: string }[];
  fnv1a32Base36: { text: string; hash: string }[];
  estimateTokens: [text: string, tokens: number][];
  deferredSchemas: { id: string; inputText: string | null; outputText: string }[];
  tiers: TierVector[];
  toolResults: { result: unknown; value?: unknown; rejectsWithMessage?: string; rejects?: boolean }[];
  toolArguments: {
    vectors: { raw: unknown; arguments: unknown }[];
    undefinedBecomes: unknown;
    inputValidate: { raw: unknown; value: unknown }[];
  };
}

/** One server's tools under one budget. */
export interface TierVector {
  id: string;
  budget: number;
  tools: { name: string; description: string; inputSchema: unknown }[];
  inlineTokens: number;
  catalogTokens: number;
  mode: 'inline' | 'names' | 'bare';
  describeToolPresent: boolean;
  toolCount: number;
  promptTokens?: number;
  diagnostics: [rule: string, origin: string][];
  firstToolDescriptionHasDeferredSuffix: boolean;
  firstToolSchemaText: string;
}

/** Expected values, computed with the reference functions. */
export const vectors = JSON.parse(readFileSync(new URL('../vectors/client.json', import.meta.url), 'utf8')) as Vectors;

/** FNV-1a, 32 bit, over UTF-16 code units, in base 36: an independent second implementation. */
export function fnv1a32(text: string): string {
  let hash = 0x81_1c_9d_c5;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01_00_01_93) >>> 0;
  }
  return hash.toString(36);
}
