import type { Sample } from './sample.ts';
import { loneStreams, type Scenario } from './scenarios.ts';
import type { TargetName } from './target.ts';

/** Several rounds of one measurement. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** A line of the result: Weir beside plain Envoy, compared round by round. */
export interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly plain: Spread | undefined;
  readonly weir: Spread | undefined;
  /** Weir ÷ plain, or Weir − plain, of the same round. */
  readonly compared: Spread | undefined;
  readonly comparison: 'ratio' | 'added';
}

/** What Weir's processes cost, beside what plain Envoy costs for the same. */
export interface Cost {
  readonly name: string;
  readonly unit: string;
  readonly service: Spread | undefined;
  readonly envoy: Spread | undefined;
  readonly plain: Spread | undefined;
  /** What the load and the mock engine take beside Weir, on the same cores. */
  readonly bench: Spread | undefined;
}

/** What is read of one target's samples in each round. */
export interface Measure {
  readonly name: string;
  readonly unit: string;
  readonly scenario: Scenario['name'];
  readonly read: (sample: Sample) => number | undefined;
  readonly comparison: Figure['comparison'];
}

const added = { unit: 'ms', comparison: 'added' } as const;

/** What a second of processor time gives, the bench's own share included: what the rates would be on an otherwise idle machine. */
const perProcessorSecond = ({ answersPerSecond, cpuMsPerSecond }: Sample): number | undefined => {
  const { service = 0, envoy, bench } = cpuMsPerSecond;
  const ms = envoy === undefined || bench === undefined ? 0 : service + envoy + bench;
  return ms === 0 ? undefined : (answersPerSecond * 1000) / ms;
};

const byTime = { unit: '/s', read: perProcessorSecond, comparison: 'ratio' } as const;

export const measures: readonly Measure[] = [
  {
    name: 'JSON answers',
    unit: '/s',
    scenario: 'json',
    read: (s) => s.answersPerSecond,
    comparison: 'ratio',
  },
  {
    name: 'streams of 100 chunks',
    unit: '/s',
    scenario: 'streams',
    read: (s) => s.answersPerSecond,
    comparison: 'ratio',
  },
  {
    name: 'streams, all in one write',
    unit: '/s',
    scenario: 'one-write',
    read: (s) => s.answersPerSecond,
    comparison: 'ratio',
  },
  {
    name: 'streams, in ten writes',
    unit: '/s',
    scenario: 'ten-writes',
    read: (s) => s.answersPerSecond,
    comparison: 'ratio',
  },
  { ...byTime, name: 'JSON, per processor second', scenario: 'json' },
  { ...byTime, name: 'streams, per processor second', scenario: 'streams' },
  { ...byTime, name: 'one write, per processor second', scenario: 'one-write' },
  { ...byTime, name: 'ten writes, per processor second', scenario: 'ten-writes' },
  {
    ...added,
    name: 'first byte p50, streams at 200/s',
    scenario: 'first-byte-stream',
    read: (s) => s.firstByteP50Ms,
  },
  {
    ...added,
    name: 'first byte p99, streams at 200/s',
    scenario: 'first-byte-stream',
    read: (s) => s.firstByteP99Ms,
  },
  {
    ...added,
    name: 'first byte p50, JSON at 200/s',
    scenario: 'first-byte-json',
    read: (s) => s.firstByteP50Ms,
  },
  {
    ...added,
    name: 'first byte p99, JSON at 200/s',
    scenario: 'first-byte-json',
    read: (s) => s.firstByteP99Ms,
  },
];

export function figuresOf(samples: readonly Sample[]): readonly Figure[] {
  return measures.map(({ name, unit, scenario, read, comparison }) => {
    const pick = (target: TargetName): ReadonlyMap<number, number> => byRound(samples, { target, scenario, read });
    const plain = pick('plain');
    const weir = pick('weir');
    const compared = spreadOf(
      [...weir].flatMap(([round, value]) => {
        const base = plain.get(round);
        if (base === undefined || (comparison === 'ratio' && base === 0)) return [];
        return [comparison === 'ratio' ? value / base : value - base];
      }),
    );
    return {
      name,
      unit,
      plain: spreadOf([...plain.values()]),
      weir: spreadOf([...weir.values()]),
      compared,
      comparison,
    };
  });
}

/** Processor time of a gateway's programs in a second; undefined where the system does not say. */
export function gatewayMs({ cpuMsPerSecond: { service, envoy } }: Sample): number | undefined {
  return service === undefined && envoy === undefined ? undefined : (service ?? 0) + (envoy ?? 0);
}

export const perAnswer = (sample: Sample, ms: number | undefined): number | undefined =>
  ms === undefined || sample.answersPerSecond === 0 ? undefined : ms / sample.answersPerSecond;
export const perChunk = (sample: Sample, ms: number | undefined): number | undefined =>
  ms === undefined || sample.chunksPerSecond === 0 ? undefined : (ms * 1000) / sample.chunksPerSecond;

/** Processor time, user and system, of the service and of Envoy separately. */
export function costsOf(samples: readonly Sample[]): readonly Cost[] {
  const cost = (name: string, unit: string, scenario: Scenario['name'], per: typeof perAnswer): Cost => {
    const spread = (target: TargetName, share: keyof Sample['cpuMsPerSecond']): Spread | undefined =>
      spreadOf([
        ...byRound(samples, { target, scenario, read: (sample) => per(sample, sample.cpuMsPerSecond[share]) }).values(),
      ]);
    return {
      name,
      unit,
      service: spread('weir', 'service'),
      envoy: spread('weir', 'envoy'),
      plain: spread('plain', 'envoy'),
      bench: spread('weir', 'bench'),
    };
  };
  const pace = (scenario: Scenario['name']): string => {
    const read = (sample: Sample): number => sample.chunksPerSecond;
    const rates = (['weir', 'plain'] as const).map((target) => [
      ...byRound(samples, { target, scenario, read }).values(),
    ]);
    return `${Math.round((spreadOf(rates.find(({ length }) => length > 0) ?? [])?.median ?? 0) / 100) * 100}/s`;
  };
  return [
    cost('per JSON answer, full load', 'ms', 'json', perAnswer),
    cost('per JSON answer, 200/s', 'ms', 'first-byte-json', perAnswer),
    cost('per stream', 'ms', 'streams', perAnswer),
    cost('per stream, one write', 'ms', 'one-write', perAnswer),
    cost('per stream, ten writes', 'ms', 'ten-writes', perAnswer),
    cost('per stream, 200/s', 'ms', 'first-byte-stream', perAnswer),
    cost('per chunk', 'µs', 'streams', perChunk),
    cost('per chunk, one write', 'µs', 'one-write', perChunk),
    cost('per chunk, ten writes', 'µs', 'ten-writes', perChunk),
    ...loneStreams.map((streams) =>
      cost(`per chunk alone, ${streams} streams, ${pace(`alone-${streams}`)}`, 'µs', `alone-${streams}`, perChunk),
    ),
  ].filter((row) => row.service ?? row.plain);
}

interface Pick {
  readonly target: TargetName;
  readonly scenario: Scenario['name'];
  readonly read: (sample: Sample) => number | undefined;
}

/** A target's values of one scenario, by round. */
export function byRound(samples: readonly Sample[], { target, scenario, read }: Pick): ReadonlyMap<number, number> {
  const values = new Map<number, number>();
  for (const sample of samples) {
    if (sample.target !== target || sample.scenario !== scenario) continue;
    const value = read(sample);
    if (value !== undefined) values.set(sample.round, value);
  }
  return values;
}

export function spreadOf(values: readonly number[]): Spread | undefined {
  const sorted = values.toSorted((a, b) => a - b);
  const [min] = sorted;
  const max = sorted.at(-1);
  const upper = sorted[Math.floor(sorted.length / 2)];
  const lower = sorted[Math.ceil(sorted.length / 2) - 1];
  if (min === undefined || max === undefined || upper === undefined || lower === undefined) return undefined;
  return { median: (lower + upper) / 2, min, max };
}
