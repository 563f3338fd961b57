import { gatewayMs, perAnswer, spreadOf } from './figures.ts';
import type { Prompt, Surface } from './prompts.ts';
import type { Sample } from './sample.ts';
import { type Scenario, shapeOf } from './scenarios.ts';
import { alignTable, titles } from './table.ts';

const whole = { stream: false, shape: shapeOf.together } as const;
const callersOf = (connections: number) => ({ kind: 'closed', connections }) as const;
const kilobytes = (kb: number): number => kb * 1_000;

interface PromptsOptions {
  readonly surface?: Surface;
  readonly seconds?: number;
}

/** All callers send prompts of one size, as fast as they get their answers. */
function prompts(kb: number, callers: number, { surface = 'chat', seconds = 4 }: PromptsOptions = {}): Scenario {
  return {
    ...whole,
    name: `${surface}-${kb}-${callers}`,
    title: `${kb} KB, ${callers} ${callers === 1 ? 'caller' : 'callers'}${surface === 'chat' ? '' : `, ${surface}`}`,
    prompt: { surface, bytes: kilobytes(kb) },
    arrival: callersOf(callers),
    leadSeconds: 1,
    seconds,
  };
}

/** Sizes of which one caller's first byte is measured. */
export const promptSizes = [20, 100, 400, 1_600, 2_000] as const;

/** Runs once before the loads below: large prompts take code that short ones do not, and it is to be compiled. */
export const promptWarmUp = prompts(100, 20);

const neighbour: Scenario = {
  ...whole,
  name: 'neighbour-alone',
  title: 'a neighbour, 50 short prompts a second',
  arrival: { kind: 'open', perSecond: 50 },
  leadSeconds: 1,
  seconds: 5,
};
const large: Prompt = { surface: 'chat', bytes: kilobytes(400) };

/** Prompts of agents: long conversations with the definitions of tools, of which each request sends all, and a turn more. */
export const agentScenarios: readonly Scenario[] = [
  ...promptSizes.map((kb) => prompts(kb, 1)),
  prompts(20, 20),
  promptWarmUp,
  prompts(400, 16),
  prompts(20, 150),
  ...(['messages', 'responses'] as const).map((surface) => prompts(400, 1, { surface })),
  neighbour,
  {
    ...neighbour,
    name: 'neighbour',
    title: '… beside 16 callers with 400 KB',
    beside: { prompt: large, connections: 16 },
  },
  {
    ...prompts(1_000, 150, { seconds: 6 }),
    name: 'fill',
    title: '1 MB, 150 callers',
    // As long as the first answers take.
    leadSeconds: 6,
    fills: true,
  },
  {
    ...prompts(400, 1),
    name: 'turns',
    title: '400 KB, two turns of a conversation, counted exactly',
    prompt: { ...large, turns: 2, exact: true },
  },
];

/** The growth of memory by a byte in flight. */
export function memoryPerByte({ fill }: Pick<Sample, 'fill'>): number | undefined {
  if (fill === undefined || fill.inFlightBytes === 0) return undefined;
  return (fill.peakBytes - fill.beforeBytes) / fill.inFlightBytes;
}

export function agentsText(samples: readonly Sample[]): string {
  const rows = agentScenarios.flatMap(({ name, title }) => {
    const targets = Map.groupBy(
      samples.filter(({ scenario }) => scenario === name),
      ({ target }) => target,
    );
    return [...targets].map(([target, own]) => {
      const median = (read: (sample: Sample) => number | undefined, unit: string): string => {
        const spread = spreadOf(own.flatMap((sample) => read(sample) ?? []));
        return spread === undefined ? '–' : `${spread.median.toFixed(1)}${unit}`;
      };
      return [
        `${title}: ${titles[target]}`,
        median((sample) => sample.answersPerSecond, '/s'),
        median((sample) => sample.firstByteP50Ms, ' ms'),
        median((sample) => sample.firstByteP99Ms, ' ms'),
        median((sample) => perAnswer(sample, gatewayMs(sample)), ' ms'),
        name === 'turns' ? median((sample) => sample.openingP50Ms, ' ms') : '',
        name === 'turns' ? median((sample) => sample.followingP50Ms, ' ms') : '',
        name === 'fill' ? median(memoryPerByte, '') : '',
        name === 'fill' ? median((sample) => sample.refusedPerSecond, '/s') : '',
      ];
    });
  });
  return alignTable([
    [
      ...['prompts of agents', 'requests', 'first byte p50', 'p99', 'processor time a request'],
      ...['first turn', 'second turn', 'memory ÷ bytes in flight', 'refused'],
    ],
    ...rows,
  ]);
}
