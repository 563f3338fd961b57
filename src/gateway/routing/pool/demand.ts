import { createDecayedMean } from '../../core/decayed-mean.ts';
import { recent } from './answer-knowledge.ts';
import type { OwnWork } from './endpoint-knowledge.ts';
import { assumedPrefill, assumedTokens } from './endpoint-state.ts';
import type { Prefill } from './prefill.ts';
import { createRecentSum } from './recent-sum.ts';
import type { AssumedSpeed } from './speed.ts';

export interface DemandOptions {
  /** In which time the first token should come, ms. */
  readonly objectiveMs: number;
  /** The work at all endpoints of which the pool knows, also those that are about to go. */
  readonly works: readonly OwnWork[];
  /** The work at the endpoints that may get requests. */
  readonly present: readonly OwnWork[];
}

/** Follows how much is sent to a pool, and how much is refused. */
export type Demand = ReturnType<typeof createDemand>;

/** How far back the rate of tokens looks, ms. */
const recentMs = 30_000;
/** Less than a token is nothing, so that a pool without requests has no demand after some minutes. */
const minTokens = 1;
/**
 * An engine takes some time for nothing at all. If that is most of the objective or more, further endpoints help little, and this share
 * of the objective counts as left for tokens.
 */
const minShareLeft = 0.25;

export function createDemand() {
  const sent = createRecentSum({ recentMs, negligible: minTokens });
  const refusals = createRecentSum({ recentMs, negligible: minTokens });
  const usualTokens = createDecayedMean(recent);
  let refused = 0;
  let lastAt: number | undefined;
  /** The pace that was learned last. It stays when all endpoints are gone. */
  let pace: Pick<AssumedSpeed, 'minMs' | 'eachMs'> = assumedPrefill;

  function learn(speeds: readonly Pick<Prefill, 'msFor' | 'eachMs'>[]): void {
    if (speeds.length === 0) return;
    pace = {
      minMs: meanOf(speeds.map(({ msFor }) => msFor(0))),
      eachMs: meanOf(speeds.map(({ eachMs }) => eachMs())),
    };
  }

  return {
    /** Remembers how fast endpoints are, also when they are gone. */
    learn,
    /** A prompt is sent to an endpoint, which computes so many tokens of it. */
    sent: (now: number, tokens: number): void => {
      sent.add(now, tokens);
      usualTokens.add(now, tokens);
      lastAt = now;
    },
    /** A request was refused. `share`: the part of it that would have come to this pool. */
    refused: (now: number, share: number): void => {
      refusals.add(now, share * usualTokens.mean(now, assumedTokens));
      refused += 1;
      lastAt = now;
    },
    /** What the requests of this replica ask of the endpoints of a pool. */
    read: (now: number, { objectiveMs, works, present }: DemandOptions) => {
      const leftMs = Math.max(objectiveMs - pace.minMs, objectiveMs * minShareLeft);
      const within = (sum: number): number => (sum * objectiveMs) / recentMs;
      const underWay = works.reduce((all, work) => all + work.underWay, 0);
      const waits = present.flatMap(({ firstMs }) => firstMs ?? []);
      if (underWay > 0) lastAt = now;
      return {
        /** Prompt tokens that wait, and those that come within the objective if as many come as lately. */
        workTokens: works.reduce((all, { queuedTokens }) => all + queuedTokens, 0) + within(sent.at(now)),
        /** The same of requests that were refused. Their prompts count as usual ones. */
        refusedTokens: within(refusals.at(now)),
        /** What one endpoint was learned to compute within the objective, tokens. */
        endpointTokens: leftMs / pace.eachMs,
        underWay,
        /** Since the start. */
        refused,
        /** Time since the last request came, ms; 0 while one is under way. Undefined: none has come. */
        quietMs: lastAt === undefined ? undefined : now - lastAt,
        /** Expected time to the first token of a usual prompt at the endpoint that answers soonest, ms. Undefined: none has answered. */
        firstMs: waits.length === 0 ? undefined : Math.min(...waits),
      };
    },
  };
}

const meanOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
