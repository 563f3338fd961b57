import { closeSync, globSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';

/**
 * What the first line of a test file may declare: `// @suite apart long`. Each mark stands with the files that may have it.
 * - `apart`: it measures its process (memory, event loop, threads, time) or changes it (variables, modules), so it has a process of its own.
 * - `alone`: it measures time or memory under load, or its gateway must find its ports free again. Such files run one by one, last.
 * - `waits`: it takes long, and less than half of a core: it waits for limits of time. Such files run beside the others.
 * - `both-databases`: the unit suite runs it on SQLite, and the suite `stores` once more on PostgreSQL.
 * - `slow`: a unit test that takes seconds, of a rule that others fail for, too, or one that needs a program which npm does not bring. `npm test`
 *   leaves it to `npm run test:all`.
 * - `long`: it takes half a minute, or ten seconds as a unit test, and starts before the others, so that no worker ends with one.
 */
const places = {
  apart: /^src\//,
  alone: /^test\/envoy\//,
  waits: /^test\/envoy\//,
  'both-databases': /^src\//,
  slow: /^(src|bench|examples|test\/(golden|lint|play|programmable-engine|runner|settlement|simulation|support))\//,
  long: /^/,
} as const;

export type SuiteMark = keyof typeof places;
/** The marked files, by mark, with their paths from the root. */
export type SuiteMarks = Readonly<Record<SuiteMark, readonly string[]>>;

/** A first line that declares what no suite has. */
export class SuiteMarkError extends Error {
  readonly file: string;
  readonly mark: string;
  constructor(file: string, mark: string, expected: string) {
    super(`${file}: "@suite ${mark}" is not known; expected ${expected}`);
    this.name = 'SuiteMarkError';
    this.file = file;
    this.mark = mark;
  }
}

/** Reads the first line of every test file below the root. Throws a SuiteMarkError. */
export function readSuiteMarks(root: string): SuiteMarks {
  const marked = Object.fromEntries(Object.keys(places).map((mark) => [mark, []])) as unknown as Record<
    SuiteMark,
    string[]
  >;
  for (const file of globSync('{src,examples,bench,test}/**/*.test.ts', { cwd: root }).toSorted()) {
    for (const mark of marksIn(file, firstLineOf(join(root, file)))) marked[mark].push(file);
  }
  return marked;
}

/** The marks of a file's first line; none where it declares none. */
export function marksIn(file: string, line: string): readonly SuiteMark[] {
  const [, words] = /^\/\/ @suite\b(.*)$/.exec(line) ?? [];
  if (words === undefined) return [];
  const expected = Object.entries(places).flatMap(([mark, place]) => (place.test(file) ? [mark] : []));
  return words
    .trim()
    .split(/\s+/)
    .map((word) => {
      if (isMark(word) && places[word].test(file)) return word;
      throw new SuiteMarkError(file, word, `one of ${expected.join(', ')}`);
    });
}

const isMark = (word: string): word is SuiteMark => Object.hasOwn(places, word);

/** Longest first line that is read. */
const lineBytes = 120;

function firstLineOf(path: string): string {
  const descriptor = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(lineBytes);
    const length = readSync(descriptor, bytes);
    return bytes.toString('utf8', 0, length).split('\n', 1)[0] ?? '';
  } finally {
    closeSync(descriptor);
  }
}
