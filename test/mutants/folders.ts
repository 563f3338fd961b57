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
  { name: 'metering', ...below('src/gateway/metering') },
  {
    name: 'reservations',
    sources: ['src/core/limits.ts', 'src/gateway/admission/limits.ts', 'src/gateway/rate-limits/memory.ts'],
    tests: [
      'src/gateway/admission/limits.test.ts',
      'src/gateway/rate-limits/memory.test.ts',
      'src/gateway/rate-limits/reservations.test.ts',
    ],
  },
  {
    name: 'settlement',
    sources: [
      ...['src/books/store/settle-queue.ts', 'src/books/core/packed-id.ts'],
      ...['settle-batch', 'usage-rollup', 'stored-request', 'ledger-names', 'kept-since'].map(
        (file) => `src/books/ledger/${file}.ts`,
      ),
    ],
    tests: [
      ...['src/books/ledger/*.test.ts', 'src/books/databases/migrations.test.ts'],
      ...[
        'src/books/store/settle-queue.test.ts',
        'src/books/store/worker-loop.test.ts',
        'src/books/core/packed-id.test.ts',
      ],
    ],
  },
  {
    name: 'accounts',
    sources: below('src/books/accounts').sources,
    // Without those that measure time, and those that start threads: these run the code as it is, and take seconds.
    tests: ['src/books/accounts/!(key-timing|shared-secret|reported-reservations).test.ts'],
  },
];
