/** The code whose mutants are tested, and the tests that are to find them. All paths are from the root. */
export interface MutatedFolder {
  readonly name: string;
  readonly sources: readonly string[];
  readonly tests: readonly string[];
}

const below = (folder: string) => ({
  sources: [`${folder}/*.ts`, `!${folder}/*.test.ts`],
  tests: [`${folder}/*.test.ts`],
});

export const mutatedFolders: readonly MutatedFolder[] = [
  { name: 'metering', ...below('src/metering') },
  {
    name: 'reservations',
    sources: ['src/core/limits.ts', 'src/admission/limits.ts', 'src/rate-limits/memory.ts'],
    tests: ['src/admission/limits.test.ts', 'src/rate-limits/memory.test.ts', 'src/rate-limits/reservations.test.ts'],
  },
  {
    name: 'settlement',
    sources: [
      ...['src/store/settle-queue.ts', 'src/core/packed-id.ts'],
      ...['settle-batch', 'usage-rollup', 'stored-request', 'ledger-names', 'kept-since'].map(
        (file) => `src/store/ledger/${file}.ts`,
      ),
    ],
    tests: [
      ...['src/store/ledger/*.test.ts', 'src/store/databases/migrations.test.ts'],
      ...['src/store/settle-queue.test.ts', 'src/store/worker-loop.test.ts', 'src/core/packed-id.test.ts'],
    ],
  },
  {
    name: 'accounts',
    sources: below('src/store/accounts').sources,
    // Without those that measure time, and those that start threads: these run the code as it is, and take seconds.
    tests: ['src/store/accounts/!(key-timing|shared-secret|reported-reservations).test.ts'],
  },
];
