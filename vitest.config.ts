import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    // Tests import the package by its name and get the built files; those are loaded as they are, never transformed.
    server: { deps: { external: [/\/dist\//, /\/native\//] } },
    pool: 'forks',
    testTimeout: 20_000,
    hookTimeout: 20_000,
    teardownTimeout: 5000,
    allowOnly: false,
    projects: [
      {
        extends: true,
        test: {
          name: 'main',
          // Mostly they wait, for children and for time limits.
          maxWorkers: 3,
          include: ['__test__/**/*.test.ts'],
          exclude: ['**/node_modules/**', '__test__/**/*.isolated.test.ts'],
        },
      },
      {
        extends: true,
        test: {
          // One process per file and one file at a time: these count children, descriptors and heap.
          name: 'isolated',
          include: ['__test__/**/*.isolated.test.ts'],
          exclude: ['**/node_modules/**'],
          fileParallelism: false,
          execArgv: ['--expose-gc'],
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
