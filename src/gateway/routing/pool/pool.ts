import type { EndpointKnowledge } from './endpoint-knowledge.ts';
import type { FirstTokenWait } from '../../core/health.ts';
import type { PoolPrompt } from '../../../core/pool-prompt.ts';
import { type Outlook, pick, type Pick } from './pick.ts';
import type { PoolAttempt } from './pool-attempt.ts';
import {
  began,
  begin,
  type BegunInPool,
  createPoolState,
  endpointOf,
  findFastest,
  longPassedOver,
  type PoolCandidate,
  type PoolListener,
  type PoolState,
  type PoolSurvey,
  speedsOf,
  survey,
  type SurveyOptions,
} from './pool-state.ts';

/** The endpoints of a backend as one pool: what is known of each, by its name, and the choice among them. */
export type EndpointPool = ReturnType<typeof createEndpointPool>;

export interface PoolPickOptions extends SurveyOptions {
  /** A random number, 0 ≤ turn < 1. */
  readonly turn: number;
  /** False: for an attempt that is made only if another one fails. Such an attempt is not used to find out about an endpoint. */
  readonly mayExplore?: boolean;
}

/** The pick, with the prediction on which it rests. */
export type PoolPick = Pick & Outlook;

/** A second random number is made of the digits of the first one that the choice among equals does not use. */
const lucks = 1009;
/** An endpoint that fails is asked again, or another one is: the time until an answer counts so many times at most. */
const maxTries = 10;

/** An endpoint with a smaller share of successes counts as failing. */
const goodSuccess = 0.9;

/** A pool is in use for so long after the beginning of an attempt, ms. */
const usedMs = 10_000;

/** After so long without an answer, half of what made an endpoint slower than the best one is forgotten, ms. */
const forgottenMs = 3000;

export function createEndpointPool(listener: PoolListener | undefined) {
  const state = createPoolState(listener);
  const { known, demand } = state;
  const of = (name: string): EndpointKnowledge => endpointOf(state, name).knowledge;
  return {
    survey: (now: number, asked: SurveyOptions): PoolSurvey => survey(state, now, asked),
    /** Picks one of these endpoints. Undefined: there is none. */
    pick: (now: number, options: PoolPickOptions): PoolPick | undefined => pickIn(state, now, options),
    /** The least of the waits at these endpoints. Undefined: there is none, or one of them has not been measured. */
    firstTokenWait: (
      now: number,
      { prompt, among }: { readonly prompt: PoolPrompt; readonly among: readonly PoolCandidate[] },
    ): FirstTokenWait | undefined => {
      let least: FirstTokenWait | undefined;
      for (const { name } of among) {
        const wait = of(name).firstTokenWait(now, prompt);
        if (wait === undefined) return undefined;
        if (least === undefined || wait.firstMs < least.firstMs) least = wait;
      }
      return least;
    },
    /** An attempt is sent to an endpoint. */
    begin: (now: number, attempt: BegunInPool): PoolAttempt => begin(state, now, attempt),
    /** What is known of the endpoint of this name, and what the engine and the other replicas report of it. */
    endpoint: of,
    /** Another replica has sent a prompt to an endpoint. */
    sentByOther: (now: number, { name, prompt }: { readonly name: string; readonly prompt: PoolPrompt }): void => {
      const endpoint = endpointOf(state, name);
      state.work.add(now, endpoint.knowledge.sentByOther(prompt));
      began(state, endpoint);
    },
    /** Whether an attempt has begun lately. */
    isUsed: (now: number): boolean => now - state.begunAt <= usedMs,
    /** See `Demand`. `names`: the endpoints that may get requests. */
    refused: demand.refused,
    demand: (
      now: number,
      { objectiveMs, names }: { readonly objectiveMs: number; readonly names: readonly string[] },
    ) => {
      const present = new Set(names);
      const works = [...known].map(([name, { knowledge }]) => ({ name, work: knowledge.work(now) }));
      demand.learn(speedsOf(state, present));
      return demand.read(now, {
        objectiveMs,
        works: works.map(({ work }) => work),
        present: works.flatMap(({ name, work }) => (present.has(name) ? [work] : [])),
      });
    },
    /** Forgets the other endpoints. */
    retain: (names: ReadonlySet<string>): void => {
      // The last endpoints may leave, and their speed says how many are needed when requests come again.
      demand.learn(speedsOf(state));
      for (const name of known.keys()) if (!names.has(name)) known.delete(name);
      findFastest(state);
    },
  };
}

function pickIn(
  state: PoolState,
  now: number,
  { turn, mayExplore = true, ...asked }: PoolPickOptions,
): PoolPick | undefined {
  const passed = mayExplore ? longPassedOver(state, now, asked.among) : undefined;
  const surveyed = survey(state, now, asked);
  const outlooks = outlooksOf([surveyed], turn);
  const picked: Pick | undefined =
    passed === undefined ? pickOf([surveyed], { outlooks, turn }) : { index: passed, why: 'explored' };
  const [candidate, outlook] = [asked.among[picked?.index ?? -1], outlooks[picked?.index ?? -1]];
  if (picked === undefined || candidate === undefined || outlook === undefined) return undefined;
  const { name, success } = candidate;
  if (picked.why === 'explored') endpointOf(state, name).explored = { wasFailing: success < goodSuccess };
  return { ...outlook, ...picked };
}

/** Picks an endpoint of several pools as if they were one. Returns its pool, by its index. Undefined: there is no endpoint. */
export function pickPool(surveys: readonly PoolSurvey[], turn: number): number | undefined {
  const picked = pickOf(surveys, { outlooks: outlooksOf(surveys, turn), turn });
  let left = picked?.index ?? -1;
  if (left < 0) return undefined;
  return surveys.findIndex(({ endpoints }) => (left -= endpoints.length) < 0);
}

function pickOf(
  surveys: readonly PoolSurvey[],
  { outlooks, turn }: { readonly outlooks: readonly Outlook[]; readonly turn: number },
): Pick | undefined {
  const busy = surveys.reduce((sum, survey) => sum + survey.busy, 0);
  return pick(outlooks, { busy: busy / Math.max(1, outlooks.length), turn });
}

/**
 * In the order of the surveys. By how much answers become slower together differs between pools mostly by chance, and such a difference
 * would take prompts away from their holders. So the mean of the pools counts.
 */
function outlooksOf(surveys: readonly PoolSurvey[], turn: number): readonly Outlook[] {
  const meanMs = surveys.reduce((sum, { slowerEachMs }) => sum + slowerEachMs, 0) / surveys.length;
  let minMs = Infinity;
  for (const { endpoints } of surveys) for (const { outlook } of endpoints) minMs = Math.min(minMs, outlook.firstMs);
  return surveys.flatMap(({ endpoints, slowerEachMs }) =>
    endpoints.map(({ success, outlook, ageMs }) => {
      const compared =
        surveys.length === 1 ? outlook : { ...outlook, slowerMs: (outlook.slowerMs * meanMs) / slowerEachMs };
      return tried(aged(compared, { minMs, ageMs }), { success, turn });
    }),
  );
}

/** The outlook of an endpoint that has not answered for so long: what made it slow may be over. */
function aged(outlook: Outlook, { minMs, ageMs }: { readonly minMs: number; readonly ageMs: number }): Outlook {
  if (ageMs === 0 || outlook.firstMs === minMs) return outlook;
  const kept = 2 ** (-ageMs / forgottenMs);
  const firstMs = minMs + (outlook.firstMs - minMs) * kept;
  return { ...outlook, firstMs, workMs: (outlook.workMs * firstMs) / outlook.firstMs };
}

/**
 * The outlook with the attempts that usually fail before one succeeds. By chance, an endpoint is now and then judged as if its attempts
 * did not fail: otherwise it would never be picked, and its record would never improve.
 */
function tried(outlook: Outlook, { success, turn }: { readonly success: number; readonly turn: number }): Outlook {
  if (success === 1) return outlook;
  const luck = (turn * lucks) % 1;
  if (success ** 3 > luck) return outlook;
  const tries = Math.min(maxTries, 1 / success);
  return { ...outlook, firstMs: outlook.firstMs * tries, errorMs: outlook.errorMs * tries };
}
