import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';

// The scripts of package.json work on a fresh clone and after `npm start` alone: each goes through an entry point that
// installs what is missing. test/house/run.test.ts runs one in such a folder.

const root = join(import.meta.dirname, '..', '..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const { scripts } = JSON.parse(read('package.json')) as { readonly scripts: Readonly<Record<string, string>> };
const { packages } = JSON.parse(read('package-lock.json')) as {
  readonly packages: Readonly<Record<string, { readonly bin?: Readonly<Record<string, string>> }>>;
};
const tools = new Set(Object.values(packages).flatMap(({ bin = {} }) => Object.keys(bin)));

/** What is wrong with a script, if anything. */
function problemOf(script: string): string | undefined {
  for (const command of script.split(' && ')) {
    const [, entry, rest = ''] = /^(?:exec )?node bin\/(weir|test|run)\.mjs(.*)$/.exec(command) ?? [];
    if (entry === undefined) return `${command}: goes through none of bin/weir.mjs, bin/test.mjs and bin/run.mjs`;
    if (entry !== 'run') continue;
    const [, folder, target = ''] = /^(?: --pages| --packages (\S+))* (\S+)/.exec(rest) ?? [];
    if (folder !== undefined && !existsSync(join(root, folder, 'package-lock.json'))) {
      return `${command}: ${folder} has no package-lock.json`;
    }
    const isThere = target.endsWith('.ts') ? existsSync(join(root, target)) : tools.has(target);
    if (!isThere) return `${command}: ${target} is neither a file nor a tool of package-lock.json`;
  }
  return undefined;
}

it.each(Object.entries(scripts))('npm run %s installs what it needs', (_, script) => {
  expect(problemOf(script)).toBeUndefined();
});

it.each([
  ['a tool alone', 'oxfmt', 'goes through none'],
  ['a program without its packages', 'node bench/main.ts', 'goes through none'],
  ['the second of two', 'node bin/run.mjs tsc && tsc -p portal', 'goes through none'],
  ['a tool that there is not', 'node bin/run.mjs oxfmtt', 'neither a file nor a tool'],
  ['a file that there is not', 'node bin/run.mjs --pages bench/page.ts', 'neither a file nor a tool'],
  ['a folder without packages', 'node bin/run.mjs --packages bench bench/main.ts', 'bench has no package-lock.json'],
])('%s is refused', (_, script, problem) => {
  expect(problemOf(script)).toContain(problem);
});

/** Helpers that start programs which npm does not bring. */
const starters = new Set(
  ['support/chromium', 'support/postgres', 'support/valkey', 'support/llama', 'support/vllm', 'clients/install'].map(
    (name) => `test/${name}.ts`,
  ),
);

/** The files that a program loads, itself included. */
function loadedFiles(file: string, known = new Set<string>()): ReadonlySet<string> {
  if (known.has(file) || !file.endsWith('.ts') || !existsSync(join(root, file))) return known;
  known.add(file);
  for (const [, path = ''] of read(file).matchAll(/^(?:import|export)(?! type)[^;]*?from '(\.[^']+)';/gm)) {
    loadedFiles(join(dirname(file), path), known);
  }
  return known;
}

describe('a program that starts what npm does not bring says so before its work', () => {
  const programs = Object.values(scripts).flatMap((script) => script.split(' ').filter((word) => word.endsWith('.ts')));
  const needy = programs.filter((file) => !loadedFiles(file).isDisjointFrom(starters));

  it('is looked for among programs with such helpers', () => {
    for (const file of starters) expect(existsSync(join(root, file)), file).toBe(true);
    expect(needy).toEqual(expect.arrayContaining(['bench/pages.ts', 'bench/scale.ts', 'test/clients/newest.ts']));
    expect(needy).not.toContain('test/simulation/main.ts');
  });

  it.each(needy)('%s', (file) => {
    expect(read(file)).toMatch(/await needPrograms\('/);
  });
});
