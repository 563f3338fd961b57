import type { Outcome } from '../../core/account.ts';
import { type CallerEvidence, createCallerEvidence } from '../../gateway/core/caller-evidence.ts';
import type { Model } from '../../core/catalog.ts';
import type { Clock } from '../../core/clock.ts';
import type { ModelStatus } from '../../core/observed-catalog.ts';
import { createSpeedWindow, figureOf, type SpeedWindow } from './speed-window.ts';
import { thresholds } from './thresholds.ts';
import { createSliceRing } from './slice-ring.ts';

export interface ModelPerformanceOptions {
  readonly clock: Clock;
  /**
   * Whether any route of the model accepts requests: neither ejected nor cooling off, or on trial. A route at capacity
   * counts as accepting them.
   */
  readonly hasRoute: (model: Model) => boolean;
  /**
   * Whether Envoy has an endpoint for some route. If it has none, only a health check or DNS can change that, not
   * requests.
   */
  readonly isReachable: (model: Model) => boolean;
}

/** The measurements of the catalog's models in this process. Every method is cheap and never throws. */
export type ModelPerformance = ReturnType<typeof createModelPerformance>;

interface Measured {
  readonly windowSeconds: number;
  readonly speed: SpeedWindow;
  readonly availability: Availability;
  /** The callers whose requests failed for reasons that may be the requests' own fault. */
  readonly callers: CallerEvidence;
}

const windowOf = ({ serviceLevel }: Model): number =>
  serviceLevel?.windowSeconds ?? thresholds.availabilityWindowSeconds;

/**
 * Measures models by their answers, only for models of the catalog. Nothing is stored per request: a busy model takes
 * 10 to 20 KB, an unused one nothing. A service level with another window restarts the count of availability.
 */
export function createModelPerformance({ clock, hasRoute, isReachable }: ModelPerformanceOptions) {
  let models: ReadonlyMap<string, Model> = new Map();
  const measured = new Map<string, Measured>();

  function begin(windowSeconds: number, speed = createSpeedWindow()): Measured {
    const availability = createAvailability({ clock, windowSeconds });
    return { windowSeconds, speed, availability, callers: createCallerEvidence() };
  }

  /** Whether a request counts for availability (true) or against it (false); undefined when it says nothing about the model. */
  function isServed(outcome: Outcome, callers: CallerEvidence): boolean | undefined {
    const served = wasServed(outcome);
    const { keyId } = outcome;
    if (served === true) callers.served(clock.elapsed(), keyId);
    if (served !== 'disputed') return served;
    return callers.failed(clock.elapsed(), keyId) ? false : undefined;
  }

  /** Records that a request ended, with an outcome or without capacity; ignored once its model has left the catalog. */
  function ended(modelId: string, outcome?: Outcome): void {
    const model = models.get(modelId);
    if (model === undefined) return;
    const found = measured.getOrInsertComputed(modelId, () => begin(windowOf(model)));
    if (outcome !== undefined) found.speed.outcome(outcome, clock.now());
    const served = outcome !== undefined && isServed(outcome, found.callers);
    if (served !== undefined) found.availability.record(served);
    // The state of the service level changes only in `against`: see `createAvailability`.
    found.availability.against(model.serviceLevel?.minAvailability);
  }

  return {
    /** A request that was dispatched has ended. */
    outcome: (outcome: Outcome): void => ended(outcome.modelId, outcome),
    /** A request was refused, before it was dispatched, because the model had no capacity. */
    unavailable: (modelId: string): void => ended(modelId),
    /** Sets the models that are measured from now on, and forgets the measurements of all others. */
    retain: (next: ReadonlyMap<string, Model>): void => {
      models = next;
      for (const [id, { windowSeconds, speed }] of measured) {
        const model = next.get(id);
        if (model === undefined) measured.delete(id);
        else if (windowOf(model) !== windowSeconds) measured.set(id, begin(windowOf(model), speed));
      }
    },
    statusOf: (model: Model): ModelStatus => {
      const found = measured.get(model.id);
      if (found === undefined) return { listed: isReachable(model) && hasRoute(model) };
      const figure = figureOf(found.speed.slices(clock.now()), clock.now());
      const { isMet, share } = found.availability.against(model.serviceLevel?.minAvailability);
      return {
        listed: isMet && isReachable(model) && hasRoute(model),
        availability: share,
        figure,
      };
    },
  };
}

/** Whether a request was served; undefined when it says nothing about the model, `disputed` when the request may be at fault. */
function wasServed({ kind, firstTokenMs, refusedFor }: Outcome): boolean | 'disputed' | undefined {
  switch (kind) {
    case 'completed':
      return true;
    case 'cancelled':
    // A request that the service lost says as little about the model as a request whose caller left.
    case 'service-lost':
      // If a caller left before the first output, the caller was impatient or the model hangs. It is not known which.
      return firstTokenMs === undefined ? undefined : true;
    case 'failed':
    case 'incomplete':
      return failedFor(refusedFor);
    case 'interrupted':
      return false;
  }
}

function failedFor(reason: Outcome['refusedFor']): false | 'disputed' | undefined {
  switch (reason) {
    case 'context-length':
    case 'content-policy':
      // The prompt was too long by the engine's count, or a provider censored it: that is the caller's error.
      return undefined;
    case 'repeated-failure':
      // The failure was counted when the same prompt failed before.
      return undefined;
    case 'bad-request':
    case 'structure':
    case 'disputed':
      return 'disputed';
    case 'rate-limit':
    case 'overloaded':
    case 'account':
    case 'not-found':
    case 'misconfigured':
    case 'other':
    case undefined:
      return false;
  }
}

/** How many requests of one slice of time were served. */
interface ServedSlice {
  served: number;
  total: number;
}

export interface ServiceLevelResult {
  readonly isMet: boolean;
  /** Share that was served, 0 to 1; undefined while there are too few requests. */
  readonly share: number | undefined;
}

/** How many of one model's requests were served, over a window, and whether that is enough. */
export type Availability = ReturnType<typeof createAvailability>;

/**
 * Whether a model meets its service level. A model that missed it stays `missed` until a condition of
 * `createAvailability` holds.
 */
type LevelState = { readonly kind: 'met' } | { readonly kind: 'missed'; readonly lastBelowAt: number };

function servedOf(slices: readonly ServedSlice[]): ServedSlice {
  const sum = { served: 0, total: 0 };
  for (const { served, total } of slices) {
    sum.served += served;
    sum.total += total;
  }
  return sum;
}

/**
 * A model misses its level as soon as its share is below the minimum, if there are enough requests. So that a model at the edge
 * of its level does not come and go with every request, it meets the level again only
 * - when at most half of the failures that the level allows are left in the window, or
 * - when it has not been below the minimum for a whole window: without this, a model that is always just good enough would
 *   never return after one bad moment, or
 * - when the window has moved so far that too few requests are left in it.
 * The state changes only when `against` is called: call it after every request, or a drop in between goes unseen.
 */
export function createAvailability(options: { readonly clock: Clock; readonly windowSeconds: number }) {
  const { clock } = options;
  const windowMs = options.windowSeconds * 1000;
  const count = thresholds.availabilitySlices;
  const ring = createSliceRing<ServedSlice>({
    count,
    widthMs: windowMs / count,
    empty: () => ({ served: 0, total: 0 }),
  });
  let state: LevelState = { kind: 'met' };

  function nextState({ served, total }: ServedSlice, minimum: number): LevelState {
    const isBelow = served / total < minimum;
    const missed: LevelState = { kind: 'missed', lastBelowAt: clock.elapsed() };
    if (state.kind === 'met') return total >= thresholds.minToMiss && isBelow ? missed : state;
    if (total < thresholds.minToStayMissed) return { kind: 'met' };
    if (isBelow) return missed;
    const isWellAbove = total - served <= (total * (1 - minimum)) / 2;
    return isWellAbove || clock.elapsed() - state.lastBelowAt >= windowMs ? { kind: 'met' } : state;
  }

  return {
    record: (isServed: boolean): void => {
      const slice = ring.at(clock.now());
      slice.total += 1;
      if (isServed) slice.served += 1;
    },
    /** Compares the share that was served with `minimum`. A model without a minimum always meets its level. */
    against: (minimum: number | undefined): ServiceLevelResult => {
      const sum = servedOf(ring.live(clock.now()));
      state = minimum === undefined ? { kind: 'met' } : nextState(sum, minimum);
      return {
        isMet: state.kind === 'met',
        share: sum.total >= thresholds.minToMiss ? sum.served / sum.total : undefined,
      };
    },
  };
}
