import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { builtPlatform, pack, root, type Packed } from './packed.js';

const report = `
  try {
    await import('espalier/node');
    console.log(JSON.stringify({ loaded: true }));
  } catch (error) {
    console.log(JSON.stringify({ loaded: false, message: error.message, cause: error.cause !== undefined }));
  }
`;

interface Report {
  loaded: boolean;
  message: string;
  cause: boolean;
}

describe('loading without a usable platform package', () => {
  let packed: Packed;
  let platform: string;

  beforeAll(async () => {
    platform = await builtPlatform();
    packed = await pack({ platform: false });
  }, 120_000);
  afterAll(() => packed?.remove());

  it('says which system it is on, which package is missing and how that comes about', async () => {
    const { stdout } = await packed.run(report);
    const { loaded, message, cause } = JSON.parse(stdout) as Report;
    expect(loaded).toBe(false);
    expect(message).toContain('espalier');
    expect(message).toContain(process.platform);
    expect(message).toContain(process.arch);
    expect(message).toContain(`@espalier/binding-${platform}`);
    expect(message).toMatch(/optional/i);
    expect(cause).toBe(true);
  });

  it('says so as well when the file is there and cannot be loaded', async () => {
    const addon = join(packed.folder, 'node_modules/espalier/native', `espalier.${platform}.node`);
    await writeFile(addon, 'not an addon');
    const { stdout } = await packed.run(report);
    const { loaded, message, cause } = JSON.parse(stdout) as Report;
    expect(loaded).toBe(false);
    expect(message).toContain('espalier');
    expect(message).toContain(process.platform);
    expect(cause).toBe(true);
  });

  it('refuses an addon of another version than the package', async () => {
    const installed = join(packed.folder, 'node_modules/espalier');
    await copyFile(
      join(root, 'native', `espalier.${platform}.node`),
      join(installed, 'native', `espalier.${platform}.node`),
    );
    const manifest = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8')) as { version: string };
    await writeFile(join(installed, 'package.json'), JSON.stringify({ ...manifest, version: '99.0.0' }));
    const { stdout } = await packed.run(report);
    const { loaded, message } = JSON.parse(stdout) as Report;
    expect(loaded).toBe(false);
    expect(message).toContain('99.0.0');
    expect(message).toContain(manifest.version);
  });
});
