import { chanceFrom } from '../../test/support/chance.ts';
import type { EngineSpeed } from './engine.ts';
import type { Load, Session } from './request.ts';
import { alone, chat, createTextMaker, drawn, poisson } from './workloads.ts';

/**
 * The two workloads of llm-d's post of 17 August 2026, "Sticky Until Saturated: Token-Aware Routing in llm-d", by its figures:
 * Qwen3-32B on two H100 each, ten engines for code generation and eight for shared prompts.
 */
export const published = {
  codeGeneration: { engines: 10, knee: { roundRobin: 30, sticky: 60 }, input: { roundRobin: 16_000, sticky: 46_000 } },
  sharedPrompts: { engines: 8, knee: { roundRobin: 18, sticky: 38 }, input: { roundRobin: 45_000, sticky: 90_000 } },
  gapTokens: 286_720,
} as const;

/** `prefillPerSecond`, `chunkTokens` and the range of `memoryTokens` are published. The others are calibrated. */
export const qwen32OnTwoH100: EngineSpeed = {
  memoryTokens: 300_000,
  chunkTokens: 8192,
  prefillPerSecond: 20_480,
  contextTokens: 9000,
  stepMs: 12,
  answerMs: 0.1,
  readMs: 0.04,
  mostAnswers: 256,
};

const blockTokens = 256;
/** The stages of the shared prompts as they are published: requests a second, and seconds. */
export const sharedStages: ReadonlyMap<number, number> = new Map([
  ...([
    [3, 20],
    [10, 20],
    [15, 20],
    [20, 38],
    [22, 34],
    [25, 30],
    [30, 25],
    [35, 21],
  ] as const),
  ...([
    [40, 38],
    [43, 36],
    [46, 33],
    [49, 30],
    [52, 29],
    [55, 27],
    [57, 26],
    [60, 25],
  ] as const),
]);
/** Before its stage, the caches see as many requests as in the published warm-up, and all answers end. */
const warmUp = { perSecond: 15, count: 750 };
const measuredFromMs = 600_000;

/** Conversations about code, each with a long system prompt of its own, by so many callers at once. */
export function codeGeneration(callers: number, seed: number): Load {
  const chance = chanceFrom(seed);
  const maker = createTextMaker(blockTokens);
  const sessions = Array.from({ length: callers }, (_, conversation): Session =>
    chat(maker, {
      system: drawn(chance, { mean: 55_000, least: 3000, most: 100_000 }),
      shared: [],
      turns: drawn(chance, { mean: 6, least: 2, most: 20 }),
      asked: () => drawn(chance, { mean: 1500, least: 100, most: 10_000 }),
      answered: () => drawn(chance, { mean: 800, least: 50, most: 4000 }),
      pauseMs: () => 0,
      conversation,
    }),
  );
  return { sessions, arrivals: { kind: 'closed', callers }, blockTokens, measured: { fromMs: 0, toMs: 1e9 } };
}

/** 150 system prompts with five questions each, at random, in a stage of so many requests a second. */
export function sharedPrompts(perSecond: number, seed: number): Load {
  const chance = chanceFrom(seed);
  const maker = createTextMaker(blockTokens);
  const systems = Array.from({ length: 150 }, () => maker.text().blocks(6000));
  const questions = systems.flatMap((system, group) =>
    Array.from({ length: 5 }, (_, variant) => ({ text: maker.text(system), conversation: group * 5 + variant })),
  );
  const count = Math.round(perSecond * (sharedStages.get(perSecond) ?? 30));
  const sessions = Array.from({ length: warmUp.count + count }, () => {
    const { text, conversation } = chance.pick(questions);
    // Equal questions, different answers.
    const prompt = text.blocks(7200);
    return alone(maker.request(maker.text(prompt), { prompt: 7200, output: 1000 }, conversation));
  });
  const startMs = [
    ...poisson(chance, warmUp.perSecond, warmUp.count),
    ...poisson(chance, perSecond, count).map((at) => measuredFromMs + at),
  ];
  return {
    sessions,
    arrivals: { kind: 'open', startMs },
    blockTokens,
    measured: { fromMs: measuredFromMs, toMs: 1e9 },
  };
}
