import type { Outcome } from '../core/account.ts';
import { type CallerEvidence, createCallerEvidence } from '../core/caller-evidence.ts';
import type { Model } from '../core/catalog.ts';
import type { Clock } from '../core/clock.ts';
import type { ModelStatus } from '../core/replica.ts';
import { type Availability, createAvailability } from './availability.ts';
import { createSpeedWindow, figureOf, type SpeedWindow } from './speed-window.ts';
import { thresholds } from './thresholds.ts';

export interface ModelPerformanceOptions {
  readonly clock: Clock;
  /** Whether any route of the model is in: neither ejected nor cooling off. One that is only at capacity is. */
  readonly hasRoute: (model: Model) => boolean;
}

/** What is measured of the models of the catalog, in this process. Every method is cheap, and none ever throws. */
export interface ModelPerformance {
  /** A request that was dispatched has ended. */
  readonly outcome: (outcome: Outcome) => void;
  /** A request was refused, before it was dispatched, because the model had no capacity. */
  readonly unavailable: (modelId: string) => void;
  /** From now on these are the models: what was measured of others is forgotten, and nothing more is taken of them. */
  readonly retain: (models: ReadonlyMap<string, Model>) => void;
  readonly statusOf: (model: Model) => ModelStatus;
}

interface Measured {
  readonly windowSeconds: number;
  readonly speed: SpeedWindow;
  readonly availability: Availability;
  /** Of requests that failed for what may be their own fault. */
  readonly callers: CallerEvidence;
  /** When a request last ended, monotonic. */
  askedAt: number;
}

const windowOf = ({ serviceLevel }: Model): number =>
  serviceLevel?.windowSeconds ?? thresholds.availabilityWindowSeconds;

/**
 * Measures models by the answers they gave. Nothing is kept per request: a busy model takes 10 to 20 KB, and
 * nothing before its first answer, and only models of the catalog are measured. A service level with another window
 * starts a new count of availability.
 */
export function createModelPerformance({ clock, hasRoute }: ModelPerformanceOptions): ModelPerformance {
  let models: ReadonlyMap<string, Model> = new Map();
  const measured = new Map<string, Measured>();

  function begin(windowSeconds: number, speed = createSpeedWindow()): Measured {
    const availability = createAvailability({ clock, windowSeconds });
    return { windowSeconds, speed, availability, callers: createCallerEvidence(), askedAt: clock.elapsed() };
  }

  /** Whether a request counts for availability or against it; undefined when it says nothing about the model. */
  function isServed(outcome: Outcome, callers: CallerEvidence): boolean | undefined {
    const served = wasServed(outcome);
    const { keyId } = outcome;
    if (served === true) callers.served(clock.elapsed(), keyId);
    if (served !== 'disputed') return served;
    return callers.failed(clock.elapsed(), keyId) ? false : undefined;
  }

  /** A request ended: an outcome, or it found no capacity. Of those that end after their model has left the catalog nothing is kept. */
  function ended(modelId: string, outcome?: Outcome): void {
    const model = models.get(modelId);
    if (model === undefined) return;
    const found = measured.get(modelId) ?? begin(windowOf(model));
    measured.set(modelId, found);
    found.askedAt = clock.elapsed();
    if (outcome !== undefined) found.speed.outcome(outcome, clock.now());
    const served = outcome !== undefined && isServed(outcome, found.callers);
    if (served !== undefined) found.availability.record(served);
    // For its memory: see createAvailability.
    found.availability.against(model.serviceLevel?.minAvailability);
  }

  return {
    outcome: (outcome) => ended(outcome.modelId, outcome),
    unavailable: (modelId) => ended(modelId),
    retain: (next) => {
      models = next;
      for (const [id, { windowSeconds, speed }] of measured) {
        const model = next.get(id);
        if (model === undefined) measured.delete(id);
        else if (windowOf(model) !== windowSeconds) measured.set(id, begin(windowOf(model), speed));
      }
    },
    statusOf: (model) => {
      const found = measured.get(model.id);
      if (found === undefined) return { listed: hasRoute(model) };
      const figure = figureOf(found.speed.slices(clock.now()), clock.now());
      const { isMet, share } = found.availability.against(model.serviceLevel?.minAvailability);
      return {
        listed: isMet && (hasRoute(model) || clock.elapsed() - found.askedAt >= thresholds.untriedMs),
        ...(share !== undefined && { availability: share }),
        ...(figure !== undefined && { figure }),
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
    // What the service lost says no more of the model than a caller who leaves.
    case 'service-lost':
      // Who left before the first output may have been impatient, or have waited for a model that hangs: nobody knows.
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
      // The engines counted a prompt that we could not, or a provider censors it: that is the caller's error.
      return undefined;
    case 'repeated-failure':
      // It was counted when the same prompt failed before.
      return undefined;
    case 'bad-request':
    case 'structure':
    case 'disputed':
      return 'disputed';
    case 'rate-limit':
    case 'overloaded':
    case 'account':
    case 'not-found':
    case 'other':
    case undefined:
      return false;
  }
}
