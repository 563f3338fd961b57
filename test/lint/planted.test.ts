import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';

// A boundary check that reports nothing may be one that looks at nothing. So violations are planted in a small tree
// beside the lines that are allowed, the project's own configuration reads it, and exactly the violations come out.

const root = join(import.meta.dirname, '..', '..');
const imports = 'eslint(no-restricted-imports)';
const globals = 'eslint(no-restricted-globals)';
const properties = 'eslint(no-restricted-properties)';
const ambientDate = 'weir(no-ambient-date)';
const clockInTest = 'weir(no-clock-in-test)';

const testOf = (lines: string): string =>
  `import { expect, test, vi } from 'vitest';\nexport const used = vi;\ntest('waits', async () => {\n  ${lines}\n});`;

interface Planted {
  readonly name: string;
  readonly path: string;
  readonly source: string;
  /** The rule that must report it, once. */
  readonly rule: string;
}

/** One file per row: `path` is where it stands, the last column what it holds. */
const violations: readonly Planted[] = [
  ...(
    [
      ['core imports a package', 'src/core/a.ts', "export { pino } from 'pino';"],
      ['core imports node:', 'src/core/b.ts', "import 'node:fs';"],
      ['core imports a stage', 'src/core/c.ts', "import '../routing/plan.ts';"],
      [
        'core imports what does I/O on demand',
        'src/core/d.ts',
        "export const load = () => import('../store/rows.ts');",
      ],
      ['a stage imports another stage', 'src/routing/a.ts', "import '../dispatch/run.ts';"],
      [
        'a stage imports a type of another',
        'src/routing/b.ts',
        "import type { Run } from '../dispatch/run.ts';\nexport type A = Run;",
      ],
      ['a stage imports another by a way around', 'src/routing/c.ts', "import '../core/../dispatch/run.ts';"],
      ['a stage imports a package', 'src/routing/d.ts', "import 'undici';"],
      ['a stage imports node:', 'src/routing/e.ts', "import 'node:fs';"],
      ['a stage imports what does I/O', 'src/metering/a.ts', "import '../store/rows.ts';"],
      ['a stage imports what does I/O inside its folder', 'src/web-search/a.ts', "import './providers/brave.ts';"],
      ['a stage imports the exporter of spans', 'src/telemetry/c.ts', "import './otlp/open-tracing.ts';"],
      ['the exporter of spans imports the log', 'src/telemetry/otlp/a.ts', "import '../ops/telemetry.ts';"],
      ['structured output imports its threads', 'src/structured-output/a.ts', "import './checker/validate-text.ts';"],
      ['a stage imports the pipeline', 'src/metering/b.ts', "import '../request/pipeline.ts';"],
      [
        'an inner folder of a stage imports another stage',
        'src/catalog/resources/a.ts',
        "import '../../routing/plan.ts';",
      ],
      [
        'an inner folder of a stage goes around',
        'src/catalog/resources/b.ts',
        "import '../resources/../../routing/plan.ts';",
      ],
      ['a dialect imports another', 'src/dialects/messages/a.ts', "import '../chat/schema.ts';"],
      ['the format of callers imports that of engines', 'src/dialects/chat/a.ts', "import '../engine/a.ts';"],
      ['the format of callers imports engines', 'src/dialects/chat/b.ts', "import '../../engines/engines.ts';"],
      ['the continuation imports another stage', 'src/dispatch/continuation/a.ts', "import '../../routing/plan.ts';"],
      ['the health of routes imports what does I/O', 'src/routing/health/a.ts', "import '../../store/rows.ts';"],
      ['a stage is three folders deep', 'src/catalog/resources/deep/a.ts', "import './b.ts';"],
      ['what does I/O imports another of its kind', 'src/egress/a.ts', "import '../store/rows.ts';"],
      [
        'an inner folder of what does I/O imports another of its kind',
        'src/store/inner/a.ts',
        "import '../../egress/pool.ts';",
      ],
      ['the portal imports the store', 'src/portal/a.ts', "import '../store/rows.ts';"],
      [
        'the portal imports a type of the store elsewhere',
        'src/portal/b.ts',
        "import type {} from '../store/rows.ts';",
      ],
      [
        'the port imports code of the store',
        'src/portal/store-port.ts',
        "import { changes } from '../store/account-operations.ts';\nexport const all = changes;",
      ],
      ['the objects of the admin API import a package', 'src/portal/api/a.ts', "import 'fastify';"],
      ['the objects of the admin API import the server', 'src/portal/api/b.ts', "import '../server.ts';"],
      ['what does I/O imports a stage', 'src/egress/b.ts', "import '../routing/plan.ts';"],
      ['what runs Envoy imports another of its kind', 'src/envoy/runtime/b.ts', "import '../../egress/pool.ts';"],
      ['what does I/O imports serve.ts', 'src/envoy/runtime/a.ts', "import '../../cli/serve/serve.ts';"],
      ['the control plane imports the store', 'src/control/a.ts', "import '../store/rows.ts';"],
      ['the control plane imports the pipeline', 'src/control/b.ts', "import '../request/pipeline.ts';"],
      ['the control plane constructs', 'src/control/c.ts', "import '../cli/serve/serve.ts';"],
      ['the control plane takes the clock', 'src/control/d.ts', "import '../process/clock.ts';"],
      ['the control plane has an inner folder', 'src/control/inner/a.ts', "import '../../core/clock.ts';"],
      ['what runs a gateway here imports the pipeline', 'src/local/a.ts', "import '../request/pipeline.ts';"],
      ['what runs a gateway here imports a command', 'src/local/b.ts', "import '../cli/commands/key.ts';"],
      ['what runs a gateway here has an inner folder', 'src/local/inner/a.ts', "import '../../core/clock.ts';"],
      ['accounts import a database', 'src/store/accounts/a.ts', "import '../databases/sqlite/open.ts';"],
      ['the ledger imports a database', 'src/store/ledger/a.ts', "import '../databases/postgres/open.ts';"],
      ['accounts import what does I/O', 'src/store/accounts/b.ts', "import '../../egress/pool.ts';"],
      ['the ledger imports a stage', 'src/store/ledger/b.ts', "import '../../routing/plan.ts';"],
      ['a database imports what does I/O', 'src/store/databases/sqlite/a.ts', "import '../../../egress/pool.ts';"],
      ['databases import a stage', 'src/store/databases/a.ts', "import '../../routing/plan.ts';"],
      ['the pipeline imports what does I/O', 'src/request/pipeline.ts', "import '../store/rows.ts';"],
      ['a piece of the pipeline constructs', 'src/request/prepare.ts', "import '../cli/serve/serve.ts';"],
      ['a piece of the pipeline imports a package', 'src/request/settle-late.ts', "import 'undici';"],
      ['the picker imports what does I/O', 'src/picker/a.ts', "import '../extproc/picker-server.ts';"],
      ['the picker imports the pipeline', 'src/picker/b.ts', "import '../request/pipeline.ts';"],
      ['the picker imports a package', 'src/picker/c.ts', "import 'undici';"],
      ['a part of the service imports its tests', 'src/cli/serve/a.ts', "import '../../../test/support/llama.ts';"],
      ['the product imports its tests', 'src/cli/start/start.ts', "import '../../../test/support/llama.ts';"],
    ] as const
  ).map(([name, path, source]) => ({ name, path, source, rule: imports })),
  ...(
    [
      ['a stage reads the clock', 'src/dispatch/a.ts', 'export const at = Date.now();', properties],
      ['a stage reads the clock as a date', 'src/dispatch/b.ts', 'export const at = new Date();', ambientDate],
      ['a stage reads the clock as a text', 'src/dispatch/c.ts', 'export const at = Date();', ambientDate],
      ['a stage rolls dice', 'src/dispatch/d.ts', 'export const chance = Math.random();', properties],
      ['a stage arms a timer', 'src/dispatch/e.ts', 'setTimeout(String, 1);', globals],
      ['a stage arms an interval by the back door', 'src/dispatch/f.ts', 'globalThis.setInterval(String, 1);', globals],
      ['a stage arms a timer on a signal', 'src/dispatch/g.ts', 'export const s = AbortSignal.timeout(1);', properties],
      ['a stage reads the environment', 'src/telemetry/a.ts', "export const level = process.env['LEVEL'];", globals],
      ['the control plane rolls dice', 'src/control/e.ts', 'export const chance = Math.random();', properties],
      ['the control plane arms a timer', 'src/control/f.ts', 'setTimeout(String, 1);', globals],
      [
        'a request leaves a function in the old generation',
        'src/dispatch/h.ts',
        'export const race: { stop?: () => void } = {};\nrace.stop = () => {};',
        'weir(no-function-into-property)',
      ],
      ['core opens a connection', 'src/core/e.ts', "export const got = fetch('http://127.0.0.1/');", globals],
      ['the pipeline draws random bytes', 'src/admission/a.ts', 'export const id = crypto.randomUUID();', globals],
      ['the service prints', 'src/cli/serve/serve.ts', "console.log('up');", 'eslint(no-console)'],
      [
        'a promise floats',
        'src/store/float.ts',
        'async function work(): Promise<void> {}\nexport function start(): void {\n  work();\n}',
        'typescript(no-floating-promises)',
      ],
      [
        'a switch forgets a case',
        'src/metering/switch.ts',
        "export function name(how: 'ended' | 'cut'): string {\n  switch (how) {\n    case 'ended':\n      return 'e';\n  }\n  return '';\n}",
        'typescript(switch-exhaustiveness-check)',
      ],
      [
        'a default hides the cases to come',
        'src/metering/default.ts',
        "export function name(how: 'ended' | 'cut'): string {\n  switch (how) {\n    case 'ended':\n    case 'cut':\n      return 'e';\n    default:\n      return '';\n  }\n}",
        'typescript(switch-exhaustiveness-check)',
      ],
      ['an any slips in', 'src/core/any.ts', 'export const rows: any[] = [];', 'typescript(no-explicit-any)'],
      [
        'an assertion overrules the compiler',
        'src/core/as.ts',
        'export const read = (value: unknown): string => value as string;',
        'typescript(consistent-type-assertions)',
      ],
      [
        'an absence is denied',
        'src/core/bang.ts',
        'export const first = (all: readonly string[]): string => all[0]!;',
        'typescript(no-non-null-assertion)',
      ],
      ...(
        [
          ['gives a wait a limit of its own', 'poll', 'await expect.poll(() => 1, { timeout: 5_000 }).toBe(1);'],
          [
            'gives its waits a limit by a name',
            'named',
            'const within = { timeout: 5_000, interval: 20 };\n  await expect.poll(() => 1, within).toBe(1);',
          ],
          ['waits for a second', 'second', 'await vi.waitFor(() => expect(1).toBe(1));'],
          [
            'bounds the time that something took',
            'took',
            'const begun = performance.now();\n  expect(performance.now() - begun).toBeLessThan(1_000);',
          ],
          [
            'bounds the time that something took by a name',
            'took-named',
            'const begun = performance.now();\n  const tookMs = performance.now() - begun;\n  expect(tookMs).toBeLessThan(1_000);',
          ],
        ] as const
      ).map(
        ([name, file, lines]) => [`a test ${name}`, `src/store/${file}.test.ts`, testOf(lines), clockInTest] as const,
      ),
      [
        'a file is read whole',
        'src/egress/whole.ts',
        "import { readFileSync } from 'node:fs';\nexport const read = (path: string): Buffer => readFileSync(path);",
        'weir(no-unbounded-file)',
      ],
      [
        'a file is read whole through its handle',
        'src/cli/serve/whole.ts',
        "import { open } from 'node:fs/promises';\nexport const read = async (path: string): Promise<Buffer> => (await open(path)).readFile();",
        'weir(no-unbounded-file)',
      ],
      [
        'a thread is started that a shortage ends',
        'src/store/thread.ts',
        "import { Worker } from 'node:worker_threads';\nexport const start = (script: URL): Worker => new Worker(script);",
        'weir(no-bare-worker)',
      ],
      [
        'such a thread is started by another name of the module',
        'src/process/threads-of-node.ts',
        "import * as threads from 'node:worker_threads';\nexport const start = (script: URL): threads.Worker => new threads.Worker(script);",
        'weir(no-bare-worker)',
      ],
      [
        'a command prints past the escapes',
        'src/cli/commands/raw.ts',
        'export const show = (name: string): boolean => process.stdout.write(name);',
        'weir(no-raw-output)',
      ],
      ['a command prints to the console', 'src/cli/commands/console.ts', "console.log('up');", 'eslint(no-console)'],
      ['a file is longer than 350 lines', 'src/core/long.ts', 'export {};\n'.repeat(351), 'eslint(max-lines)'],
      ['a file only re-exports', 'src/routing/index.ts', "export * from './plan.ts';", 'oxc(no-barrel-file)'],
    ] as const
  ).map(([name, path, source, rule]) => ({ name, path, source, rule })),
];

/** What the same folders may do. The files of the two cycles are the only ones here with something to report. */
const allowed: Readonly<Record<string, string>> = {
  'src/core/clock.ts': 'export const second = 1_000;',
  'src/core/plan.ts': "import { second } from './clock.ts';\nexport const wait = second;",
  'src/routing/plan.ts':
    "import { z } from 'zod';\nimport { wait } from '../core/plan.ts';\nimport { order } from './order.ts';\nexport const plan = z.literal(wait + order);",
  'src/routing/order.ts': 'export const order = 1;\nexport const day = new Date(0).toISOString();',
  'src/dispatch/run.ts': 'export interface Run {\n  readonly id: string;\n}',
  'src/catalog/resources/model.ts':
    "import { z } from 'zod';\nimport { wait } from '../../core/plan.ts';\nimport { check } from '../check.ts';\nimport { read } from '../readers/read.ts';\nexport const model = z.literal(wait + check + read);",
  'src/catalog/check.ts': "import { read } from './readers/read.ts';\nexport const check = read;",
  'src/catalog/readers/read.ts': 'export const read = 1;',
  'src/control/view.ts': "import { check } from '../catalog/check.ts';\nexport const view = check;",
  'src/egress/pool.ts':
    "import { Pool } from 'undici';\nimport { statSync } from 'node:fs';\nimport { wait } from '../core/plan.ts';\nimport { rows } from './rows.ts';\nexport const pool = [Pool, statSync, wait, rows, Date.now(), Math.random(), new Date(), setTimeout(String, 1)];",
  'src/egress/rows.ts': 'export const rows = process.pid;',
  'src/store/rows.ts': 'export const rows = 1;',
  'src/store/patient.test.ts': testOf(
    'const begun = performance.now();\n  await expect.poll(() => 1, { interval: 20 }).toBe(1);\n  expect(performance.now() - begun).toBeGreaterThan(-1);',
  ),
  'src/store/inner/b.ts':
    "import { wait } from '../../core/plan.ts';\nimport { rows } from '../rows.ts';\nexport const both = [wait, rows];",
  'src/store/account-operations.ts': 'export const changes = 1;\nexport type Operations = typeof changes;',
  'src/cli/print.ts': 'export const print = (text: string): boolean => process.stdout.write(text);',
  'src/store/databases/machine.ts': "import { readFileSync } from 'node:fs';\nexport const files = { readFileSync };",
  'src/main.ts': "import { pool } from './egress/pool.ts';\nexport const main = [pool, process.pid];",
  'src/request/join.ts':
    "import { check } from '../catalog/check.ts';\nimport { wait } from '../core/plan.ts';\nimport { two } from './two.ts';\nexport const join = check + wait + two;",
  'src/request/two.ts': "import { order } from '../routing/order.ts';\nexport const two = order;",
  'src/join-worker.ts':
    "import { parentPort } from 'node:worker_threads';\nimport { join } from './request/join.ts';\nparentPort?.postMessage(join);",
  'src/cli/commands/key.ts': "import { rows } from '../../store/rows.ts';\nexport const key = [rows, Date.now()];",
  'src/core/cycle-a.ts': "import { b } from './cycle-b.ts';\nexport const a = (): number => b();",
  'src/core/cycle-b.ts': "import { a } from './cycle-a.ts';\nexport const b = (): number => a();",
  'src/core/type-cycle-a.ts': "import type { B } from './type-cycle-b.ts';\nexport interface A {\n  readonly b: B;\n}",
  'src/core/type-cycle-b.ts': "import type { A } from './type-cycle-a.ts';\nexport interface B {\n  readonly a: A;\n}",
};

const report = z.object({ diagnostics: z.array(z.object({ code: z.string(), filename: z.string() })) });
let folder: string;
let found: readonly { readonly path: string; readonly rule: string }[];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'weir-lint-'));
  for (const file of ['.oxlintrc.json', 'tsconfig.json', 'test/lint/weir-plugin.mjs']) {
    await cp(join(root, file), join(folder, file));
  }
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  const planted = Object.fromEntries(violations.map(({ path, source }) => [path, source]));
  for (const [path, source] of Object.entries({ ...allowed, ...planted })) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), `${source}\n`);
  }
  const oxlint = join(root, 'node_modules/oxlint/bin/oxlint');
  const output = await new Promise<string>((resolve) => {
    execFile(process.execPath, [oxlint, '--format', 'json', 'src'], { cwd: folder }, (_error, stdout) =>
      resolve(stdout),
    );
  });
  found = report.parse(JSON.parse(output)).diagnostics.map(({ code, filename }) => ({ path: filename, rule: code }));
});

afterAll(async () => {
  await rm(folder, { recursive: true });
});

describe('the linter sees it, once, when', () => {
  test.each(violations)('$name', ({ path, rule }) => {
    expect(found.filter((one) => one.path === path)).toEqual([{ path, rule }]);
  });

  test.each(['cycle', 'type-cycle'])('two files import each other: %s', (name) => {
    const cycle = found.filter(({ path }) => path.startsWith(`src/core/${name}-`));
    expect(cycle.map(({ rule }) => rule)).toContain('import(no-cycle)');
    expect(new Set(cycle.map(({ rule }) => rule))).toEqual(new Set(['import(no-cycle)']));
  });
});

test('the linter lets through what is allowed', () => {
  const expected = new Set<string>(violations.map(({ path }) => path));
  expect(found.filter(({ path }) => !expected.has(path) && !/core\/(type-)?cycle-/.test(path))).toEqual([]);
});
