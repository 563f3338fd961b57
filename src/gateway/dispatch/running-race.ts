import type { AnswerEvent, Fault } from '../../core/event.ts';
import type { AttemptPlace } from '../core/health.ts';
import type { Plan, PlannedRoute } from '../core/plan.ts';
import type { StructuralDefect } from '../core/structure.ts';
import type { AttemptReason, AttemptStep, AttemptWatch } from '../core/telemetry.ts';
import { newRace, type RaceEvent, type RaceState } from './decide.ts';
import type { DispatchServices } from './dispatch-services.ts';
import { createHedgeWatch, type HedgeWatch } from './hedge.ts';
import type { ContinueOn } from './places.ts';
import type { EngineProtocol } from './protocol.ts';
import type { RaceEnd } from './race-end.ts';
import type { Runner, Winner } from './runner.ts';
import type { Tried } from './tried.ts';

/** The parts of a request that a race depends on. */
export interface AskedOfRace {
  readonly stream: boolean;
  /** Digest of the prompt, for the health of its routes. */
  readonly prompt: number | undefined;
}

/** The choices of an answer that one race serves. */
export interface RacedChoices {
  /** In the caller's numbers. */
  readonly choices: readonly number[];
  /** In the order in which they are tried. All endpoints of a route come before the next route. */
  readonly routes: readonly PlannedRoute[];
  /** Where the request has been tried. */
  readonly tried: Tried;
}

export interface RaceOptions {
  readonly plan: Pick<Plan, 'leftOut' | 'affinity' | 'poolPrompt'> & { readonly model: Pick<Plan['model'], 'hedging'> };
  readonly asked: AskedOfRace;
  readonly protocol: EngineProtocol;
  readonly branch: RacedChoices;
  /** The answer that is continued. Undefined: nothing was delivered, so every route is asked for the answer from its beginning. */
  readonly broken: BrokenAnswer | undefined;
}

export interface BrokenAnswer {
  /** The route whose answer broke off. */
  readonly on: PlannedRoute;
  readonly continueOn: ContinueOn;
}

/** Receives the progress of a race, and answers its questions. */
export interface RaceListener {
  readonly attempting: (at: AttemptPlace, reason: AttemptReason, step: AttemptStep) => AttemptWatch | undefined;
  /** The race has a winner. `reason`: why the winning attempt was made. */
  readonly won: (planned: PlannedRoute, reason: AttemptReason) => void;
  readonly failed: (planned: PlannedRoute, fault: Fault) => void;
  /** Whether another attempt may follow this fault. */
  readonly mayRetry: (fault: Fault) => boolean;
  /** Checks a whole answer before any of it is delivered. Undefined: no check is needed. */
  readonly validate:
    | ((events: readonly AnswerEvent[], planned: PlannedRoute) => Promise<StructuralDefect | undefined>)
    | undefined;
  /** Receives output in order. The first call commits the answer to one attempt. */
  readonly deliver: (events: readonly AnswerEvent[], from: Winner) => void;
  /** Called once and last, but not after `abort` or `leave`. */
  readonly over: (end: RaceEnd) => void;
}

export interface RunningRace {
  readonly options: RaceOptions;
  readonly services: DispatchServices;
  readonly listener: RaceListener;
  readonly hedging: HedgeWatch;
  /** The attempts under way, by number. */
  readonly runners: Map<number, Runner>;
  /** The state of `decide`. */
  decided: RaceState;
  /** Events that wait until earlier events have been dealt with. */
  readonly waiting: RaceEvent[];
  isDeciding: boolean;
  /** The routes that were called. */
  readonly asked: Set<PlannedRoute>;
  /** The route of the last call. Before the first call: the route whose answer broke off. */
  previous: PlannedRoute | undefined;
  /** The faults of all attempts that failed. */
  readonly faults: Fault[];
  /** The first whole answer of the wrong structure. It is used when no route gives a better answer. */
  tolerable: Runner | undefined;
  winner: Runner | undefined;
  isPaused: boolean;
  isOver: boolean;
}

export function newRunningRace(options: RaceOptions, services: DispatchServices, listener: RaceListener): RunningRace {
  return {
    options,
    services,
    listener,
    hedging: createHedgeWatch({ ...services, stream: options.asked.stream }),
    runners: new Map(),
    decided: newRace,
    waiting: [],
    isDeciding: false,
    asked: new Set(),
    previous: options.broken?.on,
    faults: [],
    tolerable: undefined,
    winner: undefined,
    isPaused: false,
    isOver: false,
  };
}
