import { defineConfig } from 'vitest/config';
import { LongFirst } from './test/runner/long-first.ts';

// What is waited for is no bound in time: a busy machine may take longer than the second that is vitest's default.
const patient = { poll: { timeout: 10_000, interval: 20 } };

// One project per suite: `npx vitest run path` finds a test whatever suite it is in, `--project` picks a suite. Files run
// side by side unless their project says otherwise: each takes free ports and a folder of its own, and most of them wait.
const withProcesses = {
  expect: patient,
  testTimeout: 120_000,
  hookTimeout: 120_000,
  setupFiles: ['test/support/leak-check.ts'],
};

// The store's own tests, those of an export and those of the admin API, which the unit suite runs on SQLite and the suite `stores` once more on PostgreSQL.
const onBothDatabases = [
  ...['durability', 'open-store', 'outage'],
  ...[
    'audit',
    'find-credentials',
    'keys',
    'playground-keys',
    'reservations',
    'sessions',
    'shared-secret',
    'workspaces',
  ].map((name) => `accounts/${name}`),
  ...['migrations', 'upkeep', 'upkeep-sequences'].map((name) => `databases/${name}`),
  ...['books', 'export-requests', 'settle-batch', 'usage-report', 'verify-ledger'].map((name) => `ledger/${name}`),
].map((name) => `src/store/${name}.test.ts`);
onBothDatabases.push('src/cli/commands/ledger-export.test.ts', 'src/portal/api.test.ts');

// Files that measure time or memory under load, or whose gateway has to find its ports free again when it takes them anew: they run
// one after the other, when all others have ended.
const aloneBehindEnvoy = [
  ...[
    'body-limit',
    'context',
    'hedging',
    'hostile-traffic',
    'loop-delay',
    'many-endpoints',
    'many-streams',
    'one-of-eight',
    'overload',
    'restart',
    'start-crashes',
    'start-replicas',
  ],
].map((name) => `test/envoy/${name}.test.ts`);

const ofUnits = [
  '{src,examples,bench}/**/*.test.ts',
  'test/{golden,lint,programmable-engine,runner,support}/**/*.test.ts',
  'test/*/support/**/*.test.ts',
];

// Units that measure their process (its memory, its event loop, its threads, time) or change it (variables, modules): each has one of
// its own.
const unitsApart = [
  ...['admission/address-gate', 'admission/overload', 'cli/commands/catalog', 'control/replica-view'],
  ...['core/by-number', 'dialects/engine/hostile-answers', 'extproc/body-collector', 'extproc/connection-loss'],
  ...[
    'local/supervise',
    'manifests/parse-in-worker',
    'process/*',
    'request/client-phrases',
    'request/pipeline',
    'store/accounts/key-timing',
  ],
  ...['store/lost-store', 'store/open-store', 'telemetry/model-performance', 'telemetry/ops/metrics'],
  ...['telemetry/otlp/open-tracing'],
].map((name) => `src/${name}.test.ts`);

export default defineConfig({
  test: {
    // Lists of what went wrong are told whole.
    chaiConfig: { truncateThreshold: 4000 },
    sequence: { sequencer: LongFirst },
    projects: [
      {
        // Files share processes: a third of the time of short ones went into importing the same modules anew.
        test: {
          name: 'unit',
          include: ofUnits,
          exclude: unitsApart,
          isolate: false,
          expect: patient,
          testTimeout: 60_000,
        },
      },
      { test: { name: 'unit-apart', include: unitsApart, expect: patient, testTimeout: 60_000 } },
      {
        test: {
          name: 'house',
          include: ['test/house/**/*.test.ts'],
          globalSetup: 'test/support/image-for-suite.ts',
          expect: patient,
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'stores',
          include: [...onBothDatabases, 'test/stores/**/*.test.ts'],
          globalSetup: 'test/support/postgres-for-suite.ts',
          expect: patient,
          testTimeout: 60_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: 'envoy',
          include: ['test/envoy/**/*.test.ts'],
          exclude: [...aloneBehindEnvoy, 'test/envoy/support/**'],
          ...withProcesses,
        },
      },
      { test: { name: 'envoy-alone', include: aloneBehindEnvoy, ...withProcesses, fileParallelism: false } },
      { test: { name: 'engine', include: ['test/engine/**/*.test.ts'], ...withProcesses } },
      {
        // The first hook that needs the clients may have to install them.
        test: { name: 'clients', include: ['test/clients/**/*.test.ts'], ...withProcesses, hookTimeout: 900_000 },
      },
      {
        test: {
          name: 'portal',
          include: ['test/portal/*.test.ts'],
          globalSetup: 'test/portal/support/for-suite.ts',
          ...withProcesses,
          // They share a gateway: each makes workspaces and keys of its own in it.
          maxWorkers: 2,
        },
      },
      {
        test: {
          name: 'kube',
          include: ['test/kube/*.test.ts'],
          globalSetup: ['test/kube/support/for-suite.ts', 'test/support/image-for-suite.ts'],
          ...withProcesses,
        },
      },
    ],
  },
});
