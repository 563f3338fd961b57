import { existsSync, readFileSync, statSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { danglingReferences, writtenFiles } from './references.ts';

const root = join(import.meta.dirname, '..', '..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

describe('what the repository refers to', () => {
  it('is there: documents, their sections and rules, decisions, links', () => {
    const files = writtenFiles(root);
    expect(files).toEqual(
      expect.arrayContaining(['README.md', 'src/gateway/request/pipeline.ts', 'docs/reference/api.md']),
    );
    expect(files.flatMap((path) => danglingReferences(path, root).map((what) => `${path}: ${what}`))).toEqual([]);
  });

  it.each([
    ['a section that there is', '/** It blocks (docs/reference/api.md §5, rule 5; RFC 9110 §5.5). */', []],
    ['a section that there is not', '// docs/reference/api.md §7.9', ['api.md has no §7.9']],
    ['the second of two', '// docs/reference/engines.md §3 to §17', ['engines.md has no §17']],
    ['a rule that there is not', '// docs/reference/api.md §5, rule 55', ['api.md §5 has no rule 55']],
    ['a section of the next line', '/** docs/reference/api.md\n * §7.9 */', ['api.md has no §7.9']],
    ['a section of nothing', '// The design §4 says so.', ['a section of what? // The design §4']],
    ['a page that there is not', '// docs/pitfalls.md has more.', ['there is no docs/pitfalls.md']],
    ['a decision that there is not', '// see decision 9999', ['there is no decision 9999']],
  ])('is looked for: %s', (_, source, missing) => {
    expect(danglingReferences('src/a.ts', root, source)).toEqual(missing);
  });

  it.each([
    ['a file', '[x](errors.md), [y](errrors.md)', ['the link errrors.md leads nowhere']],
    ['a heading', '[x](errors.md#refusals-of-engines), [y](#nowhere)', ['the link #nowhere leads nowhere']],
  ])('is followed by a link to %s', (_, source, missing) => {
    expect(danglingReferences('docs/reference/errors.md', root, source)).toEqual(missing);
  });
});

/** The rows of a table whose first column counts: a function and the file or folder that it is in. */
function walk(heading: string): readonly { readonly name: string; readonly place: string }[] {
  const page = read('docs/concepts/architecture.md');
  const chapter = page.slice(page.indexOf(heading)).split(/\n## |\n### /, 1)[0] ?? '';
  return [...chapter.matchAll(/^\| \d+ \| `(\w+)` \| `([\w./-]+)` \|/gm)].map(([, name = '', place = '']) => ({
    name,
    place,
  }));
}

describe.each([
  ['### 2.1 A streamed chat answer', 20, 25],
  ['## 3. Catalog change path', 7, 10],
])('the walk "%s"', (heading, least, most) => {
  it(`has ${least} to ${most} functions, each where the page says that it is`, async () => {
    const steps = walk(heading);
    expect(steps.length).toBeGreaterThanOrEqual(least);
    expect(steps.length).toBeLessThanOrEqual(most);
    for (const { name, place } of steps) {
      const isFolder = existsSync(join(root, place)) && statSync(join(root, place)).isDirectory();
      const files = isFolder ? (await readdir(join(root, place))).map((file) => join(place, file)) : [place];
      const defined = new RegExp(String.raw`^export (?:async )?(?:function|const) ${name}\b`, 'm');
      expect(
        files.filter((file) => defined.test(read(file))),
        `${name} in ${place}`,
      ).toHaveLength(1);
    }
  });
});

it('the walk of a request enters no folder twice but the pipeline', () => {
  const folders = walk('### 2.1 A streamed chat answer').map(({ place }) => place.replace(/\/[^/]*\.ts$/, ''));
  const entered = folders.filter((folder, at) => folder !== folders[at - 1] && folder !== 'src/gateway/request');
  expect(entered).toEqual([...new Set(entered)]);
});

it('the architecture names no file that is not there', () => {
  const named = [
    ...read('docs/concepts/architecture.md').matchAll(/`((?:src|test|envoy|scripts|examples)\/[\w./-]*\w)`/g),
  ];
  expect(named.map(([, path = '']) => path).filter((path) => !existsSync(join(root, path)))).toEqual([]);
});
