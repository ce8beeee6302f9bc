// Schemas of tools, as JSON Schema. A schema of a validation library converts itself, or is converted by its own package;
// no library is bundled.

import { createRequire } from 'node:module';
import { join } from 'node:path';
import { type Bag, isHost, isObject } from './check.js';

type Side = 'input' | 'output';

/** Throws for what is no schema, and for one that cannot be converted. */
export function toJsonSchema(schema: unknown, side: Side): Bag {
  if (!isHost(schema)) throw new TypeError('it is no object');
  const converted = '~standard' in schema ? convert(schema as Standard, side) : schema;
  if (!isObject(converted)) throw new TypeError('it is no JSON Schema');
  return converted;
}

/** The schema of a tool's input: the protocol wants that of an object, and says so in its `type`. */
export function inputSchemaOf(schema: unknown): Bag {
  if (schema === undefined) return { type: 'object' };
  const converted = toJsonSchema(schema, 'input');
  const { type } = converted;
  if (type === undefined) return { ...converted, type: 'object' };
  if (type !== 'object') throw new TypeError('it describes no object');
  return converted;
}

interface Standard {
  readonly '~standard'?: { readonly jsonSchema?: unknown } | null;
  readonly _zod?: unknown;
}

function convert(schema: Standard, side: Side): unknown {
  const own = schema['~standard']?.jsonSchema;
  if (isHost(own)) {
    const converter = (own as Record<Side, unknown>)[side];
    if (typeof converter === 'function') {
      return (Reflect.apply as (call: unknown, self: object, args: unknown[]) => unknown)(converter, own, [
        { target: TARGET },
      ]);
    }
  }
  if (schema._zod !== undefined) {
    const toJSONSchema = findZod();
    if (toJSONSchema !== undefined) return toJSONSchema(schema, { io: side, target: TARGET });
  }
  throw new TypeError('it has no JSON Schema: give one, or a schema of a library that converts (~standard.jsonSchema)');
}

type ToJsonSchema = (schema: unknown, options: { io: Side; target: string }) => unknown;

/** The early schemas of Zod 4 do not convert themselves: the function stands beside them, in the package of the program. */
function findZod(): ToJsonSchema | undefined {
  for (const from of [process.argv[1], join(process.cwd(), 'package.json')]) {
    if (from === undefined) continue;
    try {
      const zod = createRequire(from)('zod') as { toJSONSchema?: unknown };
      if (typeof zod.toJSONSchema === 'function') return zod.toJSONSchema as ToJsonSchema;
    } catch {
      // There is no Zod to be found from there.
    }
  }
  return undefined;
}

const TARGET = 'draft-2020-12';
