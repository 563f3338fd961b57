/** Changes the code that counts money in small ways, and lists the changes that no test notices. */
import { execFileSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, matchesGlob, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { chanceFrom } from '../support/chance.ts';
import { type MutatedFolder, mutatedFolders } from './folders.ts';
import { secondPass } from './second-pass.ts';
import { changedLines, type LineRange } from './support/changed-lines.ts';
import type { Mutant } from './support/mutants.ts';
import { sampledLines } from './support/sampled-lines.ts';

/** The part of Stryker that is used. Its own types are not there when the code is checked: see package.json. */
interface StrykerModule {
  readonly Stryker: new (options: Readonly<Record<string, unknown>>) => {
    readonly runMutationTest: () => Promise<readonly Mutant[]>;
  };
}

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    concurrency: { type: 'string', default: '2' },
    // Only what the branch has changed since this commit, or since it left `main`.
    changed: { type: 'boolean', default: false },
    since: { type: 'string' },
    // Only so many percent of the lines, drawn by the seed.
    sample: { type: 'string' },
    seed: { type: 'string', default: '1' },
    // What is not found then meets the simulation.
    second: { type: 'boolean', default: false },
    worlds: { type: 'string', default: '12' },
    tries: { type: 'string', default: '3' },
  },
});

/** Results are kept here. The next run tests only what has changed since: see docs/lab/mutants.md. */
const kept = join('.weir', 'mutants');
const installed = createRequire(join(import.meta.dirname, 'stryker', 'package.json'));
const pathOf = (name: string): string => pathToFileURL(installed.resolve(name)).href;
const { Stryker } = (await import(pathOf('@stryker-mutator/core'))) as StrykerModule;

const git = (...args: readonly string[]): string => execFileSync('git', args, { encoding: 'utf8' });

const takenBy = ({ sources }: MutatedFolder): readonly string[] => sources.filter((one) => !one.startsWith('!'));

function isIn(folder: MutatedFolder, file: string): boolean {
  const matches = (one: string): boolean => matchesGlob(file, one.replace(/^!/, ''));
  return takenBy(folder).some(matches) && !folder.sources.some((one) => one.startsWith('!') && matches(one));
}

/** Lines of a file, as Stryker selects them. */
const selected = (file: string, ranges: readonly LineRange[]): readonly string[] =>
  ranges.map(([from, to]) => `${file}:${from}-${to}`);

/** The lines of a folder that were changed. */
const changedIn = (folder: MutatedFolder, diff: string): readonly string[] =>
  [...changedLines(diff)].flatMap(([file, ranges]) => (isIn(folder, file) ? selected(file, ranges) : []));

/** A share of the lines of a folder. */
function sampledIn(folder: MutatedFolder, share: number): readonly string[] {
  const chance = chanceFrom(Number(values.seed));
  return globSync([...takenBy(folder)])
    .filter((file) => isIn(folder, file))
    .toSorted()
    .flatMap((file) => selected(file, sampledLines(readFileSync(file, 'utf8').split('\n').length, share, chance)));
}

function testMutants({ name, sources, tests }: MutatedFolder): Promise<readonly Mutant[]> {
  process.env['WEIR_MUTANTS_TESTS'] = tests.join(' ');
  const stryker = new Stryker({
    mutate: sources,
    plugins: [pathOf('@stryker-mutator/vitest-runner')],
    testRunner: 'vitest',
    vitest: { configFile: 'test/mutants/vitest.config.ts', related: false, pool: 'threads' },
    coverageAnalysis: 'perTest',
    concurrency: Number(values.concurrency),
    incremental: !values.changed && values.sample === undefined,
    incrementalFile: join(kept, `${name}.json`),
    tempDirName: join(kept, `${name}.tmp`),
    // Stryker would read it with the API of TypeScript, which the native compiler does not have.
    tsconfigFile: 'none',
    // The copy that is mutated needs nothing else.
    ignorePatterns: [
      ...['*', '!/src', '!/src/**', '!/test', '!/test/**', '/test/mutants/stryker', '!/envoy', '!/envoy/**'],
      ...['!/docs', '!/docs/**', '!/package.json', '!/tsconfig.json'],
    ],
    reporters: ['progress-append-only'],
    // On a busy machine, the first run of all tests takes longer than the usual five minutes.
    dryRunTimeoutMinutes: 20,
    // A mutant that loops is ended by its number of iterations. Time ends those that block their thread.
    timeoutMS: 30_000,
  });
  return stryker.runMutationTest();
}

const found = new Set(['Killed', 'Timeout']);
const alive = new Set(['Survived', 'NoCoverage']);

const named = mutatedFolders.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
if (named.length === 0) {
  const names = mutatedFolders.map(({ name }) => name).join(', ');
  throw new Error(`There is no folder ${positionals.join(', ')}. Expected one of ${names}.`);
}
const say = (line: string): void => console.log(line);
const write = ({ fileName, location: { start }, mutatorName, replacement }: Mutant): string =>
  `${relative('', fileName)}:${start.line}:${start.column} ${mutatorName}: ${replacement}`;
const share = (part: number, whole: number): string => ((part / whole) * 100).toFixed(1);

const diff = values.changed
  ? git('diff', '--unified=0', '--no-color', values.since ?? git('merge-base', 'main', 'HEAD').trim(), '--', 'src')
  : undefined;
const wanted = named.map((folder) => {
  if (diff !== undefined) return { ...folder, sources: changedIn(folder, diff) };
  return values.sample === undefined ? folder : { ...folder, sources: sampledIn(folder, Number(values.sample) / 100) };
});
for (const folder of wanted) {
  if (folder.sources.length === 0) continue;
  const mutants = await testMutants(folder);
  const killed = mutants.filter(({ status }) => found.has(status));
  const survivors = mutants.filter(({ status }) => alive.has(status));
  const count = killed.length + survivors.length;
  say(`\n${folder.name}: ${count} mutants, ${survivors.length} survive, score ${share(killed.length, count)} %`);
  for (const mutant of survivors) say(`  ${write(mutant)}`);
  if (!values.second || survivors.length === 0) continue;
  const pass = secondPass(
    survivors.map((mutant) => ({ ...mutant, fileName: relative('', mutant.fileName) })),
    { folder: kept, worlds: Number(values.worlds), tries: Number(values.tries), say },
  );
  say(`${folder.name}: score ${share(killed.length + pass.noticed.length, count)} % with the simulation, which finds`);
  for (const { mutant, seed, says } of pass.noticed) say(`  ${write(mutant)}\n    seed ${seed}: ${says.slice(0, 160)}`);
  say(`reached by no world: ${pass.unreached.length}`);
  for (const mutant of pass.unreached) say(`  ${write(mutant)}`);
  say(`alive: ${pass.alive.length}`);
  for (const mutant of pass.alive) say(`  ${write(mutant)}`);
}
