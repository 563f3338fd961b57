import { memoryPerByte } from './agents.ts';
import { byRound, gatewayMs, perAnswer, perChunk, type Spread, spreadOf } from './figures.ts';
import type { Sample } from './sample.ts';
import type { Scenario } from './scenarios.ts';
import type { TargetName } from './target.ts';

/** How a bar's figure is measured. */
type Source =
  | {
      readonly kind: 'load';
      readonly scenario: Scenario['name'];
      readonly read: (sample: Sample) => number | undefined;
      /** The figure is what comes on top of plain Envoy's, or of the target's own in another scenario, in the same round. */
      readonly over?: { readonly target: TargetName } | { readonly scenario: Scenario['name'] };
    }
  /** Memory of all programs before and after all loads, and with open streams after them. */
  | { readonly kind: 'memory'; readonly when: MemoryReading['when'] }
  | { readonly kind: 'idle-time' }
  | { readonly kind: 'start' }
  /** By another command, and entered here. */
  | { readonly kind: 'apart'; readonly command: string; readonly figure: number | undefined };

export interface Bar {
  /** For `--only`, and in the marks of the pages. */
  readonly name: string;
  readonly title: string;
  readonly unit: 'µs' | 'ms' | 's' | 'MiB' | '/s' | '';
  readonly limit: { readonly atMost: number } | { readonly atLeast: number };
  readonly source: Source;
}

const microsPerAnswer = (sample: Sample): number | undefined => scaled(perAnswer(sample, gatewayMs(sample)), 1_000);
const msPerAnswer = (sample: Sample): number | undefined => perAnswer(sample, gatewayMs(sample));
const overPlain = { target: 'plain' } as const;

function scaled(value: number | undefined, factor: number): number | undefined {
  return value === undefined ? undefined : value * factor;
}

const load = (scenario: Scenario['name'], read: (sample: Sample) => number | undefined) =>
  ({ kind: 'load', scenario, read }) as const;

/** What Weir is to reach with all features on, on two cores that load, engine and gateways share. A missed bar is reported and fails nothing. */
export const bars: readonly Bar[] = [
  {
    ...{ name: 'lone-word', title: 'a lone word, 64 streams: processor time', unit: 'µs', limit: { atMost: 75 } },
    source: load('alone-64', (sample) => perChunk(sample, gatewayMs(sample))),
  },
  {
    ...{ name: 'json', title: 'JSON answer, 16 callers: processor time', unit: 'µs', limit: { atMost: 600 } },
    source: load('json', microsPerAnswer),
  },
  {
    ...{ name: 'stream', title: 'stream of 100 chunks at once: processor time', unit: 'µs', limit: { atMost: 1_000 } },
    source: load('streams', microsPerAnswer),
  },
  {
    ...{ name: 'json-one', title: 'JSON answer, one caller: p50', unit: 'ms', limit: { atMost: 2 } },
    source: load('json-one', ({ durationP50Ms }) => durationP50Ms),
  },
  {
    ...{ name: 'prompt', title: '400 KB prompt, one caller: processor time', unit: 'ms', limit: { atMost: 10 } },
    source: load('chat-400-1', msPerAnswer),
  },
  {
    ...{ name: 'prompt-median', title: '… first byte p50, over plain Envoy', unit: 'ms', limit: { atMost: 6 } },
    source: { ...load('chat-400-1', ({ firstByteP50Ms }) => firstByteP50Ms), over: overPlain },
  },
  {
    ...{ name: 'prompt-tail', title: '… first byte p99, over plain Envoy', unit: 'ms', limit: { atMost: 20 } },
    source: { ...load('chat-400-1', ({ firstByteP99Ms }) => firstByteP99Ms), over: overPlain },
  },
  {
    ...{ name: 'long-prompt', title: '1.6 MB prompt, one caller: processor time', unit: 'ms', limit: { atMost: 35 } },
    source: load('chat-1600-1', msPerAnswer),
  },
  {
    ...{ name: 'long-prompt-median', title: '… first byte p50, over plain Envoy', unit: 'ms', limit: { atMost: 35 } },
    source: { ...load('chat-1600-1', ({ firstByteP50Ms }) => firstByteP50Ms), over: overPlain },
  },
  {
    ...{ name: 'prompts', title: '400 KB prompts, 16 callers: requests', unit: '/s', limit: { atLeast: 90 } },
    source: load('chat-400-16', ({ answersPerSecond }) => answersPerSecond),
  },
  {
    ...{ name: 'prompts-median', title: '… first byte p50', unit: 'ms', limit: { atMost: 150 } },
    source: load('chat-400-16', ({ firstByteP50Ms }) => firstByteP50Ms),
  },
  {
    ...{
      name: 'second-turn',
      title: 'first byte p50, second turn ÷ first, exact counts',
      unit: '',
      limit: { atMost: 0.5 },
    },
    source: load('turns', ({ openingP50Ms, followingP50Ms }) =>
      openingP50Ms === undefined || followingP50Ms === undefined ? undefined : followingP50Ms / openingP50Ms,
    ),
  },
  {
    ...{
      name: 'neighbour',
      title: 'a neighbour’s first byte p99, added by 16 of them',
      unit: 'ms',
      limit: { atMost: 10 },
    },
    source: { ...load('neighbour', ({ firstByteP99Ms }) => firstByteP99Ms), over: { scenario: 'neighbour-alone' } },
  },
  {
    ...{
      name: 'fill',
      title: 'growth of memory ÷ bytes in flight, 150 callers of 1 MB',
      unit: '',
      limit: { atMost: 2 },
    },
    source: load('fill', memoryPerByte),
  },
  {
    ...{ name: 'idle-memory', title: 'idle: memory of all programs', unit: 'MiB', limit: { atMost: 200 } },
    source: { kind: 'memory', when: 'idle' },
  },
  {
    ...{ name: 'idle-time', title: 'idle: processor time a second', unit: 'ms', limit: { atMost: 5 } },
    source: { kind: 'idle-time' },
  },
  {
    ...{
      name: 'streams-memory',
      title: '500 open streams: memory of all programs',
      unit: 'MiB',
      limit: { atMost: 330 },
    },
    source: { kind: 'memory', when: 'streams' },
  },
  {
    ...{ name: 'cached', title: 'parallel endpoints, one replica: cached share', unit: '', limit: { atLeast: 0.75 } },
    source: { kind: 'apart', command: 'npm run pool -- --table parallel', figure: 0.77 },
  },
  {
    ...{ name: 'cached-replicas', title: '… two replicas', unit: '', limit: { atLeast: 0.73 } },
    source: { kind: 'apart', command: 'npm run pool -- --table parallel', figure: 0.73 },
  },
  {
    ...{ name: 'later-start', title: 'later start', unit: 's', limit: { atMost: 1.4 } },
    source: { kind: 'start' },
  },
  {
    ...{ name: 'first-start', title: 'first start of a fresh clone', unit: 's', limit: { atMost: 25 } },
    source: { kind: 'apart', command: 'npm start', figure: undefined },
  },
];

/** Proportional set size of all programs of a target. */
export interface MemoryReading {
  readonly target: TargetName;
  readonly when: 'idle' | 'loaded' | 'streams';
  readonly pssBytes: number;
}

/** All that a run has measured. */
export interface Readings {
  readonly samples: readonly Sample[];
  readonly memory: readonly MemoryReading[];
  /** Processor time of all programs while no requests arrive. */
  readonly idle: readonly { readonly target: TargetName; readonly msPerSecond: number }[];
  readonly starts: readonly { readonly target: TargetName; readonly seconds: number }[];
}

/** A bar's figure of one target. Undefined if it was not measured. */
export function figureOf({ source }: Pick<Bar, 'source'>, target: TargetName, readings: Readings): Spread | undefined {
  switch (source.kind) {
    case 'load': {
      const { scenario, read, over } = source;
      const values = byRound(readings.samples, { target, scenario, read });
      if (over === undefined) return spreadOf([...values.values()]);
      // Plain Envoy has nothing on top of itself: its own figure is what the others are compared with.
      if ('target' in over && over.target === target) return spreadOf([...values.values()]);
      const bases = byRound(readings.samples, { target, scenario, read, ...over });
      return spreadOf(
        [...values].flatMap(([round, value]) => {
          const base = bases.get(round);
          return base === undefined ? [] : value - base;
        }),
      );
    }
    case 'memory':
      return spreadOf(
        readings.memory
          .filter((one) => one.target === target && one.when === source.when)
          .map(({ pssBytes }) => pssBytes / 2 ** 20),
      );
    case 'idle-time':
      return spreadOf(readings.idle.filter((one) => one.target === target).map(({ msPerSecond }) => msPerSecond));
    case 'start':
      return spreadOf(readings.starts.filter((one) => one.target === target).map(({ seconds }) => seconds));
    case 'apart':
      return target === 'weir' && source.figure !== undefined ? spreadOf([source.figure]) : undefined;
  }
}

export function isMet({ limit }: Pick<Bar, 'limit'>, figure: number): boolean {
  return 'atMost' in limit ? figure <= limit.atMost : figure >= limit.atLeast;
}

/** The command that measures a bar alone. */
export function commandOf({ name, source }: Bar): string {
  return source.kind === 'apart' ? source.command : `npm run bench -- --bars --only ${name}`;
}

/** As people read it: three digits say all that a measurement knows. */
export const rounded = (value: number): number => Number(value.toPrecision(3));
