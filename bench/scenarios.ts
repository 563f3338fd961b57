import type { AnswerShape } from './answers.ts';
import type { Arrival } from './load.ts';

/** One kind of load, the same for every target. */
export interface Scenario {
  readonly name:
    | 'json'
    | 'streams'
    | 'one-write'
    | 'ten-writes'
    | 'alone'
    | 'alone-fast'
    | 'first-byte-stream'
    | 'first-byte-json';
  readonly title: string;
  readonly stream: boolean;
  readonly shape: AnswerShape;
  readonly arrival: Arrival;
  readonly leadSeconds: number;
  readonly seconds: number;
}

/** How long and how often; `quick` ends in under two minutes, `full` in about eight. */
export interface BenchPlan {
  readonly name: 'quick' | 'full';
  readonly rounds: number;
  readonly warmUpSeconds: number;
  readonly heldStreams: number;
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
    {
      name: 'alone',
      title: 'chunks 10 ms apart, 48 streams at once',
      stream: true,
      shape: alone,
      arrival: { kind: 'closed', connections: 48 },
      leadSeconds: 1.2,
      seconds: aloneSeconds,
    },
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

const full = scenariosOf({ closedSeconds: 4, aloneSeconds: 3, openSeconds: 6 });

export const quickPlan: BenchPlan = {
  name: 'quick',
  rounds: 3,
  warmUpSeconds: 0.8,
  heldStreams: 500,
  scenarios: scenariosOf({ closedSeconds: 1.4, aloneSeconds: 1.4, openSeconds: 1.8 }),
};

export const fullPlan: BenchPlan = {
  name: 'full',
  rounds: 7,
  warmUpSeconds: 4,
  heldStreams: 1_000,
  scenarios: full.flatMap((scenario) =>
    scenario.name === 'alone'
      ? [
          scenario,
          {
            ...scenario,
            name: 'alone-fast',
            title: 'chunks 10 ms apart, 96 streams at once',
            arrival: { kind: 'closed', connections: 96 },
          },
        ]
      : [scenario],
  ),
};
