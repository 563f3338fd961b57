import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';

const names = z.record(z.string(), z.string()).default({});
const lock = z.object({
  packages: z.record(
    z.string(),
    z.object({ dependencies: names, optionalDependencies: names, resolved: z.string().optional() }),
  ),
});
const lockFiles = [
  ...['package-lock.json', 'test/clients/node/package-lock.json', 'test/clients/admin-api/package-lock.json'],
  ...['test/mutants/stryker/package-lock.json', 'docs/package-lock.json'],
] as const;
type Packages = z.infer<typeof lock>['packages'];

function packagesOf(path: string): Packages {
  return lock.parse(JSON.parse(readFileSync(join(import.meta.dirname, '../..', path), 'utf8'))).packages;
}

/** Where Node would find `name` from the package at `from`: in its own node_modules, else in those above. */
function isListed(packages: Packages, name: string, from: string): boolean {
  for (let folder = from; ; folder = folder.replace(/(^|\/)node_modules\/(@[^/]+\/)?[^/]+$/, '')) {
    if (`${folder === '' ? '' : `${folder}/`}node_modules/${name}` in packages) return true;
    if (folder === '') return false;
  }
}

// `npm install` leaves out an optional package (another platform's binary) that the registry at hand does not have, and
// then `npm ci`, what a fresh clone runs, refuses the lock file.
test.each(lockFiles)('%s lists the packages of every platform', (path) => {
  const packages = packagesOf(path);
  const missing = Object.entries(packages).flatMap(([from, { dependencies, optionalDependencies }]) =>
    Object.keys({ ...dependencies, ...optionalDependencies }).filter((name) => !isListed(packages, name, from)),
  );
  expect(missing).toEqual([]);
});

test.each(lockFiles)('%s names no registry', (path) => {
  expect(Object.values(packagesOf(path)).filter(({ resolved }) => resolved !== undefined)).toEqual([]);
});
