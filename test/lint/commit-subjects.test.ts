import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

// The rule for commit subjects (CONTRIBUTING.md). It holds for the commits after the one that added this file.

const root = join(import.meta.dirname, '..', '..');
const thisFile = relative(root, import.meta.filename);
const maxLength = 72;

/** Verbs that end like another form. */
const imperatives = new Set([
  ...['alias', 'bias', 'focus'],
  ...['bring', 'cling', 'ping', 'ring', 'spring', 'string', 'swing', 'wring'],
  ...['embed', 'shed', 'shred'],
]);
/** Words that begin a statement. */
const statements = new Set([
  ...['a', 'all', 'an', 'each', 'every', 'it', 'its', 'no', 'one', 'that', 'the', 'there', 'these', 'this', 'two'],
  ...['are', 'been', 'can', 'did', 'got', 'had', 'made', 'may', 'must', 'ran', 'took', 'was', 'went', 'were', 'will'],
]);

/** What is wrong with a subject; undefined if nothing is. */
function problemOf(subject: string): string | undefined {
  if (subject.length > maxLength) return `${subject.length} characters, at most ${maxLength}`;
  const [, area = '', rest = ''] = /^([a-z][a-z0-9 ,./_-]*): (\S.*)$/.exec(subject) ?? [];
  if (area === '' || statements.has(area.split(' ')[0] ?? '')) return 'expected an area in lower case, then ": "';
  if (rest.endsWith('.')) return 'ends in a full stop';
  const [verb] = /^[a-z]+(?:-[a-z]+)*(?= |$)/.exec(rest) ?? [];
  if (verb === undefined) return 'expected a verb in lower case after the area';
  if (imperatives.has(verb)) return undefined;
  if (statements.has(verb) || /[^s]s$|[^e]ed$|ing$/.test(verb)) return `"${verb}" is no imperative`;
  return undefined;
}

/** The output of git in a folder; undefined if there is no git, or if the folder is not the top of a repository. */
function git(folder: string, ...args: readonly string[]): string | undefined {
  // A hook sets variables that name another repository than the folder's.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('GIT_')));
  const run = (...words: readonly string[]): string =>
    execFileSync('git', words, { cwd: folder, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  try {
    // An unpacked archive may lie inside another repository.
    if (realpathSync(run('rev-parse', '--show-toplevel')) !== realpathSync(folder)) return undefined;
    return run(...args);
  } catch {
    return undefined;
  }
}

/**
 * The subjects of the commits after the one that added a file, without merges. A commit of a branch that began before that
 * one is not after it. None in a folder without a history; in a shallow clone, those that it has.
 */
function subjectsAfter(folder: string, file: string): readonly string[] {
  const start = git(folder, 'log', '--diff-filter=A', '--format=%H', '--', file)?.split('\n').at(-1);
  if (start === undefined || start === '') return [];
  const log = git(folder, 'log', '--no-merges', '--ancestry-path', '--format=%h %s', `${start}..HEAD`) ?? '';
  return log === '' ? [] : log.split('\n').map((line) => line.slice(line.indexOf(' ') + 1));
}

it('commit subjects are imperative, with the area first', () => {
  const wrong = subjectsAfter(root, thisFile).flatMap((subject) => {
    const problem = problemOf(subject);
    return problem === undefined ? [] : [`${subject}: ${problem}`];
  });
  expect(wrong).toEqual([]);
});

it('the examples of CONTRIBUTING.md follow the rule', () => {
  const page = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8');
  const [, block = ''] = /\n## Commits\n.*?```text\n(.*?)```/s.exec(page) ?? [];
  const examples = block.trim().split('\n');
  expect(examples).toHaveLength(5);
  expect(examples.map(problemOf)).toEqual(examples.map(() => undefined));
});

it.each([
  'simulation: hold the SQLite lock without shared memory',
  'keys: keep thresholds across rotation',
  'ops: count open files instead of listing them',
  'portal, api: pass the tag of a budget',
  'test/envoy: embed the list of cases',
  'charts/weir: need no seed',
  'journal: re-read rows that its disk may keep',
  `docs: ${'x'.repeat(66)}`,
])('%s', (subject) => {
  expect(problemOf(subject)).toBeUndefined();
});

it.each([
  [`docs: ${'x'.repeat(67)}`, '73 characters'],
  ['The portal asks each service once', 'an area'],
  ['Add a table of limits', 'an area'],
  ['the portal: ask each service once', 'an area'],
  ['Docs: generate the table of limits', 'an area'],
  ['docs:generate the table of limits', 'an area'],
  ['docs: ', 'an area'],
  ['fixup! docs: generate the table of limits', 'an area'],
  ['docs: Generate the table of limits', 'a verb'],
  ['docs: `npm start` in one line', 'a verb'],
  ['docs: generate the table of limits.', 'full stop'],
  ['docs: adds a table of limits', 'adds'],
  ['docs: added a table of limits', 'added'],
  ['docs: adding a table of limits', 'adding'],
  ['docs: is generated', 'is'],
  ['docs: has a table of limits', 'has'],
  ['docs: are generated', 'are'],
  ['docs: the table of limits is generated', 'the'],
])('%s: refused', (subject, problem) => {
  expect(problemOf(subject)).toContain(problem);
});

// An archive may be unpacked where there is no git.
describe.skipIf(spawnSync('git', ['--version']).status !== 0)('of a history', () => {
  let folder: string;
  const file = 'rule.test.ts';
  const run = (...args: readonly string[]): string | undefined =>
    git(folder, '-c', 'user.name=t', '-c', 'user.email=t@localhost', '-c', 'commit.gpgsign=false', ...args);
  const commit = (subject: string): void => void run('commit', '--allow-empty', '--message', subject);

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'weir-subjects-'));
    spawnSync('git', ['init', '--quiet', '--initial-branch', 'main', folder]);
    commit('The first one');
    run('branch', 'older');
    writeFileSync(join(folder, file), '');
    run('add', file);
    commit('The rule is added');
  });

  afterEach(() => rmSync(folder, { recursive: true }));

  it('the commits after the rule are checked, without merges and without branches that began before it', () => {
    expect(subjectsAfter(folder, file)).toEqual([]);
    run('checkout', '--quiet', '-b', 'younger');
    commit('a: of a younger branch');
    run('checkout', '--quiet', 'older');
    commit('Of an older branch');
    run('checkout', '--quiet', 'main');
    commit('b: of the branch itself');
    run('merge', '--quiet', '--no-ff', '--message', 'Merge', 'younger', 'older');
    expect(subjectsAfter(folder, file).toSorted()).toEqual(['a: of a younger branch', 'b: of the branch itself']);
  });

  it('the rule that was removed and added again still holds from its first commit on', () => {
    run('rm', '--quiet', file);
    commit('a: remove it');
    writeFileSync(join(folder, file), '');
    run('add', file);
    commit('a: add it again');
    expect(subjectsAfter(folder, file)).toEqual(['a: add it again', 'a: remove it']);
  });

  it('a shallow clone without a branch has the commits that it has', () => {
    commit('a: first');
    commit('a: second');
    const clone = join(folder, 'clone');
    run('clone', '--quiet', '--depth', '2', `file://${folder}`, clone);
    git(clone, 'checkout', '--quiet', '--detach');
    expect(subjectsAfter(clone, file)).toEqual(['a: second']);
  });

  it('a folder without a history has none, even inside a repository', () => {
    const inside = join(folder, 'unpacked');
    mkdirSync(inside);
    writeFileSync(join(inside, file), '');
    expect(subjectsAfter(inside, file)).toEqual([]);
    rmSync(join(folder, '.git'), { recursive: true });
    expect(subjectsAfter(folder, file)).toEqual([]);
  });
});
