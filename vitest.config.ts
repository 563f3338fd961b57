import { defineConfig } from 'vitest/config';
import { stuckAfterMs } from './test/support/stuck-after.ts';
import { LongFirst } from './test/runner/long-first.ts';
import { chosenFiles } from './test/runner/chosen-files.ts';
import { readSuiteMarks } from './test/runner/suite-marks.ts';

// Vitest polls for one second. A busy machine may need longer, and a test that is stuck says where.
const expecting = { poll: { timeout: stuckAfterMs, interval: 20 } };
const hanging = 5 * stuckAfterMs;

// One project per suite: `npx vitest run PATH` finds a test in any suite, `--project` picks a suite. Files run side by side unless
// their project says otherwise: each takes free ports and a folder of its own, and most of them wait for other programs.
const withProcesses = {
  expect: expecting,
  testTimeout: hanging,
  hookTimeout: hanging,
  setupFiles: ['test/support/leak-check.ts'],
};

const ofUnits = [
  '{src,examples,bench}/**/*.test.ts',
  'test/{golden,lint,play,programmable-engine,runner,simulation,support}/**/*.test.ts',
  'test/*/support/**/*.test.ts',
];

// The first line of a file says that it runs otherwise than its suite.
const marked = readSuiteMarks(import.meta.dirname);

// test/runner chooses a part of the files for its run.
const { units, withPrograms } = chosenFiles(process.env['WEIR_TEST_PART'], marked);

export default defineConfig({
  test: {
    // Lists of errors are printed whole.
    chaiConfig: { truncateThreshold: 4000 },
    sequence: { sequencer: LongFirst },
    projects: [
      {
        // Files share processes. Otherwise short files spend a third of their time on importing the same modules again.
        test: {
          name: 'unit',
          ...units(ofUnits, marked.apart),
          isolate: false,
          expect: expecting,
          testTimeout: hanging,
        },
      },
      { test: { name: 'unit-apart', ...units(marked.apart), expect: expecting, testTimeout: hanging } },
      {
        // Components of the portal's pages, in jsdom, with one language and one time zone whatever the machine has.
        test: {
          name: 'components',
          include: ['portal/test/*.test.tsx'],
          environment: 'jsdom',
          setupFiles: ['portal/test/support/browser.ts'],
          env: { LC_ALL: 'en_US.UTF-8', TZ: 'Europe/Berlin' },
          expect: expecting,
          testTimeout: hanging,
        },
      },
      {
        test: {
          name: 'house',
          ...withPrograms(['test/house/**/*.test.ts']),
          globalSetup: 'test/support/image-for-suite.ts',
          expect: expecting,
          testTimeout: hanging,
          hookTimeout: hanging,
        },
      },
      {
        test: {
          name: 'stores',
          ...withPrograms([...marked['both-databases'], 'test/stores/**/*.test.ts']),
          globalSetup: 'test/support/postgres-for-suite.ts',
          expect: expecting,
          testTimeout: hanging,
          hookTimeout: hanging,
        },
      },
      {
        test: {
          name: 'envoy',
          ...withPrograms(['test/envoy/**/*.test.ts'], [...marked.alone, ...marked.waits, 'test/envoy/support/**']),
          ...withProcesses,
        },
      },
      { test: { name: 'envoy-waits', ...withPrograms(marked.waits), ...withProcesses } },
      {
        // These files measure gateways as users have them (test/support/fewer-compilations.ts).
        test: {
          name: 'envoy-alone',
          ...withPrograms(marked.alone),
          ...withProcesses,
          env: { FULL_COMPILER: 'true' },
          fileParallelism: false,
        },
      },
      { test: { name: 'engine', include: ['test/engine/**/*.test.ts'], ...withProcesses } },
      {
        // One file at a time: each starts servers of 1.3 GB, which need both cores.
        test: {
          name: 'vllm',
          include: ['test/vllm/**/*.test.ts'],
          ...withProcesses,
          fileParallelism: false,
          hookTimeout: 600_000,
        },
      },
      {
        // The first hook may have to install the clients.
        test: { name: 'clients', include: ['test/clients/**/*.test.ts'], ...withProcesses, hookTimeout: 900_000 },
      },
      {
        test: {
          name: 'portal',
          ...withPrograms(['test/portal/*.test.ts']),
          globalSetup: 'test/portal/support/for-suite.ts',
          ...withProcesses,
          // The files share a gateway. Each makes workspaces and keys of its own in it.
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
