import type { PoolPrompt } from '../../../core/pool-prompt.ts';
import type { EndpointWork } from '../../core/pool-report.ts';
import { createDecayedMean, type DecayedMean } from '../../core/decayed-mean.ts';
import { type AnswerKnowledge, recent } from './answer-knowledge.ts';
import { createHeldBlocks, type HeldBlocks } from './held-blocks.ts';
import { createOtherTraffic, type KnownRequests, type OtherTraffic } from './other-traffic.ts';
import { createPrefill, type Evidence, type FirstToken, type Prefill } from './prefill.ts';

/** What is known of all endpoints of a pool together. */
export interface CommonKnowledge {
  readonly answers: AnswerKnowledge;
  /** See `createPrefill`. */
  readonly evidence: Evidence;
  /** The speed of the fastest endpoint. Undefined: none has been measured. */
  readonly fastest: () => Prefill | undefined;
}

export interface EndpointState extends CommonKnowledge {
  readonly held: HeldBlocks;
  prefill: Prefill;
  readonly own: { aheadTokens: number; underWay: number };
  /** Attempts whose first token is not seen, in the order in which it is expected. */
  readonly unseen: UnseenPrompt[];
  /** Oldest first. */
  readonly waiting: Set<WaitingStream>;
  /** Prompts that are not computed, streams included. Oldest first. */
  readonly uncomputed: Set<UnseenPrompt>;
  /** By replica. */
  readonly others: Map<string, EndpointWork>;
  ofOthers: EndpointWork;
  readonly traffic: OtherTraffic;
  /** Tokens that the endpoint computes for a prompt. */
  readonly usualTokens: DecayedMean;
  isUntried: boolean;
  isMeasured: boolean;
}

/** An attempt whose answer streams, and whose first token has not come. */
export interface WaitingStream {
  readonly begunAt: number;
  readonly expectedMs: number;
}

/** A prompt of an answer that does not stream. */
export interface UnseenPrompt {
  /** Tokens that count as not computed. */
  tokens: number;
  /** When the first token is expected. */
  readonly until: number;
}

/** A stream that waits for its first token so many times longer than expected is overdue. Queues alone seldom keep it so long. */
const overdueFactor = 3;

/** The engine of a model of 32 billion weights on two GPUs. It matters only until an endpoint has answered. */
export const assumedPrefill = { samples: 2, amount: 4000, eachMs: 0.1, minMs: 30, spread: 0.5 };
export const assumedTokens = { value: 1000, weight: 1 };

export const createEndpointState = (common: CommonKnowledge): EndpointState => ({
  ...common,
  held: createHeldBlocks(),
  prefill: createPrefill(assumedPrefill, common.evidence),
  own: { aheadTokens: 0, underWay: 0 },
  unseen: [],
  waiting: new Set(),
  uncomputed: new Set(),
  others: new Map(),
  ofOthers: { aheadTokens: 0, underWay: 0 },
  traffic: createOtherTraffic(),
  usualTokens: createDecayedMean(recent),
  isUntried: true,
  isMeasured: false,
});

/** A request of other traffic that waits counts like a usual prompt of Weir. */
export function aheadTokens({ own, ofOthers, traffic, usualTokens }: EndpointState, now: number): number {
  const known = own.aheadTokens + ofOthers.aheadTokens;
  const { waiting: queued } = traffic.at(now);
  return queued === 0 ? known : known + queued * usualTokens.mean(now, assumedTokens);
}

export function underWay({ own, ofOthers, traffic }: EndpointState, now: number): number {
  const { running, waiting: queued } = traffic.at(now);
  return own.underWay + ofOthers.underWay + running + queued;
}

export function knownRequests(state: EndpointState, now: number): KnownRequests {
  settleUnseen(state, now);
  const { own, ofOthers } = state;
  const ownUnanswered = state.waiting.size + state.unseen.filter(({ tokens }) => tokens > 0).length;
  // Which of their requests wait, the other replicas do not report.
  const othersUnanswered = ofOthers.aheadTokens > 0 ? ofOthers.underWay : 0;
  return { underWay: own.underWay + ofOthers.underWay, unanswered: ownUnanswered + othersUnanswered };
}

/** Prompts without a visible first token count as computed once it was expected. */
export function settleUnseen(state: EndpointState, now: number): void {
  for (let prompt = state.unseen[0]; prompt !== undefined && prompt.until <= now; prompt = state.unseen[0]) {
    state.unseen.shift();
    computed(state, prompt);
  }
}

/** A prompt no longer counts as work ahead. */
export function computed({ own, uncomputed }: EndpointState, prompt: UnseenPrompt): void {
  own.aheadTokens -= prompt.tokens;
  prompt.tokens = 0;
  uncomputed.delete(prompt);
}

/** The work that another replica has reported. Undefined: it has none there. */
export function setOthers(state: EndpointState, replica: string, work: EndpointWork | undefined): void {
  if (work === undefined) state.others.delete(replica);
  else state.others.set(replica, work);
  const sum = { aheadTokens: 0, underWay: 0 };
  for (const one of state.others.values()) {
    sum.aheadTokens += one.aheadTokens;
    sum.underWay += one.underWay;
  }
  state.ofOthers = sum;
}

/**
 * Until an endpoint is measured, it counts as fast as the fastest one. If it counted as slower, it would get no requests, and would
 * never be measured.
 */
export const speedOf = (state: EndpointState): Prefill =>
  (state.isMeasured ? undefined : state.fastest()) ?? state.prefill;

/** A first token has come. True: it came much sooner than was known. */
export function measured(state: EndpointState, sample: FirstToken): boolean {
  const eachMs = speedOf(state).eachMs();
  if (!state.isMeasured) state.prefill = createPrefill({ ...assumedPrefill, eachMs }, state.evidence);
  state.isMeasured = true;
  return state.prefill.measured(sample);
}

/** Of tokens that others compute or wait for, those that a prompt waits for, too. */
export const waitedTokens = (state: EndpointState, tokens: number): number => (speedOf(state).isQueue() ? tokens : 0);

/** Time by which work on a prompt delays the prompts behind it, ms. */
export const delayMs = (state: EndpointState, tokens: number): number =>
  waitedTokens(state, tokens) * speedOf(state).eachMs();

/**
 * An engine that works on prompts at once, as far as was seen, says that requests of other traffic wait. Until it is known what that
 * means there, ms: as if each of them was computed alone.
 */
function unexpectedWaitMs(state: EndpointState, now: number): number {
  const { waiting } = state.traffic.at(now);
  const speed = speedOf(state);
  return waiting === 0 || speed.isQueue() ? 0 : waiting * speed.msFor(state.usualTokens.mean(now, assumedTokens));
}

/** Expected time to a first token, ms. While the oldest stream is overdue, the endpoint counts as no faster than that. */
export function firstMsOf(state: EndpointState, now: number, ownTokens: number): number {
  const expectedMs =
    speedOf(state).msFor(ownTokens + waitedTokens(state, aheadTokens(state, now))) + unexpectedWaitMs(state, now);
  const oldest = state.waiting.values().next().value;
  if (oldest === undefined) return expectedMs;
  const waitedMs = now - oldest.begunAt;
  return waitedMs > oldest.expectedMs * overdueFactor ? Math.max(expectedMs, waitedMs) : expectedMs;
}

/** Tokens of a prompt that the endpoint computes. */
export const ownTokensOf = (prompt: PoolPrompt, heldTokens: number): number => Math.max(1, prompt.tokens - heldTokens);
