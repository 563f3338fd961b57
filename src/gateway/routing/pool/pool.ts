import { createDemand, type PoolDemand } from './demand.ts';
import { createAnswerKnowledge } from './answer-knowledge.ts';
import { createEndpointKnowledge, type EndpointKnowledge } from './endpoint-knowledge.ts';
import { assumedTokens } from './endpoint-state.ts';
import type { PoolAttempt } from './pool-attempt.ts';
import type { EngineLoad } from '../../core/engine-load.ts';
import type { FirstTokenWait } from '../../core/health.ts';
import type { PoolPrompt } from '../../../core/pool-prompt.ts';
import type { EndpointWork } from '../../core/pool-report.ts';
import { type Outlook, pick, type Pick } from './pick.ts';
import { fastestOf, type Speed } from './speed.ts';

/** The endpoints of a backend as one pool: what is known of each, by its name, and the choice among them. */
export interface EndpointPool {
  /** Picks one of these endpoints. Undefined: there is none. */
  readonly pick: (now: number, options: PoolPickOptions) => PoolPick | undefined;
  /** What each of these endpoints would mean for a prompt. */
  readonly survey: (now: number, options: SurveyOptions) => PoolSurvey;
  /** The least of the waits at these endpoints. Undefined: there is none, or one of them has not been measured. */
  readonly firstTokenWait: (
    now: number,
    options: { readonly prompt: PoolPrompt; readonly among: readonly PoolCandidate[] },
  ) => FirstTokenWait | undefined;
  /** An attempt is sent to an endpoint. */
  readonly begin: (now: number, attempt: BegunInPool) => PoolAttempt;
  /** See `EndpointKnowledge`, for the endpoint of this name. */
  readonly ownWork: (now: number, name: string) => EndpointWork;
  readonly heard: (name: string, replica: string, work: EndpointWork) => void;
  readonly lost: (name: string, replica: string) => void;
  /** Another replica has sent a prompt to an endpoint. */
  readonly sentByOther: (now: number, at: { readonly name: string; readonly prompt: PoolPrompt }) => void;
  /** The engine of an endpoint is asked for its load. See `EndpointKnowledge`. */
  readonly asked: (now: number, name: string) => (now: number, load: EngineLoad) => void;
  /** Whether an attempt has begun lately. */
  readonly isUsed: (now: number) => boolean;
  /** See `Demand`. `names`: the endpoints that may get requests. */
  readonly refused: (now: number, share: number) => void;
  readonly demand: (
    now: number,
    options: { readonly objectiveMs: number; readonly names: readonly string[] },
  ) => PoolDemand;
  /** Forgets the other endpoints. */
  readonly retain: (names: ReadonlySet<string>) => void;
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

export interface PoolPickOptions extends SurveyOptions {
  /** A random number, 0 ≤ turn < 1. */
  readonly turn: number;
  /** False: for an attempt that is made only if another one fails. Such an attempt is not used to find out about an endpoint. */
  readonly mayExplore?: boolean;
}

export interface PoolSurvey {
  readonly endpoints: readonly SurveyedEndpoint[];
  /** How many endpoints work on prompts, on average. */
  readonly busy: number;
  /** See `AnswerKnowledge`. */
  readonly slowerEachMs: number;
}

export interface SurveyedEndpoint {
  /** See `PoolCandidate`. */
  readonly success: number;
  readonly outlook: Outlook;
  /** How old the knowledge is that makes the endpoint slow, ms. */
  readonly ageMs: number;
}

export interface BegunInPool {
  readonly name: string;
  readonly prompt: PoolPrompt;
  /** Whether the first token is seen. */
  readonly stream: boolean;
}

export interface PoolCandidate {
  readonly name: string;
  /** Share of its attempts that succeeded lately. */
  readonly success: number;
}

/** The pick, with the prediction on which it rests. */
export type PoolPick = Pick & Outlook;

/** How far back the share of busy time looks, ms. */
const busyMs = 30_000;

/** A second random number is made of the digits of the first one that the choice among equals does not use. */
const lucks = 1009;
/** An endpoint that fails is asked again, or another one is: the time until an answer counts so many times at most. */
const maxTries = 10;

/**
 * An idle endpoint that was not picked so many times in a row, or so many times for each endpoint, gets one attempt: the knowledge that
 * it is slow may be out of date. So at most one attempt in 250 is made to find out, for each endpoint.
 */
const passedOver = { least: 250, forEach: 10 } as const;

/** An endpoint with a smaller share of successes counts as failing. */
const goodSuccess = 0.9;

/** An endpoint of the pool. */
interface PooledEndpoint {
  readonly knowledge: EndpointKnowledge;
  /** How many attempts there were in all when its last one began, or when it was first seen. */
  lastAt: number;
  /** When it last showed how fast it is. Undefined: it has not. */
  shownAt: number | undefined;
  /** It was picked after a long time, and proved better than was known each time since then. Undefined: no. */
  explored: { readonly wasFailing: boolean } | undefined;
}

/** After so long without an answer, half of what made an endpoint slower than the best one is forgotten, ms. */
const forgottenMs = 3000;

/** A pool is in use for so long after the beginning of an attempt, ms. */
const usedMs = 10_000;

/** Receives the changes of this replica's own work. */
export interface PoolListener {
  /** The work under way on an endpoint has changed. `prompt`: because this prompt was sent there. */
  readonly changed: (name: string, prompt: PoolPrompt | undefined) => void;
}

// oxlint-disable-next-line eslint/max-lines-per-function -- The rules of the attempts that are made to find out share all its state.
export function createEndpointPool(listener: PoolListener | undefined): EndpointPool {
  const known = new Map<string, PooledEndpoint>();
  const answers = createAnswerKnowledge();
  const demand = createDemand();
  /** Time of work on prompts of all endpoints. Work counts for less, the longer ago it began. */
  let workMs = 0;
  let asOf = 0;
  let attempts = 0;
  let begunAt = -Infinity;
  /** Found at each measurement, not for each pick: every endpoint that has not been measured asks for it. */
  let fastest: Speed | undefined;

  function of(name: string): PooledEndpoint {
    let endpoint = known.get(name);
    if (endpoint === undefined) {
      const knowledge = createEndpointKnowledge(answers, () => fastest);
      endpoint = { knowledge, lastAt: attempts, shownAt: undefined, explored: undefined };
      known.set(name, endpoint);
    }
    return endpoint;
  }

  /** The index of an idle endpoint that had no attempt for long, or that proves faster each time. */
  function longPassedOver(now: number, among: readonly PoolCandidate[]): number | undefined {
    const most = Math.max(passedOver.least, passedOver.forEach * among.length);
    const passed = among.findIndex(({ name }) => {
      const { explored, lastAt, knowledge } = of(name);
      return (explored !== undefined || attempts - lastAt > most) && knowledge.isIdle(now);
    });
    return passed < 0 ? undefined : passed;
  }

  function explore({ name, success }: PoolCandidate): void {
    of(name).explored = { wasFailing: success < goodSuccess };
  }

  /** An attempt has shown how fast its endpoint is. An endpoint that failed before proves better by each attempt that does not. */
  function showed(at: number, endpoint: PooledEndpoint, isFaster: boolean): void {
    endpoint.shownAt = at;
    if (!isFaster && endpoint.explored?.wasFailing !== true) endpoint.explored = undefined;
  }

  function began(endpoint: PooledEndpoint): void {
    attempts += 1;
    endpoint.lastAt = attempts;
  }

  function survey(now: number, { prompt, among, owner }: SurveyOptions): PoolSurvey {
    settle(now);
    const slowerEachMs = answers.slowerEachMs(now);
    const endpoints = among.map(({ name, success }) => {
      const { knowledge, shownAt } = of(name);
      const outlook = knowledge.outlook(now, prompt, { isOwner: name === owner, slowerEachMs });
      const isAging = shownAt !== undefined && !knowledge.hasOthersWaiting(now);
      return { success, outlook, ageMs: isAging ? now - shownAt : 0 };
    });
    return { endpoints, busy: workMs / busyMs, slowerEachMs };
  }

  /** Of the measured endpoints. `names`: of these alone. */
  const speeds = (names?: ReadonlySet<string>): readonly Speed[] =>
    [...known].flatMap(([name, { knowledge }]) => (names?.has(name) === false ? [] : (knowledge.speed() ?? [])));

  function findFastest(): void {
    fastest = fastestOf(speeds(), assumedTokens.value);
  }

  function settle(now: number): void {
    workMs *= Math.exp((asOf - now) / busyMs);
    asOf = now;
  }

  return {
    survey,
    pick: (now, { turn, mayExplore = true, ...asked }) => {
      const passed = mayExplore ? longPassedOver(now, asked.among) : undefined;
      const surveyed = survey(now, asked);
      const outlooks = outlooksOf([surveyed], turn);
      const picked: Pick | undefined =
        passed === undefined ? pickOf([surveyed], { outlooks, turn }) : { index: passed, why: 'explored' };
      const [candidate, outlook] = [asked.among[picked?.index ?? -1], outlooks[picked?.index ?? -1]];
      if (picked === undefined || candidate === undefined || outlook === undefined) return undefined;
      if (picked.why === 'explored') explore(candidate);
      return { ...outlook, ...picked };
    },
    firstTokenWait: (now, { prompt, among }) => {
      let least: FirstTokenWait | undefined;
      for (const { name } of among) {
        const wait = of(name).knowledge.firstTokenWait(now, prompt);
        if (wait === undefined) return undefined;
        if (least === undefined || wait.firstMs < least.firstMs) least = wait;
      }
      return least;
    },
    begin: (now, { name, prompt, stream }) => {
      settle(now);
      const endpoint = of(name);
      const attempt = endpoint.knowledge.begin(now, prompt, { stream });
      workMs += attempt.workMs;
      demand.sent(now, attempt.tokens);
      began(endpoint);
      begunAt = now;
      listener?.changed(name, prompt);
      return {
        ...attempt,
        first: (at) => {
          const isFaster = attempt.first(at);
          findFastest();
          showed(at, endpoint, isFaster);
          listener?.changed(name, undefined);
          return isFaster;
        },
        completed: (at, outputTokens) => {
          const isFaster = attempt.completed(at, outputTokens);
          findFastest();
          if (!stream) showed(at, endpoint, isFaster);
          listener?.changed(name, undefined);
          return isFaster;
        },
        failed: (at) => {
          attempt.failed(at);
          endpoint.explored = undefined;
          listener?.changed(name, undefined);
        },
      };
    },
    ownWork: (now, name) => of(name).knowledge.ownWork(now),
    heard: (name, replica, work) => of(name).knowledge.heard(replica, work),
    lost: (name, replica) => of(name).knowledge.lost(replica),
    sentByOther: (now, { name, prompt }) => {
      settle(now);
      const endpoint = of(name);
      workMs += endpoint.knowledge.sentByOther(prompt);
      began(endpoint);
    },
    asked: (now, name) => of(name).knowledge.asked(now),
    isUsed: (now) => now - begunAt <= usedMs,
    refused: demand.refused,
    demand: (now, { objectiveMs, names }) => {
      const present = new Set(names);
      const works = [...known].map(([name, { knowledge }]) => ({ name, work: knowledge.work(now) }));
      demand.learn(speeds(present));
      return demand.read(now, {
        objectiveMs,
        works: works.map(({ work }) => work),
        present: works.flatMap(({ name, work }) => (present.has(name) ? [work] : [])),
      });
    },
    retain: (names) => {
      // The last endpoints may leave, and their speed says how many are needed when requests come again.
      demand.learn(speeds());
      for (const name of known.keys()) if (!names.has(name)) known.delete(name);
      findFastest();
    },
  };
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
