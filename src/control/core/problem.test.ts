import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { sampleProblem, sampleReport } from '../../../test/support/sample-problem.ts';
import { causes, causeWords } from '../../core/cause.ts';
import { dependencyCauses, dependencyWords, isDependencyCause } from '../../core/dependency-cause.ts';
import {
  byUrgency,
  cutProblems,
  listedProblem,
  mergeProblems,
  type Problem,
  problemId,
  problemKinds,
  type ProblemReport,
} from './problem.ts';

const noon = Date.parse('2026-07-01T12:00:00Z');
const services = (...reports: readonly ProblemReport[]) =>
  reports.map((report, index) => ({ name: String(index + 1), report }));
const at = (time: string): string => `2026-07-01T${time}.000Z`;

describe('the problems of several services', () => {
  it('are one list, each problem once, since the earliest moment', () => {
    const merged = mergeProblems(
      services(
        sampleReport([sampleProblem({ since: at('12:00:09') })]),
        sampleReport([sampleProblem({ since: at('12:00:05'), problem: 'As the second one says it.' })]),
      ),
      noon,
    );
    expect(merged).toEqual([sampleProblem({ since: at('12:00:05'), problem: 'As the second one says it.' })]);
  });

  it('say which services see one that not all see', () => {
    const has = sampleReport([sampleProblem()]);
    const merged = mergeProblems(services(has, sampleReport(), sampleReport()), noon);
    expect(merged.map(({ problem }) => problem)).toEqual(['No endpoint takes requests. (seen by service 1 alone)']);
    const two = mergeProblems(services(has, sampleReport(), has), noon);
    expect(two[0]?.problem).toBe('No endpoint takes requests. (seen by 2 of 3 services)');
    expect(two[0]?.id).toBe(sampleProblem().id);
  });

  it('are two of one object where their details differ', () => {
    const refused = ['spec.id', 'spec.routes'].map((detail) => {
      const identity = { object: 'Model/a', kind: 'object-refused', detail } as const;
      return sampleProblem({ id: problemId(identity), object: 'Model/a', kind: 'object-refused' });
    });
    expect(mergeProblems(services(sampleReport(refused)), noon)).toHaveLength(2);
  });

  it('begin with the most urgent kind, and with the oldest of a kind', () => {
    const list = [
      sampleProblem({ object: 'Backend/young', since: at('12:00:07') }),
      sampleProblem({ object: 'Backend/old', since: at('12:00:01') }),
      sampleProblem({ object: 'database', kind: 'database-down', since: at('12:00:09') }),
    ];
    expect(list.toSorted(byUrgency).map(({ object }) => object)).toEqual(['database', 'Backend/old', 'Backend/young']);
  });
});

describe('a service with another catalog', () => {
  const serving = (version: string, served_at: string): ProblemReport => ({
    catalog: { version, served_at },
    problems: [],
  });
  const lag = (now: string, ...reports: readonly ProblemReport[]) =>
    mergeProblems(services(...reports), Date.parse(at(now))).map(({ object, since }) => [object, since]);

  it.each<readonly [string, string, readonly ProblemReport[], readonly (readonly [string, string])[]]>([
    [
      'lags behind most',
      '12:01:00',
      [serving('v2', at('12:00:10')), serving('v2', at('12:00:11')), serving('v1', at('11:00:00'))],
      [['service/3', at('12:00:10')]],
    ],
    [
      'lags behind the newer one of two',
      '12:01:00',
      [serving('v2', at('12:00:10')), serving('v1', at('11:00:00'))],
      [['service/2', at('12:00:10')]],
    ],
    ['has fifteen seconds to follow', '12:00:24', [serving('v2', at('12:00:10')), serving('v1', at('11:00:00'))], []],
    [
      'is none where all have the same, however long',
      '13:00:00',
      [serving('v1', at('11:00:00')), serving('v1', at('12:00:00'))],
      [],
    ],
    ['is none where there is one service', '13:00:00', [serving('v1', at('11:00:00'))], []],
    ['is none where no service answers', '13:00:00', [], []],
  ])('%s', (_, now, reports, expected) => {
    expect(lag(now, ...reports)).toEqual(expected);
  });
});

it('a list that is cut ends with the count of the others, and with their earliest time', () => {
  const list = ['12:00:03', '12:00:02', '12:00:01'].map((time) =>
    sampleProblem({ object: `Backend/${time}`, since: at(time) }),
  );
  expect(cutProblems(list, 3)).toBe(list);
  expect(cutProblems(list, 1)).toEqual([
    list[0],
    expect.objectContaining({ problem: '2 more problems are not listed here.', since: at('12:00:01') }),
  ]);
});

it('every kind is described in docs/operate/problems.md, in the order of the list', () => {
  const [page = ''] = readFileSync('docs/operate/problems.md', 'utf8').split('\n## Causes\n');
  expect([...page.matchAll(/^\| `([\w-]+)` \| `.+` \| .+ \|$/gm)].map(([, kind]) => kind)).toEqual([...problemKinds]);
});

describe('a problem in a row of the portal', () => {
  it.each<readonly [Partial<Problem>, title: string, severity: string]>([
    [{ kind: 'backend-down' }, 'has no endpoint for requests', 'warning'],
    [{ kind: 'backend-down', cause: 'credential-refused' }, 'refuses its key', 'warning'],
    [{ kind: 'backend-down', cause: 'credential-refused', model: 'org/a' }, 'refuses its key', 'critical'],
    [{ kind: 'backend-down', cause: 'of a later version' }, 'has no endpoint for requests', 'warning'],
    [{ kind: 'database-down', cause: 'disk-full' }, 'has a full disk', 'critical'],
    [{ kind: 'valkey-down', cause: 'loading' }, 'is starting', 'warning'],
    [{ kind: 'model-failing', cause: 'loading', model: 'org/a' }, 'is loading its model', 'critical'],
    [{ kind: 'object-refused' }, 'has a mistake', 'warning'],
  ])('%j', (changes, title, severity) => {
    expect(listedProblem(sampleProblem(changes))).toMatchObject({ title, severity });
  });

  it('has at most six words', () => {
    const titles = [
      ...problemKinds.map((kind) => listedProblem(sampleProblem({ kind })).title),
      ...(Object.keys(causes) as (keyof typeof causes)[]).map(causeWords),
      ...Object.keys(dependencyCauses).filter(isDependencyCause).map(dependencyWords),
    ];
    expect(titles.filter((title) => title.split(' ').length > 6)).toEqual([]);
  });
});
