import type { EngineLoad } from '../../core/engine-load.ts';
import type { FirstTokenWait } from '../../core/health.ts';
import type { PoolPrompt } from '../../../core/pool-prompt.ts';
import type { EndpointReport } from '../../core/pool-report.ts';
import {
  assumedTokens,
  type CommonKnowledge,
  createEndpointState,
  delayMs,
  firstMsOf,
  knownRequests,
  ownTokensOf,
  setOthers,
  settleUnseen,
  underWay,
  waitedTokens,
} from './endpoint-state.ts';
import type { Outlook } from './pick.ts';
import { beginAttempt, type PoolAttempt } from './pool-attempt.ts';
import type { Prefill } from './prefill.ts';

/**
 * The knowledge of one endpoint, from the attempts that this replica has made there, from the reports of the others, and from the load that
 * its engine reports.
 */
export type EndpointKnowledge = ReturnType<typeof createEndpointKnowledge>;

export interface OutlookOptions {
  /** All replicas send prompts with this beginning to the endpoint, so that it counts as the holder of the whole prompt. */
  readonly isOwner: boolean;
  /** See `AnswerKnowledge`. */
  readonly slowerEachMs: number;
}

/** The work of this replica's own attempts on an endpoint. */
export type OwnWork = ReturnType<EndpointKnowledge['work']>;

export function createEndpointKnowledge(common: CommonKnowledge) {
  const state = createEndpointState(common);
  const { held, own, traffic } = state;
  return {
    /** Predicts what a prompt would cost at the endpoint. */
    outlook: (now: number, prompt: PoolPrompt, { isOwner, slowerEachMs }: OutlookOptions): Outlook => {
      settleUnseen(state, now);
      const heldTokens = isOwner ? (prompt.ends.at(-1) ?? 0) : held.tokensOf(prompt);
      const ownTokens = ownTokensOf(prompt, heldTokens);
      const firstMs = firstMsOf(state, now, ownTokens);
      return {
        heldTokens,
        firstMs,
        errorMs: firstMs * state.prefill.spread(),
        workMs: delayMs(state, ownTokens),
        slowerMs: underWay(state, now) * slowerEachMs,
        isUntried: state.isUntried,
      };
    },
    /** Whether no attempt is under way, as far as is known. */
    isIdle: (now: number): boolean => underWay(state, now) === 0,
    /** Whether requests of other traffic wait, by a report of the engine that is not old. */
    hasOthersWaiting: (now: number): boolean => traffic.at(now).waiting > 0,
    /** Undefined: no first token has been measured. */
    firstTokenWait: (now: number, prompt: PoolPrompt): FirstTokenWait | undefined => {
      if (!state.isMeasured) return undefined;
      settleUnseen(state, now);
      const ownTokens = ownTokensOf(prompt, held.tokensOf(prompt));
      return {
        firstMs: firstMsOf(state, now, ownTokens),
        aloneMs: state.prefill.msFor(ownTokens),
      };
    },
    begin: (now: number, prompt: PoolPrompt, { stream }: { readonly stream: boolean }): PoolAttempt =>
      beginAttempt(state, now, { prompt, stream }),
    /** What the other replicas have to know. Takes the steps of the capacity. */
    takeReport: (now: number): EndpointReport => {
      settleUnseen(state, now);
      return { ...own, steps: held.takeSteps(), capacityTokens: held.capacity() };
    },
    heard: (replica: string, { aheadTokens: ahead, underWay: attempts, ...capacity }: EndpointReport): void => {
      setOthers(state, replica, attempts === 0 ? undefined : { aheadTokens: ahead, underWay: attempts });
      held.reportedElsewhere(capacity);
    },
    /** Another replica is gone, and its work with it. */
    lost: (replica: string): void => setOthers(state, replica, undefined),
    /** Another replica has sent the endpoint a prompt. Returns the expected time of work on it, ms. */
    sentByOther: (prompt: PoolPrompt): number => {
      const ownTokens = ownTokensOf(prompt, held.tokensOf(prompt));
      held.use(prompt);
      held.leave(prompt);
      state.isUntried = false;
      return delayMs(state, ownTokens);
    },
    /** What this replica's own attempts ask of the endpoint now. */
    work: (now: number) => {
      settleUnseen(state, now);
      const [first] = state.uncomputed;
      return {
        /** Prompt tokens that wait behind the oldest prompt that is not computed. No other endpoint could do that one sooner. */
        queuedTokens: waitedTokens(state, own.aheadTokens - (first?.tokens ?? 0)),
        underWay: own.underWay,
        /** Expected time to the first token of a usual prompt, also with the work of others, ms. Undefined: none has been measured. */
        firstMs: state.isMeasured ? firstMsOf(state, now, state.usualTokens.mean(now, assumedTokens)) : undefined,
      };
    },
    /** Of prompts, by the tokens that are computed. Undefined: no first token has been measured. */
    speed: (): Prefill | undefined => (state.isMeasured ? state.prefill : undefined),
    /** The engine is asked for its load. Call the returned function when it has answered. */
    asked: (askedAt: number): ((now: number, load: EngineLoad) => void) => {
      const before = knownRequests(state, askedAt);
      return (now, load) => {
        const after = knownRequests(state, now);
        traffic.reported(now, load, {
          underWay: Math.max(before.underWay, after.underWay),
          unanswered: Math.max(before.unanswered, after.unanswered),
        });
      };
    },
  };
}
