import { createDecayedMean } from '../health/decayed-mean.ts';
import type { EngineLoad } from '../../core/engine-load.ts';
import type { FirstTokenWait } from '../../core/health.ts';
import type { PoolPrompt } from '../../../core/pool-prompt.ts';
import type { EndpointReport, EndpointWork } from '../../core/pool-report.ts';
import { createHeldBlocks } from './held-blocks.ts';
import { createOtherTraffic, type KnownRequests } from './other-traffic.ts';
import type { Outlook } from './pick.ts';
import { createSpeed, type Speed } from './speed.ts';

/**
 * The knowledge of one endpoint, from the attempts that this replica has made there, from the reports of the others, and from the load that
 * its engine reports.
 */
export interface EndpointKnowledge {
  /** Predicts what a prompt would cost at the endpoint. */
  readonly outlook: (now: number, prompt: PoolPrompt, options: OutlookOptions) => Outlook;
  /** Whether no attempt is under way, as far as is known. */
  readonly isIdle: (now: number) => boolean;
  /** Whether requests of other traffic wait, by a report of the engine that is not old. */
  readonly hasOthersWaiting: (now: number) => boolean;
  /** Undefined: no first token has been measured. */
  readonly firstTokenWait: (now: number, prompt: PoolPrompt) => FirstTokenWait | undefined;
  readonly begin: (now: number, prompt: PoolPrompt, options: { readonly stream: boolean }) => PoolAttempt;
  /** What the other replicas have to know. Takes the steps of the capacity. */
  readonly takeReport: (now: number) => EndpointReport;
  readonly heard: (replica: string, report: EndpointReport) => void;
  /** Another replica is gone, and its work with it. */
  readonly lost: (replica: string) => void;
  /** Another replica has sent the endpoint a prompt. Returns the expected time of work on it, ms. */
  readonly sentByOther: (prompt: PoolPrompt) => number;
  /** The engine is asked for its load. Call the returned function when it has answered. */
  readonly asked: (now: number) => (now: number, load: EngineLoad) => void;
  /** What this replica's own attempts ask of the endpoint now. */
  readonly work: (now: number) => OwnWork;
  /** Of prompts, by the tokens that are computed. Undefined: no first token has been measured. */
  readonly speed: () => Speed | undefined;
}

export interface OutlookOptions {
  /** All replicas send prompts with this beginning to the endpoint, so that it counts as the holder of the whole prompt. */
  readonly isOwner: boolean;
  /** See `AnswerKnowledge`. */
  readonly slowerEachMs: number;
}

/** An attempt, as the knowledge of its endpoint follows it. */
export interface PoolAttempt {
  /** Tokens of the prompt that the endpoint computes. */
  readonly tokens: number;
  /** Expected time for which the endpoint works on the prompt, ms. */
  readonly workMs: number;
  /** True: the first token came much sooner than was known of the endpoint. */
  readonly first: (now: number) => boolean;
  /** The engine has reported how many tokens of the prompt it had in its cache. Both are counts of the engine, not of `PoolPrompt`. */
  readonly cached: (report: { readonly promptTokens: number; readonly cachedTokens: number }) => void;
  /**
   * Call `completed` or `failed` last; later calls have no effect. `outputTokens`: undefined where they are not known. True: an answer
   * that did not stream shows that its first token came much sooner than was known.
   */
  readonly completed: (now: number, outputTokens: number | undefined) => boolean;
  readonly failed: (now: number) => void;
}

/** The work of this replica's own attempts on an endpoint. */
export interface OwnWork {
  /** Prompt tokens that wait behind the oldest prompt that is not computed. No other endpoint could do that one sooner. */
  readonly queuedTokens: number;
  /** Attempts that have not ended. */
  readonly underWay: number;
  /** Expected time to the first token of a usual prompt, also with the work of others, ms. Undefined: none has been measured. */
  readonly firstMs: number | undefined;
}

/** The knowledge of the answers of all endpoints together. The answers of one endpoint are too few: chance decides too much. */
export interface AnswerKnowledge {
  /** `beside`: how many answers were under way on its endpoint meanwhile. */
  readonly measured: (
    now: number,
    answer: { readonly tokens: number; readonly ms: number; readonly beside: number },
  ) => void;
  /** How long the tokens after the first one usually take beside so many other answers, ms. */
  readonly outputMs: (tokens: number, beside: number) => number;
  /** By how much an answer and one other become slower together if they run on one endpoint, ms. */
  readonly slowerEachMs: (now: number) => number;
}

/** An attempt whose answer streams, and whose first token has not come. */
interface WaitingStream {
  readonly begunAt: number;
  readonly expectedMs: number;
}

/** A prompt of an answer that does not stream. */
interface UnseenPrompt {
  /** Tokens that count as not computed. */
  tokens: number;
  /** When the first token is expected. */
  readonly until: number;
}

/** A stream that waits for its first token so many times longer than expected is overdue. Queues alone seldom keep it so long. */
const overdueFactor = 3;

/** The engine of a model of 32 billion weights on two GPUs. It matters only until an endpoint has answered. */
export const assumedPrefill = { samples: 2, amount: 4000, eachMs: 0.1, minMs: 30, spread: 0.5 };
const assumedGap = { samples: 2, amount: 8, eachMs: 0.2, minMs: 15, spread: 0.5 };
const assumedLength = { value: 300, weight: 1 };
export const assumedTokens = { value: 1000, weight: 1 };
/** The requests that count for what is usual. */
const recent = { halfLifeMs: 300_000, maxWeight: 200 };

export function createAnswerKnowledge(): AnswerKnowledge {
  const lengths = createDecayedMean(recent);
  const gap = createSpeed(assumedGap);
  return {
    measured: (now, { tokens, ms, beside }) => {
      lengths.add(now, tokens);
      if (tokens > 1) gap.measured(beside, ms / (tokens - 1));
    },
    outputMs: (tokens, beside) => Math.max(0, tokens - 1) * gap.msFor(beside),
    // The other one makes this answer slower, and this answer makes the other one slower.
    slowerEachMs: (now) => 2 * gap.eachMs() * lengths.mean(now, assumedLength),
  };
}

/** `answers`: of all endpoints of the pool. `fastest`: the speed of the fastest one. Undefined: none has been measured. */
export function createEndpointKnowledge(answers: AnswerKnowledge, fastest: () => Speed | undefined): EndpointKnowledge {
  const held = createHeldBlocks();
  let prefill = createSpeed(assumedPrefill);
  const own = { aheadTokens: 0, underWay: 0 };
  /** Attempts whose first token is not seen, in the order in which it is expected. */
  const unseen: UnseenPrompt[] = [];
  /** Oldest first. */
  const waiting = new Set<WaitingStream>();
  /** Prompts that are not computed, streams included. Oldest first. */
  const uncomputed = new Set<UnseenPrompt>();
  const others = new Map<string, EndpointWork>();
  let ofOthers: EndpointWork = { aheadTokens: 0, underWay: 0 };
  const traffic = createOtherTraffic();
  /** Tokens that the endpoint computes for a prompt. */
  const usualTokens = createDecayedMean(recent);
  let isUntried = true;
  let isMeasured = false;

  /** A request of other traffic that waits counts like a usual prompt of Weir. */
  function aheadTokens(now: number): number {
    const known = own.aheadTokens + ofOthers.aheadTokens;
    const { waiting: queued } = traffic.at(now);
    return queued === 0 ? known : known + queued * usualTokens.mean(now, assumedTokens);
  }
  const knownUnderWay = (): number => own.underWay + ofOthers.underWay;
  function underWay(now: number): number {
    const { running, waiting: queued } = traffic.at(now);
    return knownUnderWay() + running + queued;
  }

  function knownRequests(now: number): KnownRequests {
    settleUnseen(now);
    const ownUnanswered = waiting.size + unseen.filter(({ tokens }) => tokens > 0).length;
    // Which of their requests wait, the other replicas do not report.
    const othersUnanswered = ofOthers.aheadTokens > 0 ? ofOthers.underWay : 0;
    return { underWay: knownUnderWay(), unanswered: ownUnanswered + othersUnanswered };
  }

  /** Prompts without a visible first token count as computed once it was expected. */
  function settleUnseen(now: number): void {
    while (unseen[0] !== undefined && unseen[0].until <= now) {
      const prompt = unseen.shift();
      own.aheadTokens -= prompt?.tokens ?? 0;
      if (prompt === undefined) return;
      prompt.tokens = 0;
      uncomputed.delete(prompt);
    }
  }

  function addUp(): void {
    ofOthers = { aheadTokens: 0, underWay: 0 };
    for (const one of others.values())
      ofOthers = {
        aheadTokens: ofOthers.aheadTokens + one.aheadTokens,
        underWay: ofOthers.underWay + one.underWay,
      };
  }

  /**
   * Until an endpoint is measured, it counts as fast as the fastest one. If it counted as slower, it would get no requests, and would
   * never be measured.
   */
  const speed = (): Speed => (isMeasured ? undefined : fastest()) ?? prefill;

  /** A first token has come. True: it came much sooner than was known. */
  function measured(tokens: number, ms: number): boolean {
    if (!isMeasured) prefill = createSpeed({ ...assumedPrefill, eachMs: speed().eachMs() });
    isMeasured = true;
    return prefill.measured(tokens, ms);
  }

  /** Expected time to a first token, ms. While the oldest stream is overdue, the endpoint counts as no faster than that. */
  function firstMsOf(now: number, work: number): number {
    const expectedMs = speed().msFor(work);
    const oldest = waiting.values().next().value;
    if (oldest === undefined) return expectedMs;
    const waitedMs = now - oldest.begunAt;
    return waitedMs > oldest.expectedMs * overdueFactor ? Math.max(expectedMs, waitedMs) : expectedMs;
  }

  /** Tokens of a prompt that the endpoint computes. */
  const ownTokensOf = (prompt: PoolPrompt, heldTokens: number): number => Math.max(1, prompt.tokens - heldTokens);

  return {
    outlook: (now, prompt, { isOwner, slowerEachMs }) => {
      settleUnseen(now);
      const heldTokens = isOwner ? (prompt.ends.at(-1) ?? 0) : held.tokensOf(prompt);
      const ownTokens = ownTokensOf(prompt, heldTokens);
      const firstMs = firstMsOf(now, aheadTokens(now) + ownTokens);
      return {
        heldTokens,
        firstMs,
        errorMs: firstMs * prefill.spread(),
        workMs: ownTokens * speed().eachMs(),
        slowerMs: underWay(now) * slowerEachMs,
        isUntried,
      };
    },
    isIdle: (now) => underWay(now) === 0,
    hasOthersWaiting: (now) => traffic.at(now).waiting > 0,
    firstTokenWait: (now, prompt) => {
      if (!isMeasured) return undefined;
      settleUnseen(now);
      const ownTokens = ownTokensOf(prompt, held.tokensOf(prompt));
      return { firstMs: firstMsOf(now, aheadTokens(now) + ownTokens), aloneMs: prefill.msFor(ownTokens) };
    },
    begin: (begunAt, prompt, { stream }) => {
      settleUnseen(begunAt);
      const expected = held.tokensOf(prompt);
      const ownTokens = ownTokensOf(prompt, expected);
      const work = aheadTokens(begunAt) + ownTokens;
      held.use(prompt);
      usualTokens.add(begunAt, ownTokens);
      own.aheadTokens += ownTokens;
      own.underWay += 1;
      isUntried = false;
      const expectedMs = speed().msFor(work);
      /** What the attempt still adds to the tokens ahead. */
      const mine: UnseenPrompt = { tokens: ownTokens, until: begunAt + expectedMs };
      const waits: WaitingStream = { begunAt, expectedMs };
      const underWayBefore = underWay(begunAt);
      const computed = (): void => {
        own.aheadTokens -= mine.tokens;
        mine.tokens = 0;
        uncomputed.delete(mine);
      };
      const end = (): void => {
        isOver = true;
        waiting.delete(waits);
        computed();
        own.underWay -= 1;
      };
      if (stream) waiting.add(waits);
      else unseen.push(mine);
      uncomputed.add(mine);
      let first: { readonly at: number; readonly underWay: number } | undefined;
      let isOver = false;
      /** Learns from a complete answer. True: it shows only now that its first token came much sooner than was known. */
      const learn = (now: number, tokens: number): boolean => {
        const beside = ((first?.underWay ?? underWayBefore) + underWay(now)) / 2 - 1;
        if (first !== undefined) {
          answers.measured(now, { tokens, ms: now - first.at, beside });
          return false;
        }
        // Without a visible first token, an answer shows its time only if the rest was short beside it, or if all came sooner.
        const tookMs = now - begunAt;
        const restMs = answers.outputMs(tokens, beside);
        if (restMs > tookMs / 2 && tookMs >= expectedMs) return false;
        return measured(work, Math.max(tookMs - restMs, tookMs / 2));
      };
      return {
        tokens: ownTokens,
        workMs: ownTokens * speed().eachMs(),
        first: (now) => {
          if (first !== undefined || isOver || !stream) return false;
          first = { at: now, underWay: underWay(now) };
          waiting.delete(waits);
          computed();
          return measured(work, now - begunAt);
        },
        cached: ({ promptTokens, cachedTokens }) => {
          if (promptTokens > 0) held.reported({ expected, actual: cachedTokens, scale: prompt.tokens / promptTokens });
        },
        completed: (now, outputTokens) => {
          if (isOver) return false;
          held.leave(prompt);
          const isFaster = outputTokens !== undefined && learn(now, outputTokens);
          end();
          return isFaster;
        },
        failed: () => {
          if (isOver) return;
          if (first === undefined) held.fail(prompt, expected);
          else held.leave(prompt);
          end();
        },
      };
    },
    takeReport: (now) => {
      settleUnseen(now);
      return { ...own, steps: held.takeSteps(), capacityTokens: held.capacity() };
    },
    heard: (replica, { aheadTokens: ahead, underWay: attempts, ...capacity }) => {
      if (attempts === 0) others.delete(replica);
      else others.set(replica, { aheadTokens: ahead, underWay: attempts });
      addUp();
      held.reportedElsewhere(capacity);
    },
    lost: (replica) => {
      others.delete(replica);
      addUp();
    },
    sentByOther: (prompt) => {
      const ownTokens = ownTokensOf(prompt, held.tokensOf(prompt));
      held.use(prompt);
      held.leave(prompt);
      isUntried = false;
      return ownTokens * speed().eachMs();
    },
    work: (now) => {
      settleUnseen(now);
      const [first] = uncomputed;
      return {
        queuedTokens: own.aheadTokens - (first?.tokens ?? 0),
        underWay: own.underWay,
        firstMs: isMeasured ? firstMsOf(now, aheadTokens(now) + usualTokens.mean(now, assumedTokens)) : undefined,
      };
    },
    speed: () => (isMeasured ? prefill : undefined),
    asked: (askedAt) => {
      const before = knownRequests(askedAt);
      return (now, load) => {
        const after = knownRequests(now);
        traffic.reported(now, load, {
          underWay: Math.max(before.underWay, after.underWay),
          unanswered: Math.max(before.unanswered, after.unanswered),
        });
      };
    },
  };
}
