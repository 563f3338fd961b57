import { defineConfig } from 'vitest/config';

// The tests of one folder of `folders.ts`, on SQLite. All files of one mutant run in one thread: a thread for each would take
// twice as long.
export default defineConfig({
  test: {
    include: (process.env['WEIR_MUTANTS_TESTS'] ?? '').split(' '),
    isolate: false,
    // No test takes longer than six seconds. A mutant that waits for ever is found by this limit.
    testTimeout: 20_000,
    expect: { poll: { timeout: 5_000, interval: 20 } },
  },
});
