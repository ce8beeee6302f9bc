// A process that writes a store file and is killed at some point leaves a file that opens, with every baseline that was
// recorded. `ESPALIER_SOAK` asks for the full count.

import { existsSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { createSqliteMcpConnectionStore, type PersistedServer } from 'espalier/node';
import { expect, it, onTestFinished } from 'vitest';

import { program } from '../helpers/programs.js';
import { workspace } from '../helpers/workspace.js';

const kills = process.env['ESPALIER_SOAK'] === undefined ? 12 : 200;

// Saves as fast as it can: known rows under other baselines, new rows, rows that go and come; and says what it has done.
const WRITER = `
  import { createSqliteMcpConnectionStore } from 'espalier';
  const store = createSqliteMcpConnectionStore(input.file);
  const row = (id, tag) => ({
    id, name: id, type: 'sse', url: 'https://' + id + '.example/mcp',
    tools: Array.from({ length: 20 }, (_, n) => ({ name: 't' + n, description: tag.repeat(20) })),
    toolFingerprints: { t0: tag },
  });
  await store.list();
  say('ready');
  for (let n = 0; ; n += 1) {
    const tag = input.tag + '-' + n;
    await Promise.all([
      store.save(row('s' + (n % 30), tag)),
      store.save(row('new-' + tag, tag)).then(() => say('recorded', 'new-' + tag)),
      store.remove('fleeting'),
      store.save(row('fleeting', tag)),
    ]);
  }
`;

it(
  `${kills} kills lose and replace no baseline`,
  async () => {
    const file = path.join(workspace(), 'rows.sqlite');
    const known = new Map<string, string>();
    let written = 0;
    for (let kill = 0; kill < kills; kill += 1) {
      const writer = program(WRITER, { input: { file, tag: String(kill) } });
      await writer.says('ready');
      // Somewhere within the work; the place is what the scheduler makes of it.
      await sleep(Math.random() * 60);
      writer.process.kill('SIGKILL');
      const { stdout } = await writer.ended();

      const store = createSqliteMcpConnectionStore(file);
      onTestFinished(() => store.close());
      const rows = new Map((await store.list()).map((row) => [row.id, row]));
      await store.close();
      const recorded = stdout
        .split('\n')
        .slice(0, -1)
        .filter((line) => line.startsWith('recorded '))
        .map((line) => JSON.parse(line.slice('recorded '.length)) as string);
      written += recorded.length;
      for (const id of recorded) expect(rows.has(id), `${id}, which was recorded before kill ${kill}`).toBe(true);
      for (const [id, digest] of known) expect(baselineOf(rows.get(id)), id).toBe(digest);
      for (const [id, row] of rows) if (id !== 'fleeting') known.set(id, baselineOf(row) ?? '');
    }

    expect(existsSync(file)).toBe(true);
    expect(written).toBeGreaterThan(0);
    if (process.env['ESPALIER_SOAK'] !== undefined) {
      console.log(`${kills} kills, ${known.size} baselines, ${written} of them told before their writer was killed`);
    }
  },
  60_000 + kills * 3_000,
);

function baselineOf(row: PersistedServer | undefined): string | undefined {
  return row?.toolFingerprints?.['t0'];
}
