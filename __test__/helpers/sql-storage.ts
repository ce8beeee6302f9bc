import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';

import type { McpSqlStorage } from 'espalier/node';
import { onTestFinished } from 'vitest';

/** What is used of it. Its published types are those of a browser. */
interface SqlJs {
  Database: new (file: Uint8Array | null) => {
    prepare(query: string): {
      bind(values: unknown[]): void;
      step(): boolean;
      getAsObject(): Record<string, unknown>;
      free(): void;
    };
    export(): Uint8Array;
    close(): void;
  };
}

const require = createRequire(import.meta.url);
const start = require('sql.js') as () => Promise<SqlJs>;
const { Database } = await start();

/** A database of the running test's own that is no part of the package, with what was said to it. */
export interface SqlDatabase extends McpSqlStorage {
  /** The statements so far. */
  readonly statements: string[];
  /** Keeps a copy of it in a file. */
  copyTo(file: string): void;
}

/** Opens one, on a copy of a file or in memory. Statements are only carried out while their rows are read. */
export function sqlDatabase(file?: string): SqlDatabase {
  const database = new Database(file === undefined ? null : readFileSync(file));
  onTestFinished(() => database.close());
  const statements: string[] = [];
  return {
    statements,
    *exec(query, ...bindings) {
      statements.push(query);
      const statement = database.prepare(query);
      try {
        statement.bind(bindings);
        while (statement.step()) yield statement.getAsObject();
      } finally {
        statement.free();
      }
    },
    copyTo: (to) => writeFileSync(to, database.export()),
  };
}
