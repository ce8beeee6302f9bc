// What a file adds to a store: other processes, other programs, and a disk that does not do as it is told.

import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import {
  createSqliteMcpConnectionStore,
  mcpTools,
  type McpConnectionStore,
  type McpSqlStorage,
  type PersistedServer,
} from 'espalier/node';
import { describe, expect, it, onTestFinished } from 'vitest';

import { mcpError, rejection } from '../helpers/errors.js';
import { program } from '../helpers/programs.js';
import { sqlDatabase } from '../helpers/sql-storage.js';
import { workspace } from '../helpers/workspace.js';

const row: PersistedServer = {
  id: 'docs',
  name: 'docs',
  type: 'sse',
  url: 'https://mcp.example.com/mcp',
  tools: [{ name: 'search' }],
  toolFingerprints: { search: 'one' },
};

const FOUR_COLUMNS = `CREATE TABLE mcp_servers (id TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL,
  type TEXT NOT NULL CHECK (type IN ('streamable-http','sse')), url TEXT NOT NULL)`;
const FIVE_COLUMNS = FOUR_COLUMNS.replace(/\)$/, ', tools TEXT)');

function newFile(): string {
  return path.join(workspace(), 'rows.sqlite');
}

function open(file: string): Required<McpConnectionStore> {
  const store = createSqliteMcpConnectionStore(file);
  onTestFinished(async () => await store.close());
  return store;
}

function run(storage: McpSqlStorage, statement: string, ...values: unknown[]): Record<string, unknown>[] {
  return [...storage.exec(statement, ...values)];
}

describe('a store on a file', () => {
  it('keeps its rows when it is closed, and then does no more', async () => {
    const file = newFile();
    const store = open(file);
    await store.save(row);
    await store.close();
    await store.close();

    expect((await mcpError(Promise.resolve(store.list()), 'store')).message).toContain(file);
    expect(await open(file).list()).toEqual([row]);
    expect(existsSync(`${file}-wal`) && statSync(`${file}-wal`).size > 0).toBe(false);
  });

  it('does what it is asked in order, without being waited for', async () => {
    const store = open(newFile());
    const saved = Array.from({ length: 50 }, (_, n) => store.save({ ...row, id: `s${n}` }));
    const removed = store.remove('s7');
    const listed = await store.list();
    await Promise.all([...saved, removed]);

    expect(listed.map(({ id }) => id)).toEqual(
      Array.from({ length: 50 }, (_, n) => `s${n}`).filter((id) => id !== 's7'),
    );
  });

  it('writes what was saved before the process ends, and holds no process that has nothing to save', async () => {
    const file = newFile();
    const writer = program(
      `import { createSqliteMcpConnectionStore } from 'espalier';
       createSqliteMcpConnectionStore(input.file).save(input.row).then(() => say('saved'));`,
      { input: { file, row } },
    );
    const { code, stdout } = await writer.ended();

    expect({ code, stdout }).toEqual({ code: 0, stdout: 'saved null\n' });
    expect(await open(file).list()).toEqual([row]);
  });

  it('makes the tables that others read, and reads those that others made', async () => {
    const file = newFile();
    const store = open(file);
    await store.save(row);
    await store.close();
    const database = sqlDatabase(file);

    expect(run(database, 'SELECT * FROM mcp_servers')).toEqual([
      {
        id: 'docs',
        name: 'docs',
        type: 'sse',
        url: 'https://mcp.example.com/mcp',
        tools: '[{"name":"search"}]',
        tool_fingerprints: '{"search":"one"}',
      },
    ]);
    expect(createSqliteMcpConnectionStore(database).list()).toEqual([row]);
  });

  it('shares its file with another process, and the first baseline stays', async () => {
    const file = newFile();
    const store = open(file);
    await store.save(row);
    const other = program(
      `import { createSqliteMcpConnectionStore } from 'espalier';
       const store = createSqliteMcpConnectionStore(input.file);
       for (let n = 0; n < 30; n += 1) {
         await store.save({ ...input.row, id: 's' + n, toolFingerprints: { search: 'theirs' } });
         await store.save({ ...input.row, toolFingerprints: { search: 'theirs' } });
       }`,
      { input: { file, row } },
    );
    for (let n = 0; n < 30; n += 1) {
      await store.save({ ...row, id: `s${n}`, toolFingerprints: { search: 'ours' } });
    }
    expect((await other.ended()).code).toBe(0);

    const rows = await store.list();
    expect(rows).toHaveLength(31);
    expect(rows[0]).toEqual(row);
    for (const { toolFingerprints } of rows.slice(1))
      expect(['ours', 'theirs']).toContain(toolFingerprints?.['search']);
  });

  it.each([
    ['no database at all', 'a diary\n'.repeat(2000), 'is not an SQLite database'],
    ['an empty header', 'SQLite format 3\u0000'.padEnd(5000, '\u0000'), 'SQLite'],
  ])('leaves a file that is %s as it is and says so', async (_what, text, words) => {
    const file = newFile();
    writeFileSync(file, text, 'latin1');
    const store = open(file);
    for (const work of [() => store.list(), () => store.save(row), () => store.remove('docs')]) {
      const error = await mcpError(Promise.resolve(work()), 'store');
      expect(error.message).toContain(file);
      expect(error.message).toContain(words);
    }
    // Nothing can be trusted without it, so that nothing is started either.
    await mcpError(mcpTools([], { storage: store }), 'store');

    expect(readFileSync(file, 'latin1')).toBe(text);
  });

  it('names a path that leads nowhere', async () => {
    const file = path.join(workspace(), 'no', 'such', 'folder', 'rows.sqlite');
    const error = await mcpError(Promise.resolve(open(file).list()), 'store');

    expect(error.message).toContain(file);
  });

  it('serves the rows of a file that may only be read, and says that it cannot write', async () => {
    const file = newFile();
    const store = open(file);
    await store.save(row);
    await store.close();
    chmodSync(file, 0o444);
    chmodSync(path.dirname(file), 0o777);
    // Nobody is stopped by permissions who is root.
    const reader = program(
      `import { createSqliteMcpConnectionStore } from 'espalier';
       if (process.getuid?.() === 0) process.setuid(65534);
       const store = createSqliteMcpConnectionStore(input.file);
       say('rows', await store.list());
       const error = await store.save(input.row).catch((error) => error);
       say('error', { code: error.code, message: error.message });`,
      { input: { file, row } },
    );

    expect(await reader.says('rows')).toEqual([row]);
    expect(await reader.says('error')).toEqual({
      code: 'store',
      message: `the connection store ${file} may not be written`,
    });
  });

  it('waits for the lock of another process', async () => {
    const file = newFile();
    const store = open(file);
    await store.save(row);
    const holder = program(
      `import { createSqliteMcpConnectionStore } from 'espalier';
       import { createRequire } from 'node:module';
       const store = createSqliteMcpConnectionStore(input.file);
       const busy = [];
       for (let n = 0; n < 200; n += 1) busy.push(store.save({ ...input.row, id: 'h' + n }));
       say('busy');
       await Promise.all(busy);`,
      { input: { file, row } },
    );
    await holder.says('busy');
    await store.save({ ...row, id: 'mine' });
    await holder.ended();

    expect(await store.list()).toHaveLength(202);
  });

  it.each([['a folder', (file: string) => mkdirSync(file)]])('names a path that is %s', async (_what, make) => {
    const file = newFile();
    make(file);

    expect((await mcpError(Promise.resolve(open(file).list()), 'store')).message).toContain(file);
  });

  it.each(['', 'with\u0000nul', 5, undefined, null, {}, { exec: 'no function' }])(
    'refuses %j, which is neither a path nor a storage',
    (target) => {
      const create = (): unknown => createSqliteMcpConnectionStore(target as string);

      expect(create).toThrow(expect.objectContaining({ code: 'invalid-option' }));
    },
  );
});

describe.each([
  ['four', FOUR_COLUMNS, undefined],
  ['five', FIVE_COLUMNS, [{ name: 'search' }]],
])('a table with %s columns', (_count, create, tools) => {
  function old(): ReturnType<typeof sqlDatabase> {
    const database = sqlDatabase();
    run(database, create);
    const columns = tools === undefined ? '' : `, '${JSON.stringify(tools)}'`;
    run(database, `INSERT INTO mcp_servers VALUES ('docs', 'docs', 'sse', 'https://mcp.example.com/mcp'${columns})`);
    return database;
  }
  const { toolFingerprints: _, tools: __, ...bare } = row;
  const before = tools === undefined ? bare : { ...bare, tools };

  it('gains what it lacks in a file', async () => {
    const file = newFile();
    old().copyTo(file);
    const store = open(file);

    expect(await store.list()).toEqual([before]);
    await store.save(row);
    expect(await store.list()).toEqual([row]);
  });

  it('gains what it lacks in a database of the caller, once', async () => {
    const database = old();
    const store = createSqliteMcpConnectionStore(database);

    expect(store.list()).toEqual([before]);
    await store.save(row);
    expect(createSqliteMcpConnectionStore(database).list()).toEqual([row]);
    expect(database.statements.filter((statement) => statement.startsWith('ALTER'))).toHaveLength(
      tools === undefined ? 2 : 1,
    );
  });
});

describe('a store over a database of the caller', () => {
  it('says what its exec threw, which is the cause', async () => {
    const cause = new Error('no space left');
    const database = sqlDatabase();
    const store = createSqliteMcpConnectionStore({
      exec(query, ...bindings) {
        if (query.startsWith('INSERT')) throw cause;
        return database.exec(query, ...bindings);
      },
    });
    const error = await mcpError((async () => store.save(row))(), 'store');

    expect(error.message).toContain('no space left');
    expect(error.cause).toBe(cause);
    expect(store.list()).toEqual([]);
  });

  it('speaks one statement at a time and opens no transaction of its own', async () => {
    const database = sqlDatabase();
    const store = createSqliteMcpConnectionStore(database);
    await store.save(row);
    await store.save(row);
    await store.remove('docs');

    for (const statement of database.statements) {
      expect(statement).not.toMatch(/;|\b(BEGIN|COMMIT|SAVEPOINT|ROLLBACK)\b/i);
    }
  });

  it('is not fooled by a baseline that another user records between its two looks', async () => {
    const database = sqlDatabase();
    createSqliteMcpConnectionStore(database);
    let raced = false;
    const store = createSqliteMcpConnectionStore({
      exec(query, ...bindings) {
        // The first write of a save: until now there was no row.
        if (query.startsWith('INSERT') && !raced) {
          raced = true;
          void createSqliteMcpConnectionStore(database).save(row);
        }
        return database.exec(query, ...bindings);
      },
    });
    await store.save({ ...row, tools: [{ name: 'search', description: 'Obey' }], toolFingerprints: { search: 'two' } });

    expect(raced).toBe(true);
    expect((store.list() as PersistedServer[])[0]?.toolFingerprints).toEqual({ search: 'one' });
  });

  it('does not throw for cells that are odd', async () => {
    const database = sqlDatabase();
    const store = createSqliteMcpConnectionStore(database);
    run(database, "INSERT INTO mcp_servers VALUES ('docs', 'docs', 'sse', 'u', x'00ff', 7)");

    expect(store.list()).toEqual([{ id: 'docs', name: 'docs', type: 'sse', url: 'u' }]);
    await store.save(row);
    expect(store.list()).toEqual([row]);
    expect(await rejection((async () => store.save({ ...row, type: 'stdio' as 'sse' }))())).toMatchObject({
      code: 'store',
    });
  });
});
