/** The code whose mutants are tested, and the tests that are to find them. All paths are from the root. */
export interface MutatedFolder {
  readonly name: string;
  readonly sources: readonly string[];
  readonly tests: readonly string[];
}

const below = (folder: string, depth = '*') => ({
  sources: [`${folder}/${depth}.ts`, `!${folder}/${depth}.test.ts`],
  tests: [`${folder}/${depth}.test.ts`],
});
const all = '**/*';
/** Tests that measure their process, or start threads: these run the code as it is, and take seconds. */
const without = (tests: readonly string[], names: string): readonly string[] =>
  tests.map((pattern) => pattern.replace(/\*\.test\.ts$/, `!(${names}).test.ts`));

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
    tests: without(below('src/books/accounts').tests, 'key-timing|shared-secret|reported-reservations'),
  },
  { name: 'dispatch', ...below('src/gateway/dispatch', all) },
  { name: 'routing', ...below('src/gateway/routing', all) },
  {
    name: 'limits',
    sources: below('src/gateway/{rate-limits,admission}').sources,
    // The model of Valkey knows the scripts by name only. Their text, and the connections, need a real server.
    tests: [
      ...below('src/gateway/{rate-limits,admission}').tests,
      'test/stores/valkey-*.test.ts',
      'test/stores/shared-*.test.ts',
    ],
  },
  {
    name: 'dialects',
    sources: below('src/gateway/dialects', all).sources,
    tests: [
      ...without(below('src/gateway/dialects', all).tests, 'hostile-answers'),
      // The others read packages and scripts, which the mutated copy does not have.
      ...without(['test/golden/*.test.ts'], 'published-*|openapi'),
    ],
  },
  { name: 'catalog', ...below('src/control/catalog', all) },
  {
    name: 'control',
    sources: [...below('src/control', all).sources, '!src/control/catalog/**'],
    tests: without(below('src/control', all).tests, 'problems-file|observe-catalog|parse-in-worker'),
  },
  {
    name: 'journal',
    sources: [
      ...below('src/books/databases', all).sources,
      ...['worker-loop', 'worker-recovery', 'worker-rules', 'worker-state', 'worker-hold', 'run-store'].map(
        (file) => `src/books/store/${file}.ts`,
      ),
    ],
    tests: [...below('src/books/databases', all).tests, 'src/books/store/{worker-loop,worker-hold,durability}.test.ts'],
  },
  {
    name: 'ledger',
    sources: [
      ...below('src/books/ledger').sources,
      '!src/books/ledger/{settle-batch,usage-rollup,stored-request,ledger-names,kept-since}.ts',
    ],
    tests: below('src/books/ledger').tests,
  },
];
