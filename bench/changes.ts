import { byRound, gatewayMs, type Measure, measures, perAnswer, type Spread, spreadOf } from './figures.ts';
import type { Sample } from './sample.ts';
import type { TargetName } from './target.ts';

/** A figure of one gateway beside the same of another one, compared round by round. */
export interface Change {
  readonly name: string;
  readonly unit: string;
  readonly before: Spread | undefined;
  readonly now: Spread | undefined;
  /** `now` ÷ `before`, or `now` − `before`, of the same round. */
  readonly compared: Spread | undefined;
  readonly comparison: Measure['comparison'];
}

/** Processor time of an answer. */
const gatewayTime = (sample: Sample): number | undefined => perAnswer(sample, gatewayMs(sample));

const time = { unit: 'ms', read: gatewayTime, comparison: 'ratio' } as const;

const compared: readonly Measure[] = [
  ...measures,
  { ...time, name: 'processor time per JSON answer', scenario: 'json' },
  { ...time, name: 'processor time per JSON answer, one caller', scenario: 'json-one' },
  {
    ...{ name: 'first byte p50, JSON, one caller', unit: 'ms', scenario: 'json-one', comparison: 'ratio' },
    read: (s) => s.firstByteP50Ms,
  },
  { ...time, name: 'processor time per stream', scenario: 'streams' },
  { ...time, name: 'processor time per stream, one write', scenario: 'one-write' },
  { ...time, name: 'processor time per stream of lone chunks', scenario: 'alone-64' },
];

/** Two gateways, compared in everything that is measured. */
export interface Comparison {
  readonly before: TargetName;
  readonly now: TargetName;
  readonly changes: readonly Change[];
}

const pairs: readonly Pick<Comparison, 'before' | 'now'>[] = [
  { before: 'before', now: 'weir' },
  { before: 'peer', now: 'weir' },
  { before: 'weir', now: 'sampled' },
  { before: 'weir', now: 'traced' },
  { before: 'weir', now: 'events' },
  { before: 'weir', now: 'token' },
];

/** Every comparison for which both were measured. */
export function comparisonsOf(samples: readonly Sample[]): readonly Comparison[] {
  const measured = new Set(samples.map(({ target }) => target));
  return pairs
    .filter(({ before, now }) => measured.has(before) && measured.has(now))
    .map((pair) => ({ ...pair, changes: changesOf(samples, pair) }));
}

function changesOf(samples: readonly Sample[], names: Pick<Comparison, 'before' | 'now'>): readonly Change[] {
  return compared.map(({ name, unit, scenario, read, comparison }) => {
    const pick = (target: TargetName): ReadonlyMap<number, number> => byRound(samples, { target, scenario, read });
    const before = pick(names.before);
    const now = pick(names.now);
    const both = [...now].flatMap(([round, value]) => {
      const other = before.get(round);
      if (other === undefined || (comparison === 'ratio' && other === 0)) return [];
      return [comparison === 'ratio' ? value / other : value - other];
    });
    return {
      ...{ name, unit, comparison },
      before: spreadOf([...before.values()]),
      now: spreadOf([...now.values()]),
      compared: spreadOf(both),
    };
  });
}
