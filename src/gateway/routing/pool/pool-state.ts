import { type AnswerKnowledge, createAnswerKnowledge } from './answer-knowledge.ts';
import { createDemand, type Demand } from './demand.ts';
import { createEndpointKnowledge, type EndpointKnowledge } from './endpoint-knowledge.ts';
import { assumedTokens } from './endpoint-state.ts';
import type { PoolAttempt } from './pool-attempt.ts';
import type { PoolPrompt } from '../../../core/pool-prompt.ts';
import { createEvidence, type Evidence, type Prefill } from './prefill.ts';
import { createRecentSum, type RecentSum } from './recent-sum.ts';
import { fastestOf } from './speed.ts';

/** What is known of the endpoints of a backend together. */
export interface PoolState {
  readonly listener: PoolListener | undefined;
  /** By the name of the endpoint. */
  readonly known: Map<string, PooledEndpoint>;
  readonly answers: AnswerKnowledge;
  readonly evidence: Evidence;
  readonly demand: Demand;
  /** Time of work on prompts of all endpoints, ms. */
  readonly work: RecentSum;
  attempts: number;
  /** When the last attempt of this replica began. */
  begunAt: number;
  /** Found at each measurement, not for each pick: every endpoint that has not been measured asks for it. */
  fastest: Prefill | undefined;
}

/** Receives the changes of this replica's own work. */
export interface PoolListener {
  /** The work under way on an endpoint has changed. `prompt`: because this prompt was sent there. */
  readonly changed: (name: string, prompt: PoolPrompt | undefined) => void;
}

interface PooledEndpoint {
  readonly knowledge: EndpointKnowledge;
  /** How many attempts there were in all when its last one began, or when it was first seen. */
  lastAt: number;
  /** When it last showed how fast it is. Undefined: it has not. */
  shownAt: number | undefined;
  /** It was probed, or picked after a long time, and proved better than was known each time since then. Undefined: no. */
  explored: { readonly wasFailing: boolean } | undefined;
}

export interface PoolCandidate {
  readonly name: string;
  /** Share of its attempts that succeeded lately. */
  readonly success: number;
}

export interface SurveyOptions {
  readonly prompt: PoolPrompt;
  readonly among: readonly PoolCandidate[];
  /**
   * The endpoint of these that all replicas expect to hold the prompt's beginning. Undefined: this replica knows what the others have
   * sent, or there are no others.
   */
  readonly owner?: string | undefined;
}

export interface BegunInPool {
  readonly name: string;
  readonly prompt: PoolPrompt;
  /** Whether the first token is seen. */
  readonly stream: boolean;
  /** The attempt shows whether an ejected endpoint is well again. If it is, it gets further ones, because its record is too bad for the pick. */
  readonly isProbe?: boolean | undefined;
}

export type PoolSurvey = ReturnType<typeof survey>;

/** How far back the share of busy time looks, ms. */
const busyMs = 30_000;

/**
 * An idle endpoint that was not picked so many times in a row, or so many times for each endpoint, gets one attempt: the knowledge that
 * it is slow may be out of date. So at most one attempt in 250 is made to find out, for each endpoint.
 */
const passedOver = { least: 250, forEach: 10 } as const;

export const createPoolState = (listener: PoolListener | undefined): PoolState => ({
  listener,
  known: new Map(),
  answers: createAnswerKnowledge(),
  evidence: createEvidence(),
  demand: createDemand(),
  work: createRecentSum({ recentMs: busyMs, negligible: 0 }),
  attempts: 0,
  begunAt: -Infinity,
  fastest: undefined,
});

export function endpointOf(state: PoolState, name: string): PooledEndpoint {
  let endpoint = state.known.get(name);
  if (endpoint === undefined) {
    const { answers, evidence } = state;
    const knowledge = createEndpointKnowledge({ answers, evidence, fastest: () => state.fastest });
    endpoint = { knowledge, lastAt: state.attempts, shownAt: undefined, explored: undefined };
    state.known.set(name, endpoint);
  }
  return endpoint;
}

/** The index of an idle endpoint that had no attempt for long, or that proves faster each time. */
export function longPassedOver(state: PoolState, now: number, among: readonly PoolCandidate[]): number | undefined {
  const most = Math.max(passedOver.least, passedOver.forEach * among.length);
  const passed = among.findIndex(({ name }) => {
    const { explored, lastAt, knowledge } = endpointOf(state, name);
    return (explored !== undefined || state.attempts - lastAt > most) && knowledge.isIdle(now);
  });
  return passed < 0 ? undefined : passed;
}

/** An attempt has shown how fast its endpoint is. An endpoint that failed before proves better by each attempt that does not. */
function showed(at: number, endpoint: PooledEndpoint, isFaster: boolean): void {
  endpoint.shownAt = at;
  if (!isFaster && endpoint.explored?.wasFailing !== true) endpoint.explored = undefined;
}

/** An attempt begins, of this replica or of another one. */
export function began(state: PoolState, endpoint: PooledEndpoint): void {
  state.attempts += 1;
  endpoint.lastAt = state.attempts;
}

/** What each of some endpoints would mean for a prompt. */
export function survey(state: PoolState, now: number, { prompt, among, owner }: SurveyOptions) {
  const slowerEachMs = state.answers.slowerEachMs(now);
  const endpoints = among.map(({ name, success }) => {
    const { knowledge, shownAt } = endpointOf(state, name);
    const outlook = knowledge.outlook(now, prompt, { isOwner: name === owner, slowerEachMs });
    const isAging = shownAt !== undefined && !knowledge.hasOthersWaiting(now);
    /** How old the knowledge is that makes the endpoint slow. */
    const ageMs = isAging ? now - shownAt : 0;
    return { success, outlook, ageMs };
  });
  /** How many endpoints work on prompts, on average. */
  const busy = state.work.at(now) / busyMs;
  return { endpoints, busy, slowerEachMs };
}

/** Of the measured endpoints. `names`: of these alone. */
export const speedsOf = ({ known }: PoolState, names?: ReadonlySet<string>): readonly Prefill[] =>
  [...known].flatMap(([name, { knowledge }]) => (names?.has(name) === false ? [] : (knowledge.speed() ?? [])));

export function findFastest(state: PoolState): void {
  state.fastest = fastestOf(speedsOf(state), assumedTokens.value);
}

/** An attempt of this replica begins. */
export function begin(state: PoolState, now: number, { name, prompt, stream, isProbe }: BegunInPool): PoolAttempt {
  const { listener } = state;
  const endpoint = endpointOf(state, name);
  const attempt = endpoint.knowledge.begin(now, prompt, { stream });
  if (isProbe === true) endpoint.explored = { wasFailing: true };
  state.work.add(now, attempt.workMs);
  state.demand.sent(now, attempt.tokens);
  began(state, endpoint);
  state.begunAt = now;
  listener?.changed(name, prompt);
  return {
    ...attempt,
    first: (at) => {
      const isFaster = attempt.first(at);
      findFastest(state);
      showed(at, endpoint, isFaster);
      listener?.changed(name, undefined);
      return isFaster;
    },
    completed: (at, outputTokens) => {
      const isFaster = attempt.completed(at, outputTokens);
      findFastest(state);
      if (!stream) showed(at, endpoint, isFaster);
      listener?.changed(name, undefined);
      return isFaster;
    },
    failed: () => {
      attempt.failed();
      endpoint.explored = undefined;
      listener?.changed(name, undefined);
    },
  };
}
