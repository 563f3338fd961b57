/** `npm run mutants`: changes the code that counts money in small ways, and lists the changes that no test notices. */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Stryker } from '@stryker-mutator/core';
import { type MutatedFolder, mutatedFolders } from './folders.ts';

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { concurrency: { type: 'string', default: '2' } },
});

/** Results are kept here. The next run tests only what has changed since. */
const kept = join('.weir', 'mutants');

async function testMutants({ name, sources, tests }: MutatedFolder) {
  process.env['WEIR_MUTANTS_TESTS'] = tests.join(' ');
  const stryker = new Stryker({
    mutate: [...sources],
    testRunner: 'vitest',
    vitest: { configFile: 'test/mutants/vitest.config.ts', related: false },
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
      ...['/test/mutants', '/test/mutants/**', '/package.json', '/tsconfig.json'].map((path) => `!${path}`),
    ],
    reporters: ['progress-append-only'],
    // A mutant that loops is ended by its number of iterations. Time only ends one that waits, also on a busy machine.
    timeoutMS: 120_000,
  });
  return stryker.runMutationTest();
}

const wanted = mutatedFolders.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
if (wanted.length === 0) {
  const names = mutatedFolders.map(({ name }) => name).join(', ');
  throw new Error(`There is no folder ${positionals.join(', ')}. Expected one of ${names}.`);
}
for (const folder of wanted) {
  const mutants = (await testMutants(folder)).filter(({ status }) => status !== 'Ignored');
  const alive = mutants.filter(({ status }) => status === 'Survived' || status === 'NoCoverage');
  const share = ((1 - alive.length / mutants.length) * 100).toFixed(1);
  console.log(`\n${folder.name}: ${mutants.length} mutants, ${alive.length} not found, score ${share} %`);
  for (const { fileName, location, mutatorName, replacement } of alive) {
    console.log(`  ${fileName}:${location.start.line}:${location.start.column} ${mutatorName}: ${replacement}`);
  }
}
