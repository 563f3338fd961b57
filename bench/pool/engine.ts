import { type BlockStore, createBlockStore, type Reservation } from './block-store.ts';
import type { PoolRequest } from './request.ts';

/** What a simulated engine can do. */
export interface EngineSpeed {
  /** Memory for keys and values, tokens. */
  readonly memoryTokens: number;
  /** Most tokens of prompts that one step computes. */
  readonly chunkTokens: number;
  /** Tokens of a prompt's beginning that are computed in a second. */
  readonly prefillPerSecond: number;
  /** So long a context doubles the cost of a prompt's token. */
  readonly contextTokens: number;
  /** The least that a step takes, ms. */
  readonly stepMs: number;
  /** What each answer under way adds to a step, ms. */
  readonly answerMs: number;
  /** What each thousand tokens of context of answers under way add to a step, ms. */
  readonly readMs: number;
  readonly mostAnswers: number;
}

export interface EngineListener {
  readonly first: (request: PoolRequest, now: number, cachedTokens: number) => void;
  readonly ended: (request: PoolRequest, now: number) => void;
}

/** An engine with continuous batching: a step computes one token of each answer, and parts of prompts in the order in which they came. */
export interface Engine {
  readonly submit: (request: PoolRequest, now: number) => void;
  /** When the current step ends. Infinity: nothing is under way. */
  readonly nextAt: () => number;
  readonly advance: (now: number) => void;
  /** The truth, for the oracle. */
  readonly state: () => EngineState;
  /** The engine stops, and forgets everything. Returns the requests that it had. */
  readonly stop: () => readonly PoolRequest[];
  /** From the next step on, steps take so many times longer than the engine's speed says. */
  readonly slowDown: (factor: number) => void;
}

export interface EngineState {
  readonly store: BlockStore;
  /** Tokens that are still to be computed before an answer begins, of those admitted and those waiting. */
  readonly prefillTokens: number;
  readonly waiting: readonly PoolRequest[];
  readonly answers: readonly Answer[];
  readonly prompts: readonly Prompt[];
  /** Steps that were completed. */
  readonly steps: number;
}

export interface Prompt {
  readonly request: PoolRequest;
  readonly reservation: Reservation;
  readonly cached: number;
  /** Tokens that are computed. */
  done: number;
}

export interface Answer {
  readonly request: PoolRequest;
  readonly reservation: Reservation;
  /** The step after which it is complete. */
  readonly endStep: number;
}

export type CreateEngine = (speed: EngineSpeed, blockTokens: number, listener: EngineListener) => Engine;

export const createEngine: CreateEngine = (speed, blockTokens, listener) => {
  const store = createBlockStore(Math.floor(speed.memoryTokens / blockTokens));
  let waiting: PoolRequest[] = [];
  let prompts: Prompt[] = [];
  /** In the order of their ends. */
  let answers: Answer[] = [];
  let contextTokens = 0;
  let steps = 0;
  let slowness = 1;
  /** The steps under way, all alike: how many, since when, and how long each takes. */
  let batch:
    | {
        readonly from: number;
        readonly count: number;
        readonly ms: number;
        readonly parts: readonly [Prompt, number][];
      }
    | undefined;

  /** The next prompt in the row, if there is memory for it. */
  function admit(): Prompt | undefined {
    const [request] = waiting;
    if (request === undefined || prompts.length + answers.length >= speed.mostAnswers) return undefined;
    // The last token of a prompt is always computed.
    const cacheable = Math.min(request.promptBlocks, Math.floor((request.promptTokens - 1) / blockTokens));
    const held = Math.min(cacheable, store.held(request.blocks));
    const reservation = store.reserve(request.blocks, held);
    if (reservation === undefined) return undefined;
    waiting.shift();
    const cached = held * blockTokens;
    const prompt = { request, reservation, cached, done: cached };
    prompts.push(prompt);
    return prompt;
  }

  function begin(now: number): void {
    let room = Math.max(1, speed.chunkTokens - answers.length);
    let work = 0;
    const parts: [Prompt, number][] = [];
    // A prompt is admitted when the step has room for a part of it: what was computed until then, it need not compute.
    for (let at = 0; room > 0; at += 1) {
      const prompt = prompts[at] ?? admit();
      if (prompt === undefined) break;
      const tokens = Math.min(room, prompt.request.promptTokens - prompt.done);
      room -= tokens;
      work += tokens * (1 + (prompt.done + tokens / 2) / speed.contextTokens);
      parts.push([prompt, tokens]);
    }
    if (parts.length === 0 && answers.length === 0) {
      batch = undefined;
      return;
    }
    const [soonest] = answers;
    const count = parts.length > 0 || soonest === undefined ? 1 : soonest.endStep - steps;
    const read = (contextTokens + (answers.length * count) / 2) / 1000;
    const ms =
      Math.max(speed.stepMs, (work / speed.prefillPerSecond) * 1000) +
      answers.length * speed.answerMs +
      read * speed.readMs;
    batch = { from: now, count, ms: ms * slowness, parts };
  }

  function complete(count: number, now: number): void {
    const parts = batch?.parts ?? [];
    steps += count;
    contextTokens += answers.length * count;
    while (answers[0] !== undefined && answers[0].endStep <= steps) {
      const answer = answers.shift();
      if (answer !== undefined) end(answer, now);
    }
    for (const [prompt, tokens] of parts) {
      const { request, reservation } = prompt;
      prompt.done += tokens;
      reservation.computed(Math.min(request.promptBlocks, Math.floor(prompt.done / blockTokens)));
      if (prompt.done < request.promptTokens) continue;
      prompts = prompts.filter((other) => other !== prompt);
      listener.first(request, now, prompt.cached);
      const answer = { request, reservation, endStep: steps + request.outputTokens - 1 };
      contextTokens += request.promptTokens;
      if (answer.endStep <= steps) end(answer, now);
      else insert(answer);
    }
  }

  function insert(answer: Answer): void {
    let at = answers.length;
    while (at > 0 && (answers[at - 1]?.endStep ?? 0) > answer.endStep) at -= 1;
    answers.splice(at, 0, answer);
  }

  function end({ request, reservation }: Answer, now: number): void {
    reservation.computed(request.blocks.length);
    reservation.release();
    contextTokens -= request.promptTokens + request.outputTokens - 1;
    listener.ended(request, now);
  }

  return {
    submit: (request, now) => {
      waiting.push(request);
      if (batch === undefined) {
        begin(now);
        return;
      }
      if (batch.count <= 1) return;
      // A long row of equal steps ends with the step under way, which the new prompt waits for.
      const passed = Math.min(batch.count, Math.max(1, Math.ceil((now - batch.from) / batch.ms)));
      batch = { ...batch, count: passed };
    },
    nextAt: () => (batch === undefined ? Infinity : batch.from + batch.count * batch.ms),
    advance: (now) => {
      if (batch === undefined) return;
      complete(batch.count, now);
      begin(now);
    },
    state: () => ({
      store,
      waiting,
      prompts,
      answers,
      steps,
      prefillTokens: prompts.reduce((sum, { request, done }) => sum + request.promptTokens - done, 0),
    }),
    stop: () => {
      const lost = [...prompts, ...answers].map(({ request }) => request).concat(waiting);
      for (const { reservation } of [...prompts, ...answers]) reservation.release();
      waiting = [];
      prompts = [];
      answers = [];
      contextTokens = 0;
      batch = undefined;
      return lost;
    },
    slowDown: (factor) => {
      slowness = factor;
    },
  };
};
