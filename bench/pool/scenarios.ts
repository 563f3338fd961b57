import { type Chance, chanceFrom } from '../../test/support/chance.ts';
import type { EngineSpeed } from './engine.ts';
import type { Load, PoolRequest, Session, SessionRequest } from './request.ts';
import type { Pool, PoolChange } from './run.ts';
import { agentSessions, conversationTrace } from './traces.ts';
import {
  alone,
  chat,
  createTextMaker,
  drawn,
  exponential,
  longTailed,
  openLoad,
  poisson,
  type TextMaker,
} from './workloads.ts';

/** An engine that computes a prompt of 20,000 tokens within a second: a small model on a fast accelerator. */
export const quickEngine: EngineSpeed = {
  memoryTokens: 400_000,
  chunkTokens: 8192,
  prefillPerSecond: 25_000,
  contextTokens: 100_000,
  stepMs: 8,
  answerMs: 0.03,
  readMs: 0.01,
  mostAnswers: 256,
};

/** A small engine on a processor: it computes four requests at once, and the others wait for the end of an answer. */
const fewSlots: EngineSpeed = {
  ...{ memoryTokens: 30_000, chunkTokens: 2048, prefillPerSecond: 6000, contextTokens: 20_000 },
  ...{ stepMs: 3, answerMs: 3, readMs: 0.5, mostAnswers: 4 },
};

export interface Scenario {
  readonly name: string;
  readonly pool: Pool;
  /** A load of so many sessions a second, or a trace so many times as fast. */
  readonly load: (rate: number, seed: number) => Load;
  /** Where the search for the greatest rate begins. */
  readonly rate: number;
  /** A rate near saturation, which some policies carry and others do not. */
  readonly near: number;
}

const blockTokens = 256;

const engines = (count: number, engine = quickEngine): Pool => ({
  engines: Array.from({ length: count }, () => engine),
  replicas: 1,
  changes: [],
});

const slow: EngineSpeed = {
  ...quickEngine,
  ...{
    prefillPerSecond: quickEngine.prefillPerSecond / 3,
    stepMs: quickEngine.stepMs * 3,
    answerMs: quickEngine.answerMs * 3,
  },
};

/** Sessions begin for so long, and requests are measured after the first third. */
const seconds = 75;
const countAt = (rate: number): number => Math.max(20, Math.round(rate * seconds));

const open = (sessions: readonly Session[], startMs: readonly number[]): Load =>
  openLoad({ sessions, startMs, blockTokens, parts: 3 });

/** Sessions of one request each. `prepare` is called once, and returns the function that makes their requests. */
function singleRequests(
  rate: number,
  seed: number,
  prepare: (chance: Chance, maker: TextMaker) => (conversation: number) => PoolRequest,
): Load {
  const chance = chanceFrom(seed);
  const requestOf = prepare(chance, createTextMaker(blockTokens));
  const sessions = Array.from({ length: countAt(rate) }, (_, conversation) => alone(requestOf(conversation)));
  return open(sessions, poisson(chance, rate, sessions.length));
}

function chats(rate: number, seed: number): Load {
  const count = countAt(rate);
  const chance = chanceFrom(seed);
  const maker = createTextMaker(blockTokens);
  const systems = Array.from({ length: 6 }, () => maker.text().blocks(3072));
  const sessions = Array.from({ length: count }, (_, conversation) =>
    chat(maker, {
      system: 3072,
      shared: chance.pick(systems),
      turns: drawn(chance, { mean: 5, least: 1, most: 10 }),
      asked: () => longTailed(chance, { mean: 1500, least: 20, most: 16_000 }, 1),
      answered: () => longTailed(chance, { mean: 150, least: 5, most: 1500 }),
      pauseMs: () => exponential(chance, 5000),
      conversation,
    }),
  );
  return open(sessions, poisson(chance, rate, count));
}

/** Conversations with short answers, as `npm run pool:real` sends them to its engines. */
function shortAnswers(rate: number, seed: number): Load {
  const count = countAt(rate);
  const chance = chanceFrom(seed);
  const maker = createTextMaker(blockTokens);
  const systems = Array.from({ length: 4 }, () => maker.text().blocks(1792));
  const sessions = Array.from({ length: count }, (_, conversation) =>
    chat(maker, {
      system: 1792,
      shared: chance.pick(systems),
      turns: 8,
      asked: () => drawn(chance, { mean: 430, least: 215, most: 645 }),
      answered: () => 24,
      pauseMs: () => exponential(chance, 5000),
      conversation,
    }),
  );
  return open(sessions, poisson(chance, rate, count));
}

function documents(rate: number, seed: number): Load {
  return singleRequests(rate, seed, (chance, maker) => {
    const texts = Array.from({ length: 60 }, () =>
      maker.text().blocks(longTailed(chance, { mean: 16_000, least: 4000, most: 40_000 })),
    );
    return (conversation) => {
      // The first ones are asked most.
      const document = texts[Math.floor(texts.length * chance.next() ** 2.5)] ?? [];
      const prompt = document.length * blockTokens + drawn(chance, { mean: 200, least: 20, most: 800 });
      const output = drawn(chance, { mean: 150, least: 10, most: 400 });
      return maker.request(maker.text(document), { prompt, output }, conversation);
    };
  });
}

/** The same document for all callers. */
function oneDocument(rate: number, seed: number): Load {
  return singleRequests(rate, seed, (chance, maker) => {
    const document = maker.text().blocks(24_064);
    return () => {
      const prompt = 24_064 + drawn(chance, { mean: 300, least: 20, most: 1500 });
      return maker.request(maker.text(document), { prompt, output: 150 }, 0);
    };
  });
}

function nothingShared(rate: number, seed: number): Load {
  return singleRequests(rate, seed, (chance, maker) => (conversation) => {
    const prompt = longTailed(chance, { mean: 4000, least: 50, most: 30_000 });
    const output = longTailed(chance, { mean: 200, least: 5, most: 2000 });
    return maker.request(maker.text(), { prompt, output }, conversation);
  });
}

/** Short prompts and long answers. */
function longAnswers(rate: number, seed: number): Load {
  return singleRequests(rate, seed, (chance, maker) => (conversation) => {
    const prompt = drawn(chance, { mean: 1000, least: 200, most: 2000 });
    const output = longTailed(chance, { mean: 2000, least: 100, most: 8000 });
    return maker.request(maker.text(), { prompt, output }, conversation);
  });
}

/** Conversations that begin with a long text and end with long answers. */
function regimeChange(rate: number, seed: number): Load {
  const chance = chanceFrom(seed);
  const maker = createTextMaker(blockTokens);
  const sessions = Array.from({ length: countAt(rate) }, (_, conversation): Session => {
    const text = maker.text();
    let tokens = 0;
    const requests = Array.from({ length: 6 }, (__, turn): SessionRequest => {
      const isEarly = turn < 3;
      const prompt = tokens + (isEarly ? longTailed(chance, { mean: 6000, least: 500, most: 20_000 }) : 100);
      const output = isEarly ? 40 : longTailed(chance, { mean: 1500, least: 100, most: 6000 });
      tokens = prompt + output;
      const pauseMs = turn === 0 ? 0 : exponential(chance, 4000);
      const request = maker.request(text, { prompt, output }, conversation);
      return { request, atMs: 0, after: turn === 0 ? undefined : turn - 1, pauseMs };
    });
    return { requests };
  });
  return open(sessions, poisson(chance, rate, sessions.length));
}

/** Chats, of which a third begin within a tenth of the time. */
function burst(rate: number, seed: number): Load {
  const load = chats(rate, seed);
  if (load.arrivals.kind === 'closed') return load;
  const { startMs } = load.arrivals;
  const last = startMs.at(-1) ?? 0;
  const moved = startMs.map((at, index) => (index % 3 === 0 ? last * 0.5 + at * 0.1 : at));
  return { ...load, arrivals: { kind: 'open', startMs: moved } };
}

const change = (kind: PoolChange['kind'], index: number): PoolChange => ({ kind, index, atMs: 40_000 });

/** Whole documents come in one request, and the slowest twentieth of them must begin in time. */
const trace: EngineSpeed = { ...quickEngine, prefillPerSecond: 60_000 };
const agentEngine: EngineSpeed = { ...quickEngine, memoryTokens: 1_000_000 };

export const scenarios: readonly Scenario[] = [
  { name: 'chat', pool: engines(4), load: chats, rate: 6, near: 8.5 },
  { name: 'documents', pool: engines(4), load: documents, rate: 8, near: 24 },
  { name: 'one document', pool: engines(4), load: oneDocument, rate: 40, near: 60 },
  { name: 'nothing shared', pool: engines(4), load: nothingShared, rate: 18, near: 22 },
  { name: 'long answers', pool: engines(4), load: longAnswers, rate: 16, near: 14 },
  { name: 'regime change', pool: engines(4), load: regimeChange, rate: 1, near: 1.6 },
  { name: 'burst', pool: engines(4), load: burst, rate: 4, near: 5 },
  {
    name: 'one slow of four',
    pool: { ...engines(4), engines: [slow, quickEngine, quickEngine, quickEngine] },
    load: chats,
    rate: 5,
    near: 7,
  },
  { name: 'one added', pool: { ...engines(5), changes: [change('added', 4)] }, load: chats, rate: 6, near: 9 },
  { name: 'one lost', pool: { ...engines(5), changes: [change('lost', 4)] }, load: chats, rate: 6, near: 9 },
  { name: 'conversations', pool: engines(4, trace), load: conversationTrace, rate: 1, near: 1.5 },
  { name: 'few slots', pool: { ...engines(4, fewSlots), counted: 0.16 }, load: shortAnswers, rate: 1, near: 1.5 },
  { name: 'agents', pool: engines(4, agentEngine), load: agentSessions, rate: 0.1, near: 0.15 },
];
