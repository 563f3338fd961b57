import { defineConfig } from 'vitest/config';

// The tests of one folder of `folders.ts`, on SQLite. Each file has a process of its own, because a mutant may break what files share.
export default defineConfig({
  test: {
    include: (process.env['WEIR_MUTANTS_TESTS'] ?? '').split(' '),
    testTimeout: 100_000,
    expect: { poll: { timeout: 60_000, interval: 20 } },
  },
});
