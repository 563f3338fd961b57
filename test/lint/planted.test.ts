import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { z } from 'zod';

// A boundary check that reports nothing may be one that looks at nothing. So violations are planted in a small tree
// beside the lines that are allowed, the project's own configuration reads it, and exactly the violations come out.

const root = join(import.meta.dirname, '..', '..');
const imports = 'eslint(no-restricted-imports)';
const layers = 'layers(no-restricted-paths)';
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
      ['a stage imports a package', 'src/gateway/routing/d.ts', "import 'undici';"],
      ['a stage imports node:', 'src/gateway/routing/e.ts', "import 'node:fs';"],
      ['a piece of the pipeline imports a package', 'src/gateway/request/settle-late.ts', "import 'undici';"],
      ['the core of a room imports a package', 'src/books/core/a.ts', "import 'undici';"],
      ['the objects of the admin API import a package', 'src/portal/api/a.ts', "import 'fastify';"],
      [
        'the port imports code of the store',
        'src/portal/store-port.ts',
        "import { changes } from '../books/store/account-operations.ts';\nexport const all = changes;",
      ],
      [
        'the port of the reconcilers imports code of the store',
        'src/control/reconcilers/store-port.ts',
        "import { changes } from '../../books/store/account-operations.ts';\nexport const all = changes;",
      ],
    ] as const
  ).map(([name, path, source]) => ({ name, path, source, rule: imports })),
  ...(
    [
      ['core imports a stage', 'src/core/c.ts', "import '../gateway/routing/plan.ts';"],
      ['core imports the core of a room', 'src/core/f.ts', "import '../gateway/core/words.ts';"],
      [
        'core imports what does I/O on demand',
        'src/core/d.ts',
        "export const load = () => import('../books/store/rows.ts');",
      ],
      ['a stage imports another stage', 'src/gateway/routing/a.ts', "import '../dispatch/run.ts';"],
      [
        'a stage imports a type of another',
        'src/gateway/routing/b.ts',
        "import type { Run } from '../dispatch/run.ts';\nexport type A = Run;",
      ],
      ['a stage imports another by a way around', 'src/gateway/routing/c.ts', "import '../core/../dispatch/run.ts';"],
      ['a stage imports what does I/O', 'src/gateway/metering/a.ts', "import '../egress/pool.ts';"],
      ['a stage imports the books', 'src/gateway/metering/c.ts', "import '../../books/store/rows.ts';"],
      [
        'a stage imports what does I/O inside its folder',
        'src/gateway/web-search/a.ts',
        "import './providers/brave.ts';",
      ],
      ['structured output imports its threads', 'src/gateway/structured-output/a.ts', "import './checker/check.ts';"],
      ['a stage imports the pipeline', 'src/gateway/metering/b.ts', "import '../request/pipeline.ts';"],
      [
        'an inner folder of a stage imports another stage',
        'src/gateway/routing/health/b.ts',
        "import '../../dispatch/run.ts';",
      ],
      [
        'an inner folder imports what does I/O',
        'src/gateway/routing/health/a.ts',
        "import '../../../books/store/rows.ts';",
      ],
      [
        'a folder of control goes around',
        'src/control/catalog/resources/b.ts',
        "import '../resources/../../../gateway/routing/plan.ts';",
      ],
      ['a dialect imports another', 'src/gateway/dialects/messages/a.ts', "import '../chat/schema.ts';"],
      ['the format of callers imports that of engines', 'src/gateway/dialects/chat/a.ts', "import '../engine/a.ts';"],
      ['the format of callers imports engines', 'src/gateway/dialects/chat/b.ts', "import '../../engines/engines.ts';"],
      ['what does I/O imports another of its kind', 'src/gateway/egress/a.ts', "import '../extproc/server.ts';"],
      ['what does I/O imports a stage', 'src/gateway/egress/b.ts', "import '../routing/plan.ts';"],
      ['the pipeline imports what does I/O', 'src/gateway/request/late.ts', "import '../egress/pool.ts';"],
      ['the pipeline imports the books', 'src/gateway/request/book.ts', "import '../../books/store/rows.ts';"],
      ['the pipeline constructs', 'src/gateway/request/construct.ts', "import '../../programs/commands/key.ts';"],
      ['accounts import a database', 'src/books/accounts/a.ts', "import '../databases/sqlite/open.ts';"],
      ['the ledger imports a database', 'src/books/ledger/a.ts', "import '../databases/postgres/open.ts';"],
      ['accounts import what does I/O', 'src/books/accounts/b.ts', "import '../../gateway/egress/pool.ts';"],
      ['accounts import the store', 'src/books/accounts/c.ts', "import '../store/rows.ts';"],
      ['a database imports a stage', 'src/books/databases/sqlite/a.ts', "import '../../../gateway/routing/plan.ts';"],
      ['a folder of control imports its neighbour', 'src/control/manifests/a.ts', "import '../catalog/check.ts';"],
      ['what runs Envoy imports its neighbour', 'src/control/envoy/runtime/a.ts', "import '../../catalog/check.ts';"],
      ['reconcilers import the store', 'src/control/reconcilers/a.ts', "import '../../books/store/rows.ts';"],
      [
        'reconcilers import the pipeline',
        'src/control/reconcilers/b.ts',
        "import '../../gateway/request/pipeline.ts';",
      ],
      ['reconcilers construct', 'src/control/reconcilers/c.ts', "import '../../programs/commands/key.ts';"],
      ['stories import the exporter of spans', 'src/telemetry/stories/a.ts', "import '../otlp/spans.ts';"],
      ['the exporter of spans imports the log', 'src/telemetry/otlp/a.ts', "import '../ops/log.ts';"],
      ['the portal imports the store', 'src/portal/a.ts', "import '../books/store/rows.ts';"],
      [
        'the portal imports a type of the store elsewhere',
        'src/portal/c.ts',
        "import type {} from '../books/store/account-operations.ts';",
      ],
      [
        'reconcilers import a type of the store elsewhere',
        'src/control/reconcilers/d.ts',
        "import type {} from '../../books/store/account-operations.ts';",
      ],
      ['the portal imports a stage', 'src/portal/b.ts', "import '../gateway/routing/plan.ts';"],
      ['the objects of the admin API import the server', 'src/portal/api/b.ts', "import '../server.ts';"],
      ['a tool imports the books', 'src/tools/a.ts', "import '../books/store/rows.ts';"],
      ['the product imports its tests', 'src/programs/start/start.ts', "import '../../../test/support/llama.ts';"],
    ] as const
  ).map(([name, path, source]) => ({ name, path, source, rule: layers })),
  ...(
    [
      [
        'a message reads like a translation',
        'src/programs/commands/words.ts',
        "export const text = 'the requests that are under way';",
        'weir(plain-english)',
      ],
      [
        'a page of the portal reads like a translation',
        'portal/src/pages/words.tsx',
        'export const Words = () => <p>all requests that are under way</p>;',
        'weir(plain-english)',
      ],
      ['a stage reads the clock', 'src/gateway/dispatch/a.ts', 'export const at = Date.now();', properties],
      ['a stage reads the clock as a date', 'src/gateway/dispatch/b.ts', 'export const at = new Date();', ambientDate],
      ['a stage reads the clock as a text', 'src/gateway/dispatch/c.ts', 'export const at = Date();', ambientDate],
      ['a stage rolls dice', 'src/gateway/dispatch/d.ts', 'export const chance = Math.random();', properties],
      ['a stage arms a timer', 'src/gateway/dispatch/e.ts', 'setTimeout(String, 1);', globals],
      [
        'a stage arms an interval by the back door',
        'src/gateway/dispatch/f.ts',
        'globalThis.setInterval(String, 1);',
        globals,
      ],
      [
        'a stage arms a timer on a signal',
        'src/gateway/dispatch/g.ts',
        'export const s = AbortSignal.timeout(1);',
        properties,
      ],
      [
        'a stage reads the environment',
        'src/telemetry/stories/level.ts',
        "export const level = process.env['LEVEL'];",
        globals,
      ],
      [
        'the control plane rolls dice',
        'src/control/reconcilers/e.ts',
        'export const chance = Math.random();',
        properties,
      ],
      ['the control plane arms a timer', 'src/control/reconcilers/f.ts', 'setTimeout(String, 1);', globals],
      [
        'a request leaves a function in the old generation',
        'src/gateway/dispatch/h.ts',
        'export const race: { stop?: () => void } = {};\nrace.stop = () => {};',
        'weir(no-function-into-property)',
      ],
      ['core opens a connection', 'src/core/e.ts', "export const got = fetch('http://127.0.0.1/');", globals],
      [
        'the pipeline draws random bytes',
        'src/gateway/admission/a.ts',
        'export const id = crypto.randomUUID();',
        globals,
      ],
      ['the service prints', 'src/programs/serve/serve.ts', "console.log('up');", 'eslint(no-console)'],
      [
        'a promise floats',
        'src/books/store/float.ts',
        'async function work(): Promise<void> {}\nexport function start(): void {\n  work();\n}',
        'typescript(no-floating-promises)',
      ],
      [
        'a switch forgets a case',
        'src/gateway/metering/switch.ts',
        "export function name(how: 'ended' | 'cut'): string {\n  switch (how) {\n    case 'ended':\n      return 'e';\n  }\n  return '';\n}",
        'typescript(switch-exhaustiveness-check)',
      ],
      [
        'a default hides the cases to come',
        'src/gateway/metering/default.ts',
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
        ([name, file, lines]) =>
          [`a test ${name}`, `src/books/store/${file}.test.ts`, testOf(lines), clockInTest] as const,
      ),
      [
        'a file is read whole',
        'src/gateway/egress/whole.ts',
        "import { readFileSync } from 'node:fs';\nexport const read = (path: string): Buffer => readFileSync(path);",
        'weir(no-unbounded-file)',
      ],
      [
        'a file is read whole through its handle',
        'src/programs/serve/whole.ts',
        "import { open } from 'node:fs/promises';\nexport const read = async (path: string): Promise<Buffer> => (await open(path)).readFile();",
        'weir(no-unbounded-file)',
      ],
      [
        'a thread is started that a shortage ends',
        'src/books/store/thread.ts',
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
        'src/programs/commands/raw.ts',
        'export const show = (name: string): boolean => process.stdout.write(name);',
        'weir(no-raw-output)',
      ],
      [
        'a command prints to the console',
        'src/programs/commands/console.ts',
        "console.log('up');",
        'eslint(no-console)',
      ],
      ['a file is longer than 350 lines', 'src/core/long.ts', 'export {};\n'.repeat(351), 'eslint(max-lines)'],
      ['a file only re-exports', 'src/gateway/routing/index.ts', "export * from './plan.ts';", 'oxc(no-barrel-file)'],
    ] as const
  ).map(([name, path, source, rule]) => ({ name, path, source, rule })),
];

/** What the same folders may do. The files of the two cycles are the only ones here with something to report. */
const allowed: Readonly<Record<string, string>> = {
  'src/core/clock.ts': 'export const second = 1_000;',
  'src/gateway/core/words.ts': "import { second } from '../../core/clock.ts';\nexport const wait = second;",
  'src/gateway/routing/plan.ts':
    "import { z } from 'zod';\nimport { wait } from '../core/words.ts';\nimport { order } from './order.ts';\nexport const plan = z.literal(wait + order);",
  'src/gateway/routing/order.ts': 'export const order = 1;\nexport const day = new Date(0).toISOString();',
  'src/gateway/dispatch/run.ts': 'export interface Run {\n  readonly id: string;\n}',
  'src/gateway/dialects/chat/schema.ts': "export const schema = 'requests under way at once';",
  'src/gateway/dialects/engine/a.ts': "import { engines } from '../../engines/engines.ts';\nexport const a = engines;",
  'src/gateway/engines/engines.ts': 'export const engines = 1;',
  'src/gateway/web-search/providers/brave.ts': 'export const brave = process.pid;',
  'src/gateway/structured-output/checker/check.ts': 'export const check = process.pid;',
  'src/gateway/egress/pool.ts':
    "import { Pool } from 'undici';\nimport { statSync } from 'node:fs';\nimport { wait } from '../core/words.ts';\nimport { rows } from './rows.ts';\nexport const pool = [Pool, statSync, wait, rows, Date.now(), Math.random(), new Date(), setTimeout(String, 1)];",
  'src/gateway/egress/rows.ts': 'export const rows = process.pid;',
  'src/gateway/extproc/server.ts': 'export const server = process.pid;',
  'src/gateway/request/pipeline.ts':
    "import { plan } from '../routing/plan.ts';\nimport { snapshots } from '../../control/catalog/snapshots.ts';\nexport const pipeline = [plan, snapshots];",
  'src/control/catalog/snapshots.ts': 'export const snapshots = 1;',
  'src/control/catalog/check.ts': "import { read } from './readers/read.ts';\nexport const check = read;",
  'src/control/catalog/readers/read.ts': 'export const read = 1;',
  'src/control/catalog/resources/model.ts':
    "import { z } from 'zod';\nimport { check } from '../check.ts';\nimport { read } from '../readers/read.ts';\nexport const model = z.literal(check + read);",
  'src/control/reconcilers/view.ts': "import { check } from '../catalog/check.ts';\nexport const view = check;",
  'src/books/store/rows.ts': "import { ledger } from '../ledger/ledger.ts';\nexport const rows = ledger;",
  'src/books/store/account-operations.ts': 'export const changes = 1;\nexport type Operations = typeof changes;',
  'src/books/ledger/ledger.ts': "import { tables } from '../databases/tables.ts';\nexport const ledger = tables;",
  'src/books/databases/tables.ts': 'export const tables = 1;',
  'src/books/databases/sqlite/open.ts': 'export const open = 1;',
  'src/books/databases/postgres/open.ts': 'export const open = 1;',
  'src/books/databases/machine.ts': "import { readFileSync } from 'node:fs';\nexport const files = { readFileSync };",
  'src/books/store/patient.test.ts': testOf(
    'const begun = performance.now();\n  await expect.poll(() => 1, { interval: 20 }).toBe(1);\n  expect(performance.now() - begun).toBeGreaterThan(-1);',
  ),
  'src/portal/server.ts': 'export const server = process.pid;',
  'src/portal/secrets.ts': "import { server } from './server.ts';\nexport const secrets = server;",
  'src/portal/routes/a.ts': "import { server } from '../server.ts';\nexport const route = server;",
  'src/telemetry/ops/log.ts': 'export const log = process.pid;',
  'src/telemetry/otlp/spans.ts': 'export const spans = process.pid;',
  'src/programs/command-line/print.ts': 'export const print = (text: string): boolean => process.stdout.write(text);',
  'src/programs/commands/key.ts':
    "import { rows } from '../../books/store/rows.ts';\nexport const key = [rows, Date.now()];",
  'src/main.ts': "import { pool } from './gateway/egress/pool.ts';\nexport const main = [pool, process.pid];",
  'test/support/llama.ts': 'export const llama = 1;',
  'src/core/cycle-a.ts': "import { b } from './cycle-b.ts';\nexport const a = (): number => b();",
  'src/core/cycle-b.ts': "import { a } from './cycle-a.ts';\nexport const b = (): number => a();",
  'src/core/type-cycle-a.ts': "import type { B } from './type-cycle-b.ts';\nexport interface A {\n  readonly b: B;\n}",
  'src/core/type-cycle-b.ts': "import type { A } from './type-cycle-a.ts';\nexport interface B {\n  readonly a: A;\n}",
};

const report = z.object({ diagnostics: z.array(z.object({ code: z.string(), filename: z.string() })) });

const folder = await mkdtemp(join(tmpdir(), 'weir-lint-'));
for (const file of ['.oxlintrc.json', 'tsconfig.json', 'test/lint/weir-plugin.mjs', 'test/lint/english']) {
  await cp(join(root, file), join(folder, file), { recursive: true });
}
await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
const planted = Object.fromEntries(violations.map(({ path, source }) => [path, source]));
for (const [path, source] of Object.entries({ ...allowed, ...planted })) {
  await mkdir(dirname(join(folder, path)), { recursive: true });
  await writeFile(join(folder, path), `${source}\n`);
}
const oxlint = join(root, 'node_modules/oxlint/bin/oxlint');
const output = await new Promise<string>((resolve) => {
  execFile(process.execPath, [oxlint, '--format', 'json', 'src', 'portal'], { cwd: folder }, (_error, stdout) =>
    resolve(stdout),
  );
});
const found = report
  .parse(JSON.parse(output))
  .diagnostics.map(({ code, filename }) => ({ path: filename, rule: code }));

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
