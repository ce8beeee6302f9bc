// Subject: the same rules written down in plain JavaScript, the way one would: parse the listing, name the tools, choose a
// tier by counting characters, and take fingerprints with `fingerprintTools` of the AI SDK.

import { fingerprintTools, jsonSchema } from 'ai';

import { listing } from './listing.mjs';

const SUFFIX = ' Full input schema available via mcp__describe_tool.';
const BUDGET = 20_000;

export async function start({ tools }) {
  const page = new TextEncoder().encode(`{"jsonrpc":"2.0","result":${JSON.stringify(listing(tools))},"id":1}`);
  return {
    async project() {
      const { result } = JSON.parse(new TextDecoder().decode(page));
      return project('forge', result.tools);
    },
    async tidy() {},
    async close() {},
  };
}

async function project(server, listed) {
  const baseline = await fingerprintTools(
    Object.fromEntries(
      listed.map(({ name, description, inputSchema }) => [
        name,
        { description, inputSchema: jsonSchema(inputSchema ?? { type: 'object' }) },
      ]),
    ),
  );
  if (Object.keys(baseline).length !== listed.length) throw new Error('not every tool has a fingerprint');

  const tools = Object.create(null);
  const tier = chooseTier(listed);
  for (const { name: remote, description = remote, inputSchema = { type: 'object' } } of listed) {
    const name = projectedName(server, remote);
    if (name in tools) continue;
    const deferred = tier !== 'inline';
    const schema =
      tier === 'inline' ? inputSchema : tier === 'names' ? deferredSchema(inputSchema) : { type: 'object' };
    tools[name] = toTool(name, deferred ? description + SUFFIX : description, schema);
  }
  if (tier !== 'inline') {
    tools['mcp__describe_tool'] = toTool('mcp__describe_tool', 'Describes a tool.', { type: 'object' });
  }
  return tools;
}

function toTool(name, description, schema) {
  const copy = () => structuredClone(schema);
  return {
    name,
    description,
    input: {
      '~standard': {
        version: 1,
        vendor: 'plain',
        validate: (value) => ({ value }),
        jsonSchema: { input: copy, output: copy },
      },
    },
    replay: true,
    execute: async () => null,
  };
}

function chooseTier(listed) {
  const tokens = (text) => Math.ceil(text.length / 4);
  const whole = listed.map(
    ({ name, description, inputSchema }) => `${description ?? name}\n${JSON.stringify(inputSchema)}`,
  );
  if (tokens(whole.join('\n')) <= BUDGET) return 'inline';
  const names = listed.map(({ inputSchema }) => JSON.stringify(deferredSchema(inputSchema)));
  return tokens(names.join('\n')) <= BUDGET ? 'names' : 'bare';
}

function deferredSchema({ type, properties, required } = {}) {
  if (type !== 'object' || typeof properties !== 'object' || properties === null) return { type: 'object' };
  return {
    type,
    properties: Object.fromEntries(
      Object.entries(properties).map(([name, property]) => {
        const kind = Array.isArray(property?.type) ? property.type[0] : property?.type;
        return [name, { type: typeof kind === 'string' ? kind : 'string' }];
      }),
    ),
    ...(Array.isArray(required) && required.length > 0 ? { required } : {}),
  };
}

function projectedName(server, remote) {
  const qualified = `${server}__${remote}`;
  if (/^[a-zA-Z0-9_-]{1,64}$/.test(qualified)) return qualified;
  const suffix = `_${fnv1a(qualified)}`;
  return qualified.replaceAll(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64 - suffix.length) + suffix;
}

function fnv1a(text) {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193) >>> 0;
  }
  return hash.toString(36);
}
