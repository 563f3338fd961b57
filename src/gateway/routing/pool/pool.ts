import { createDemand, type PoolDemand } from './demand.ts';
import { createAnswerKnowledge } from './answer-knowledge.ts';
import { createEndpointKnowledge, type EndpointKnowledge } from './endpoint-knowledge.ts';
import { assumedTokens } from './endpoint-state.ts';
import type { PoolAttempt } from './pool-attempt.ts';
import type { EngineLoad } from '../../core/engine-load.ts';
import type { FirstTokenWait } from '../../core/health.ts';
import type { PoolPrompt } from '../../../core/pool-prompt.ts';
import type { EndpointWork } from '../../core/pool-report.ts';
import { pickOf, type PoolPick, type PoolSurvey } from './pick-pool.ts';
import { createRecentSum } from './recent-sum.ts';
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
  readonly takeReport: (now: number, name: string) => EndpointWork;
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

/** How far back the share of busy time looks, ms. */
const busyMs = 30_000;

/** An endpoint of the pool. */
interface PooledEndpoint {
  readonly knowledge: EndpointKnowledge;
  /** When it last showed how fast it is. Undefined: it has not. */
  shownAt: number | undefined;
}

/** A pool is in use for so long after the beginning of an attempt, ms. */
const usedMs = 10_000;

/** Receives the changes of this replica's own work. */
export interface PoolListener {
  /** The work under way on an endpoint has changed. `prompt`: because this prompt was sent there. */
  readonly changed: (name: string, prompt: PoolPrompt | undefined) => void;
}

export function createEndpointPool(listener: PoolListener | undefined): EndpointPool {
  const known = new Map<string, PooledEndpoint>();
  const answers = createAnswerKnowledge();
  const demand = createDemand();
  /** Time of work on prompts of all endpoints. */
  const workMs = createRecentSum(busyMs);
  let begunAt = -Infinity;
  /** Found at each measurement, not for each pick: every endpoint that has not been measured asks for it. */
  let fastest: Speed | undefined;

  function of(name: string): PooledEndpoint {
    const endpoint = known.get(name) ?? {
      knowledge: createEndpointKnowledge(answers, () => fastest),
      shownAt: undefined,
    };
    known.set(name, endpoint);
    return endpoint;
  }

  function survey(now: number, { prompt, among, owner }: SurveyOptions): PoolSurvey {
    const slowerEachMs = answers.slowerEachMs(now);
    const endpoints = among.map(({ name, success }) => {
      const { knowledge, shownAt } = of(name);
      const outlook = knowledge.outlook(now, prompt, { isOwner: name === owner, slowerEachMs });
      const isAging = shownAt !== undefined && !knowledge.hasOthersWaiting(now);
      return { success, outlook, ageMs: isAging ? now - shownAt : 0 };
    });
    return { endpoints, busy: workMs.at(now) / busyMs, slowerEachMs };
  }

  /** Of the measured endpoints. `names`: of these alone. */
  const speeds = (names?: ReadonlySet<string>): readonly Speed[] =>
    [...known].flatMap(([name, { knowledge }]) => (names?.has(name) === false ? [] : (knowledge.speed() ?? [])));

  const findFastest = (): void => void (fastest = fastestOf(speeds(), assumedTokens.value));

  function begin(now: number, { name, prompt, stream }: BegunInPool): PoolAttempt {
    const endpoint = of(name);
    const attempt = endpoint.knowledge.begin(now, prompt, { stream });
    workMs.add(now, attempt.workMs);
    demand.sent(now, attempt.tokens);
    begunAt = now;
    listener?.changed(name, prompt);
    const changed = (shownAt: number | undefined): void => {
      findFastest();
      endpoint.shownAt = shownAt;
      listener?.changed(name, undefined);
    };
    return {
      ...attempt,
      first: (at) => {
        attempt.first(at);
        changed(at);
      },
      completed: (at, outputTokens) => {
        attempt.completed(at, outputTokens);
        changed(stream ? endpoint.shownAt : at);
      },
      failed: (at) => {
        attempt.failed(at);
        listener?.changed(name, undefined);
      },
    };
  }

  return {
    survey,
    begin,
    pick: (now, { turn, ...asked }) => pickOf([survey(now, asked)], turn),
    firstTokenWait: (now, { prompt, among }) =>
      leastWait(among.map(({ name }) => of(name).knowledge.firstTokenWait(now, prompt))),
    takeReport: (now, name) => of(name).knowledge.takeReport(now),
    heard: (name, replica, work) => of(name).knowledge.heard(replica, work),
    lost: (name, replica) => of(name).knowledge.lost(replica),
    sentByOther: (now, { name, prompt }) => workMs.add(now, of(name).knowledge.sentByOther(prompt)),
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

function leastWait(waits: readonly (FirstTokenWait | undefined)[]): FirstTokenWait | undefined {
  const measured = waits.filter((wait) => wait !== undefined);
  return measured.length < waits.length ? undefined : measured.toSorted((a, b) => a.firstMs - b.firstMs)[0];
}
