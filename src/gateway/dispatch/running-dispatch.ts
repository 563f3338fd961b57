import type { Route } from '../../core/catalog.ts';
import type { CountText } from '../core/count-tokens.ts';
import type { AnswerEvent, Fault } from '../../core/event.ts';
import type { AttemptPlace, Health } from '../core/health.ts';
import type { Plan } from '../core/plan.ts';
import type { StructureValidator } from '../core/structure.ts';
import type { AttemptReason, AttemptStep, AttemptWatch } from '../core/telemetry.ts';
import type { Branch } from './branch.ts';
import { type Delivered, keepDelivered } from './continuation/delivered.ts';
import { createTokenTotals, type TokenTotals } from './continuation/token-totals.ts';
import type { DispatchEnd } from './dispatch-end.ts';
import type { DispatchServices } from './dispatch-services.ts';
import type { EngineProtocol } from './protocol.ts';
import type { RetryPolicy } from './retries.ts';
import type { AskedOfRace } from './running-race.ts';

/** One call to a model, which the routes of a plan serve. */
export interface DispatchOptions {
  readonly plan: Plan;
  readonly asked: AskedOfModel;
  readonly protocol: EngineProtocol;
  readonly retries: RetryPolicy;
  /** Undefined: the request asks for no structure. */
  readonly validator: StructureValidator | undefined;
  /** The model's tokenizer. Undefined: the model has no tokenizer. */
  readonly countText: CountText | undefined;
  /** Aborts when the caller leaves. */
  readonly signal: AbortSignal;
  /** Receives the answer in order. After the first call, a failure is continued elsewhere or reported to the caller. */
  readonly deliver: (events: readonly AnswerEvent[]) => void;
  readonly observer: DispatchObserver;
}

/** The parts of a request that dispatch depends on. */
export interface AskedOfModel extends AskedOfRace {
  readonly choices: number;
  /** Output cap of a choice, tokens. */
  readonly cap: number | undefined;
  /** The text has to be JSON. */
  readonly isJson: boolean;
}

/** Watches every attempt. */
export interface DispatchObserver {
  readonly attempting: (at: AttemptPlace, reason: AttemptReason, step: AttemptStep) => AttemptWatch | undefined;
  /** An attempt on this route delivers the answer, or the rest of it. */
  readonly won: (route: Route, reason: AttemptReason) => void;
  readonly failed: (route: Route, fault: Fault) => void;
}

export interface RunningDispatch {
  readonly options: DispatchOptions;
  readonly services: DispatchServices;
  readonly totals: TokenTotals;
  /** Keeps the delivered output. Undefined: the answer cannot be continued, so nothing is kept. */
  readonly kept: Delivered | undefined;
  /** The races under way. */
  readonly branches: Set<Branch>;
  attempts: number;
  readonly askedRoutes: Set<Route>;
  /** The route that delivered last. */
  delivering: Route | undefined;
  /** Of the attempt that failed last. */
  lastFault: Fault | undefined;
  finishedChoices: number;
  isPaused: boolean;
  isContinued: boolean;
  isOver: boolean;
  readonly ended: PromiseWithResolvers<DispatchEnd>;
  stopListening: () => void;
}

export function newRunningDispatch(options: DispatchOptions, services: DispatchServices): RunningDispatch {
  const { plan, asked, countText } = options;
  return {
    options,
    services,
    totals: createTokenTotals(countText),
    // Without a second place nothing can be continued, and nothing is kept.
    kept: asked.stream && hasSecondPlace(plan, services.health) ? keepDelivered() : undefined,
    branches: new Set(),
    attempts: 0,
    askedRoutes: new Set(),
    delivering: undefined,
    lastFault: undefined,
    finishedChoices: 0,
    isPaused: false,
    isContinued: false,
    isOver: false,
    ended: Promise.withResolvers(),
    stopListening: () => undefined,
  };
}

/** Whether an answer that breaks off could be continued anywhere. */
function hasSecondPlace({ routes, leftOut = [] }: Plan, health: Pick<Health, 'endpointsLeft'>): boolean {
  return routes.length + leftOut.length > 1 || health.endpointsLeft({ route: routes[0].route }) > 1;
}
