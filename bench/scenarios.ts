import type { AnswerShape } from './answers.ts';
import type { IdlePlan } from './idle.ts';
import type { Arrival } from './load.ts';
import type { Prompt, Surface } from './prompts.ts';

/** One kind of load, the same for every target. */
export interface Scenario {
  readonly name: ScenarioName;
  readonly title: string;
  readonly stream: boolean;
  readonly shape: AnswerShape;
  readonly arrival: Arrival;
  readonly leadSeconds: number;
  readonly seconds: number;
  /** Absent: a short prompt. */
  readonly prompt?: Prompt;
  /** Other callers, which are not counted. */
  readonly beside?: { readonly prompt: Prompt; readonly connections: number };
  /** Whether memory is read while it runs, and a full gateway may refuse. */
  readonly fills?: true;
}

type ScenarioName =
  | 'json'
  | 'json-one'
  | 'streams'
  | 'one-write'
  | 'ten-writes'
  | `alone-${number}`
  | 'first-byte-stream'
  | 'first-byte-json'
  /** Surface, KB and callers. */
  | `${Surface}-${number}-${number}`
  | 'neighbour-alone'
  | 'neighbour'
  | 'turns'
  | 'fill';

/** How long and how often; `quick` ends in under three minutes, `full` in about twelve. */
export interface BenchPlan {
  readonly name: 'quick' | 'full';
  readonly rounds: number;
  readonly warmUpSeconds: number;
  readonly heldStreams: number;
  readonly idle: IdlePlan;
  readonly scenarios: readonly Scenario[];
}

/** Each chunk is a write of its own, one right after the other; the sockets on the way decide what travels together. */
const each: AnswerShape = { chunks: 100, pace: { kind: 'burst', writes: 100 }, reasoningChunks: 0 };
const together: AnswerShape = { chunks: 100, pace: { kind: 'burst', writes: 1 }, reasoningChunks: 0 };
const inTen: AnswerShape = { chunks: 100, pace: { kind: 'burst', writes: 10 }, reasoningChunks: 0 };
const alone: AnswerShape = { chunks: 100, pace: { kind: 'apart', gapMs: 10 }, reasoningChunks: 0 };
/** A stream that is open and does next to nothing, for counting memory. */
export const held: AnswerShape = { chunks: 600, pace: { kind: 'apart', gapMs: 2_000 }, reasoningChunks: 0 };
export const shapeOf = { each, together, alone } as const;
/** All that a gateway under measurement must have a model for. */
export const shapes: readonly AnswerShape[] = [each, together, inTen, alone, held];

/** Streams of which each gets a word in 10 ms. */
export const loneStreams = [16, 64, 128] as const;

function loneWords(streams: number, seconds: number): Scenario {
  return {
    name: `alone-${streams}`,
    title: `chunks 10 ms apart, ${streams} streams at once`,
    stream: true,
    shape: alone,
    arrival: { kind: 'closed', connections: streams },
    leadSeconds: 1.2,
    seconds,
  };
}

interface Windows {
  readonly closedSeconds: number;
  readonly aloneSeconds: number;
  readonly openSeconds: number;
}

/** 16 connections and 100 chunks a stream, as in the prototype's measurements, so that figures stay comparable. */
function scenariosOf({ closedSeconds, aloneSeconds, openSeconds }: Windows): readonly Scenario[] {
  const closed: Arrival = { kind: 'closed', connections: 16 };
  const rate: Arrival = { kind: 'open', perSecond: 200 };
  return [
    {
      name: 'json',
      title: 'JSON answers, 16 connections',
      stream: false,
      shape: together,
      arrival: closed,
      leadSeconds: 0.4,
      seconds: closedSeconds,
    },
    {
      name: 'streams',
      title: 'streams of 100 chunks, a write each, 16 connections',
      stream: true,
      shape: each,
      arrival: closed,
      leadSeconds: 0.4,
      seconds: closedSeconds,
    },
    {
      name: 'one-write',
      title: 'streams of 100 chunks in one write, 16 connections',
      stream: true,
      shape: together,
      arrival: closed,
      leadSeconds: 0.4,
      seconds: closedSeconds,
    },
    {
      name: 'ten-writes',
      title: 'streams of 100 chunks in ten writes, 16 connections',
      stream: true,
      shape: inTen,
      arrival: closed,
      leadSeconds: 0.4,
      seconds: closedSeconds,
    },
    ...loneStreams.map((streams) => loneWords(streams, aloneSeconds)),
    {
      name: 'first-byte-stream',
      title: 'streams at 200 a second',
      stream: true,
      shape: together,
      arrival: rate,
      leadSeconds: 0.4,
      seconds: openSeconds,
    },
    {
      name: 'first-byte-json',
      title: 'JSON answers at 200 a second',
      stream: false,
      shape: together,
      arrival: rate,
      leadSeconds: 0.4,
      seconds: openSeconds,
    },
  ];
}

/** Beside the plans: the time of an answer if nobody else asks. */
export const oneCaller: Scenario = {
  name: 'json-one',
  title: 'JSON answers, one caller',
  stream: false,
  shape: together,
  arrival: { kind: 'closed', connections: 1 },
  leadSeconds: 0.4,
  seconds: 3,
};

export const quickPlan: BenchPlan = {
  name: 'quick',
  rounds: 3,
  warmUpSeconds: 0.8,
  heldStreams: 500,
  idle: { settleMs: 20_000, countedMs: 10_000 },
  scenarios: scenariosOf({ closedSeconds: 1.4, aloneSeconds: 1.4, openSeconds: 1.8 }),
};

export const fullPlan: BenchPlan = {
  name: 'full',
  rounds: 7,
  warmUpSeconds: 4,
  heldStreams: 1_000,
  // Compilers and collectors have finished with what the start left.
  idle: { settleMs: 90_000, countedMs: 30_000 },
  scenarios: scenariosOf({ closedSeconds: 4, aloneSeconds: 3, openSeconds: 6 }),
};

/** In which a caller with a token is compared with one with a key: many short rounds, so that both have the same moments of the machine. */
export const tokenScenarios: readonly Scenario[] = [
  ...quickPlan.scenarios.filter(({ name }) => name === 'json'),
  { ...oneCaller, seconds: 1 },
];
