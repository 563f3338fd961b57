import type { Route } from '../core/catalog.ts';
import type { Clock } from '../core/clock.ts';
import { type AnswerEvent, type EngineError, type Fault, isOutput, type ResponseReader } from '../core/event.ts';
import type { Plan, PlannedRoute } from '../core/plan.ts';
import type { Upstream, UpstreamCall } from '../core/upstream.ts';
import { type Attempt, type ErrorReader, startAttempt } from './attempt.ts';

export interface DispatchOptions {
  readonly plan: Plan;
  /** The call for a route; a promise where writing it takes a worker. */
  readonly callFor: (planned: PlannedRoute) => UpstreamCall | Promise<UpstreamCall>;
  readonly readerFor: (planned: PlannedRoute, contentType: string) => ResponseReader | undefined;
  readonly errors: ErrorReader;
  readonly upstream: Upstream;
  readonly clock: Clock;
  readonly idleMs: number;
  /** Aborts when the caller leaves. */
  readonly signal: AbortSignal;
  /** Receives the answer in order. Its first call commits the attempt: no other route is tried after it. */
  readonly deliver: (events: readonly AnswerEvent[]) => void;
  readonly failed: (route: Route, fault: Fault) => void;
}

/** How dispatch ended. `route` is the one that delivered. */
export type DispatchEnd =
  | { readonly kind: 'completed'; readonly route: Route; readonly attempts: number }
  /** It failed after output had been delivered. */
  | { readonly kind: 'interrupted'; readonly route: Route; readonly attempts: number }
  /** Every route was tried and none delivered. `refusedFor`: they all gave the same reason for it. */
  | { readonly kind: 'failed'; readonly attempts: number; readonly refusedFor?: EngineError }
  | { readonly kind: 'cancelled'; readonly attempts: number; readonly route?: Route };

/** The answer being delivered: holds back and lets go of the engine with the caller's pace. */
export interface Dispatch {
  readonly ended: Promise<DispatchEnd>;
  readonly pause: () => void;
  readonly resume: () => void;
}

/** Tries the routes of a plan in order until one delivers; a failure before the first output goes unseen. */
export function dispatch(options: DispatchOptions): Dispatch {
  const { plan, signal, deliver } = options;
  let attempts = 0;
  let current: Attempt | undefined;
  let committed = false;
  let held: AnswerEvent[] = [];
  const refusals = new Set<EngineError | undefined>();
  const { promise, resolve, reject } = Promise.withResolvers<DispatchEnd>();

  const leave = (): void => {
    current?.abort();
    resolve({ kind: 'cancelled', attempts, ...(committed && current !== undefined ? { route: current.route } : {}) });
  };
  const end = (result: DispatchEnd): void => {
    signal.removeEventListener('abort', leave);
    resolve(result);
  };

  const crash = (error: unknown): void => {
    signal.removeEventListener('abort', leave);
    reject(error);
  };

  function relay(events: readonly AnswerEvent[]): void {
    if (committed) deliver(events);
    else if (events.some(isOutput)) {
      committed = true;
      deliver(held.length === 0 ? events : [...held, ...events]);
      held = [];
    } else held.push(...events);
  }

  function next(): void {
    const planned = plan.routes[attempts];
    if (planned === undefined) {
      const [refusedFor, ...others] = refusals;
      end({ kind: 'failed', attempts, ...(refusedFor === undefined || others.length > 0 ? {} : { refusedFor }) });
      return;
    }
    held = [];
    try {
      const call = options.callFor(planned);
      if (call instanceof Promise) call.then((ready) => attempt(planned, ready), crash);
      else attempt(planned, call);
    } catch (error) {
      // Thrown from here, it would end in whoever reported the fault of the route before.
      crash(error);
    }
  }

  function attempt(planned: PlannedRoute, call: UpstreamCall): void {
    if (signal.aborted) return;
    const { route } = planned;
    const { upstream, clock, idleMs, errors } = options;
    const readerFor = (contentType: string): ResponseReader | undefined => options.readerFor(planned, contentType);
    attempts += 1;
    let over = false;
    const started = startAttempt(
      { route, call, readerFor, errors, upstream, clock, idleMs },
      {
        events: relay,
        over: (result) => {
          over = true;
          if (result === 'complete') {
            end({ kind: 'completed', route, attempts });
            return;
          }
          options.failed(route, result);
          refusals.add(result.engineError);
          if (committed) end({ kind: 'interrupted', route, attempts });
          else next();
        },
      },
    );
    // A call that failed before it was made has already given way to the next attempt.
    if (!over) current = started;
  }

  if (signal.aborted) leave();
  else {
    signal.addEventListener('abort', leave, { once: true });
    next();
  }
  return { ended: promise, pause: () => current?.pause(), resume: () => current?.resume() };
}
