import { ownerOf } from '../../src/gateway/routing/affinity.ts';
import { createDecayedMean } from '../../src/gateway/core/decayed-mean.ts';
import { createPools } from '../../src/gateway/routing/pool/pools.ts';
import type { PoolAttempt } from '../../src/gateway/routing/pool/pool-attempt.ts';
import { pick } from '../../src/gateway/routing/pool/pick.ts';
import type { EngineSpeed } from './engine.ts';
import type { CreatePolicy } from './run.ts';

/** How replicas learn of each other. `alone`: there are no others. `apart`: they share only a key. */
type Sharing = 'alone' | 'shared' | 'apart';

export interface PoolPolicyOptions {
  /** It asks the engines for their load. */
  readonly asks?: boolean;
  /** Answers stream. */
  readonly stream?: boolean;
  readonly create?: typeof createPools;
}

/** The share of successes of an endpoint, as its health knows it. */
const successes = { halfLifeMs: 30_000, maxWeight: 12, prior: { value: 1, weight: 2 } } as const;

/** The product's pool. */
export const poolOf =
  (sharing: Sharing, { asks = false, stream = true, create = createPools }: PoolPolicyOptions = {}): CreatePolicy =>
  ({ endpoints, now, chance, blockTokens, counted, after, channel, truth }) => {
    const names = Array.from({ length: endpoints }, (_, index) => String(index));
    const success = names.map(() => createDecayedMean(successes));
    const pools = create({ isReported: sharing === 'shared' });
    const known = pools.of('pool');
    const attempts = new Map<number, PoolAttempt>();
    let isWaiting = false;
    const report = (): void => {
      if (isWaiting || sharing !== 'shared') return;
      isWaiting = true;
      after(reportEveryMs, () => {
        isWaiting = false;
        if (pools.hasReport(now())) channel.send(pools.takeReport(now()));
        if (attempts.size > 0) report();
      });
    };
    const ask = (): void => {
      for (const name of names) {
        const { waiting, prompts, answers } = truth(Number(name));
        known.endpoint(name).asked(now())(now(), { running: prompts.length + answers.length, waiting: waiting.length });
      }
      after(askEveryMs, ask);
    };
    if (asks) after(askEveryMs, ask);
    channel.listen((from, message) => pools.heard(now(), from, message));
    return {
      pick: (request, present) => {
        const digests = request.blocks.slice(0, request.promptBlocks);
        const prompt = {
          digests,
          ends: digests.map((_, index) => (index + 1) * blockTokens * counted),
          tokens: request.promptTokens * counted,
        };
        const there = names.filter((_, index) => present.includes(index));
        pools.forgetSilent(now());
        const among = there.map((name) => ({
          name,
          success: success[Number(name)]?.mean(now(), successes.prior) ?? 1,
        }));
        const owner = sharing === 'apart' ? ownerOf(String(request.conversation), among)?.name : undefined;
        const picked = known.pick(now(), {
          prompt,
          among,
          owner,
          turn: chance.next(),
        });
        const name = there[picked?.index ?? 0] ?? '0';
        attempts.set(request.id, known.begin(now(), { name, prompt, stream }));
        report();
        return Number(name);
      },
      first: (request, _, cached) => {
        const attempt = attempts.get(request.id);
        attempt?.first(now());
        attempt?.cached({ promptTokens: request.promptTokens, cachedTokens: cached });
        report();
      },
      ended: ({ id, outputTokens }, endpoint, end) => {
        const attempt = attempts.get(id);
        success[endpoint]?.add(now(), end === 'complete' ? 1 : 0);
        if (end === 'complete') attempt?.completed(now(), outputTokens);
        else attempt?.failed();
        attempts.delete(id);
        report();
      },
    };
  };

/** Replicas report this often, ms. */
const reportEveryMs = 50;

/** Engines are asked this often, ms. */
const askEveryMs = 1000;

export const pool = poolOf('alone');
export const askingPool = poolOf('alone', { asks: true });
export const sharedPool = poolOf('shared');
export const poolApart = poolOf('apart');

/** Knows the caches, the queues, the lengths of answers and the speed of each engine. `busy`: how much it spares the others. */
export const oracle =
  (engines: readonly EngineSpeed[], busy: number): CreatePolicy =>
  ({ truth, blockTokens, chance }) => ({
    pick: (request, present) => {
      const outlooks = present.map((endpoint) => {
        const speed = engines[endpoint];
        const { store, waiting, prompts, answers, steps } = truth(endpoint);
        if (speed === undefined) throw new Error('no such engine');
        const msFor = (from: number, to: number): number =>
          (((to - from) * (1 + (from + to) / 2 / speed.contextTokens)) / speed.prefillPerSecond) * 1000;
        const held = Math.min(request.promptBlocks, store.held(request.blocks)) * blockTokens;
        const own = msFor(held, request.promptTokens);
        const ahead =
          prompts.reduce((sum, prompt) => sum + msFor(prompt.done, prompt.request.promptTokens), 0) +
          waiting.reduce(
            (sum, one) =>
              sum + msFor(Math.min(one.promptBlocks, store.held(one.blocks)) * blockTokens, one.promptTokens),
            0,
          );
        // The memory that this prompt and those before it need is free when enough answers have ended.
        const stepMs = speed.stepMs + answers.length * speed.answerMs;
        const blocksUsed = new Set<number>();
        for (const { request: one } of [...prompts, ...answers]) for (const block of one.blocks) blocksUsed.add(block);
        const needed =
          waiting.reduce((sum, one) => sum + one.blocks.length, 0) + request.blocks.length - held / blockTokens;
        let free = Math.floor(speed.memoryTokens / blockTokens) - blocksUsed.size - needed;
        let memoryMs = 0;
        for (const { request: one, endStep } of answers) {
          if (free >= 0) break;
          free += one.blocks.length - one.promptBlocks;
          memoryMs = (endStep - steps) * stepMs;
        }
        return {
          ...{ heldTokens: held, firstMs: Math.max(ahead, memoryMs) + own, errorMs: 0 },
          slowerMs: 2 * speed.answerMs * 300 * (answers.length + prompts.length + waiting.length),
          ...{ workMs: own, isUntried: false },
        };
      });
      return present[pick(outlooks, { busy, turn: chance.next() })?.index ?? 0] ?? 0;
    },
    first: () => undefined,
    ended: () => undefined,
  });
