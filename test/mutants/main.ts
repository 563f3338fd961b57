/** Changes the code that counts money in small ways, and lists the changes that no test notices. */
import { createRequire } from 'node:module';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { type MutatedFolder, mutatedFolders } from './folders.ts';

/** The part of Stryker that is used. Its own types are not there when the code is checked: see package.json. */
interface StrykerModule {
  readonly Stryker: new (options: Readonly<Record<string, unknown>>) => {
    readonly runMutationTest: () => Promise<readonly Mutant[]>;
  };
}

interface Mutant {
  readonly status: string;
  readonly fileName: string;
  readonly mutatorName: string;
  readonly replacement: string;
  readonly location: { readonly start: { readonly line: number; readonly column: number } };
}

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { concurrency: { type: 'string', default: '2' } },
});

/** Results are kept here. The next run tests only what has changed since: see docs/reference/mutants.md. */
const kept = join('.weir', 'mutants');
const installed = createRequire(join(import.meta.dirname, 'stryker', 'package.json'));
const pathOf = (name: string): string => pathToFileURL(installed.resolve(name)).href;
const { Stryker } = (await import(pathOf('@stryker-mutator/core'))) as StrykerModule;

function testMutants({ name, sources, tests }: MutatedFolder): Promise<readonly Mutant[]> {
  process.env['WEIR_MUTANTS_TESTS'] = tests.join(' ');
  const stryker = new Stryker({
    mutate: sources,
    plugins: [pathOf('@stryker-mutator/vitest-runner')],
    testRunner: 'vitest',
    vitest: { configFile: 'test/mutants/vitest.config.ts', related: false, pool: 'threads' },
    coverageAnalysis: 'perTest',
    concurrency: Number(values.concurrency),
    incremental: true,
    incrementalFile: join(kept, `${name}.json`),
    tempDirName: join(kept, `${name}.tmp`),
    // Stryker would read it with the API of TypeScript, which the native compiler does not have.
    tsconfigFile: 'none',
    // The copy that is mutated needs nothing else.
    ignorePatterns: [
      '*',
      ...['/src', '/src/**', '/test', '/test/support', '/test/support/*.ts'].map((path) => `!${path}`),
      ...['/test/mutants', '/test/mutants/*.ts', '/package.json', '/tsconfig.json'].map((path) => `!${path}`),
    ],
    reporters: ['progress-append-only'],
    // A mutant that loops is ended by its number of iterations. Time ends those that block their thread.
    timeoutMS: 30_000,
  });
  return stryker.runMutationTest();
}

const found = new Set(['Killed', 'Timeout']);
const alive = new Set(['Survived', 'NoCoverage']);

const wanted = mutatedFolders.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
if (wanted.length === 0) {
  const names = mutatedFolders.map(({ name }) => name).join(', ');
  throw new Error(`There is no folder ${positionals.join(', ')}. Expected one of ${names}.`);
}
for (const folder of wanted) {
  const mutants = await testMutants(folder);
  const killed = mutants.filter(({ status }) => found.has(status));
  const survivors = mutants.filter(({ status }) => alive.has(status));
  const count = killed.length + survivors.length;
  const score = ((killed.length / count) * 100).toFixed(1);
  console.log(`\n${folder.name}: ${count} mutants, ${survivors.length} survive, score ${score} %`);
  for (const { fileName, location, mutatorName, replacement } of survivors) {
    console.log(
      `  ${relative('', fileName)}:${location.start.line}:${location.start.column} ${mutatorName}: ${replacement}`,
    );
  }
}
