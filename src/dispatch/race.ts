import type { Clock } from '../core/clock.ts';
import { type AnswerEvent, type Fault, isOutput } from '../core/event.ts';
import type { Health } from '../core/health.ts';
import type { PlannedRoute } from '../core/plan.ts';
import type { StructuralDefect } from '../core/structure.ts';
import type { AttemptReason } from '../core/telemetry.ts';
import type { Upstream } from '../core/upstream.ts';
import { type Attempt, type LeftAttempt, startAttempt } from './attempt.ts';
import type { ChoiceContinuation } from './continuation/continuation.ts';
import { type Action, decide, newRace, type RaceEvent } from './decide.ts';
import { createHedgeWatch, type HedgeBudget } from './hedge.ts';
import type { EngineProtocol } from './protocol.ts';
import { type Refusal, refusalOf } from './retries.ts';

/** What attempts are made with; it outlives the request. */
export interface DispatchServices {
  readonly upstream: Upstream;
  readonly health: Health;
  readonly hedges: HedgeBudget;
  readonly clock: Clock;
  /** Longest silence of an attempt, milliseconds. */
  readonly idleMs: number;
}

export interface RaceOptions {
  /** In the order in which they are tried. */
  readonly routes: readonly PlannedRoute[];
  readonly protocol: EngineProtocol;
  /** How many choices the engines are asked for. */
  readonly choices: number;
  /** How a route continues what was delivered, undefined if it cannot. Undefined: nothing was, and all begin at the beginning. */
  readonly continueOn: ((planned: PlannedRoute) => ChoiceContinuation | undefined) | undefined;
  readonly stream: boolean;
  /** Digest of the prompt, for the health of its routes. */
  readonly prompt: number | undefined;
  readonly hedging: boolean;
}

/** Receives the progress of a race, and has a say in it. */
export interface RaceListener {
  readonly attempting: (planned: PlannedRoute, reason: AttemptReason) => void;
  readonly failed: (planned: PlannedRoute, fault: Fault) => void;
  /** Whether another route may be asked after this fault. */
  readonly mayRetry: (fault: Fault) => boolean;
  /** Checks a whole answer before anything of it is delivered. Undefined: none is to be checked. */
  readonly validate:
    | ((events: readonly AnswerEvent[], planned: PlannedRoute) => Promise<StructuralDefect | undefined>)
    | undefined;
  /** Output in order. The first call commits the answer to one attempt. */
  readonly deliver: (events: readonly AnswerEvent[], from: Winner) => void;
  /** Called once and last, but not after `abort` or `leave`. */
  readonly over: (end: RaceEnd) => void;
}

/** The attempt whose output is delivered. */
export interface Winner {
  readonly planned: PlannedRoute;
  readonly continuation: ChoiceContinuation | undefined;
}

/** How a race ended. `planned` is the route that delivered. */
export type RaceEnd =
  | { readonly kind: 'complete'; readonly planned: PlannedRoute }
  /** The winner failed after output had been delivered. */
  | { readonly kind: 'broken'; readonly planned: PlannedRoute }
  /** No route delivered. `isPartial`: not every route of the plan was asked. */
  | ({ readonly kind: 'exhausted'; readonly isPartial: boolean } & Refusal)
  | { readonly kind: 'crashed'; readonly error: unknown };

export interface AttemptRace {
  readonly abort: () => void;
  /** Ends the race because the caller left. The calls stay open until each of the attempts is aborted. */
  readonly leave: () => readonly LeftAttempt[];
  readonly pause: () => void;
  readonly resume: () => void;
}

/** An attempt of this race. */
interface Runner extends Winner {
  /** Its place in the order of trying. */
  readonly route: number;
  readonly why: AttemptReason;
  readonly begunAt: number;
  attempt: Attempt | undefined;
  /** Output that is not delivered yet. */
  held: AnswerEvent[];
}

/**
 * Races attempts for an answer, or for one choice that has to be continued. Tries the routes until one delivers; the caller sees
 * neither a failure before the first output nor the loser of a hedge. `decide` has the rules, and this function acts on them.
 */
export function startRace(options: RaceOptions, services: DispatchServices, listener: RaceListener): AttemptRace {
  const { routes, stream, prompt, protocol, choices, continueOn } = options;
  const { upstream, health, clock, idleMs } = services;
  const hedging = createHedgeWatch({ ...services, stream });
  const runners = new Map<number, Runner>();
  const faults: Fault[] = [];
  const events: RaceEvent[] = [];
  let race = newRace(routes.length);
  /** A whole answer of the wrong structure: better than none, when no route gives a better one. */
  let tolerable: Runner | undefined;
  /** How many calls went out. */
  let called = 0;
  let isDeciding = false;
  let isOver = false;
  let isPaused = false;

  /** An event may lead to the next before it has been dealt with: they are taken in turn. */
  function take(event: RaceEvent): void {
    events.push(event);
    if (isDeciding) return;
    isDeciding = true;
    for (let next = events.shift(); next !== undefined && !isOver; next = events.shift()) {
      const decision = decide(race, next);
      ({ race } = decision);
      for (const action of decision.actions) act(action);
    }
    isDeciding = false;
  }

  function act(action: Action): void {
    if (isOver) return;
    switch (action.kind) {
      case 'start':
        start(action.route, action.why);
        return;
      case 'abandon':
        runners.get(action.route)?.attempt?.abandon(action.beaten ? 'beaten' : 'aborted');
        runners.delete(action.route);
        return;
      case 'commit': {
        hedging.stop();
        const runner = runners.get(action.route);
        if (runner !== undefined) deliverHeld(runner);
        return;
      }
      case 'broken': {
        const planned = routes[action.route];
        if (planned !== undefined) end({ kind: 'broken', planned });
        return;
      }
      case 'exhausted':
        if (tolerable === undefined) {
          end({ kind: 'exhausted', isPartial: called < routes.length, ...refusalOf(faults) });
        } else {
          deliverHeld(tolerable);
          end({ kind: 'complete', planned: tolerable.planned });
        }
        return;
    }
  }

  function start(route: number, why: AttemptReason): void {
    const planned = routes[route];
    if (planned === undefined) return;
    try {
      const continuation = continueOn?.(planned);
      const isAble = continueOn === undefined || continuation !== undefined;
      const record = isAble ? health.begin(planned.route, { stream, prompt }) : undefined;
      if (record === undefined) {
        take({ kind: 'unavailable', route });
        return;
      }
      const begunAt = clock.elapsed();
      const runner: Runner = { route, planned, continuation, why, begunAt, attempt: undefined, held: [] };
      runners.set(route, runner);
      const attempt = startAttempt(
        { planned, choices, continuation, record, protocol, upstream, clock, idleMs },
        {
          calling: () => calling(runner),
          events: (output) => takeOutput(runner, output),
          over: (result) => (result === 'complete' ? complete(runner) : fail(runner, result)),
          crashed: crash,
        },
      );
      runner.attempt = attempt;
      // It may have failed at once, and the race with it.
      if (isOver) attempt.abandon('aborted');
      else if (isPaused) attempt.pause();
    } catch (error) {
      // Thrown from here, the error would reach whoever reported the fault of the route before.
      crash(error);
    }
  }

  function calling({ planned, why }: Runner): void {
    const beginning = continueOn === undefined ? 'first' : 'resume';
    listener.attempting(planned, called === 0 ? beginning : why);
    called += 1;
    if (!options.hedging) return;
    hedging.watch(planned.route, {
      others: routes.slice(race.next).map((other) => other.route),
      isRoom: () => race.running.length < 2,
      start: () => take({ kind: 'hedge' }),
    });
  }

  function takeOutput(runner: Runner, output: readonly AnswerEvent[]): void {
    const { route } = runner;
    if (race.winner === route) {
      listener.deliver(output, runner);
      return;
    }
    runner.held.push(...output);
    // An answer that does not stream is checked before anything of it is delivered.
    if (stream && output.some(isOutput)) take({ kind: 'output', route });
  }

  function deliverHeld(runner: Runner): void {
    const { held } = runner;
    runner.held = [];
    if (held.length > 0) listener.deliver(held, runner);
  }

  /** The attempt is no good: another route is to be tried. */
  function fail({ route, planned }: Runner, fault: Fault): void {
    runners.delete(route);
    faults.push(fault);
    listener.failed(planned, fault);
    // Permission is spent when it is given: it is not asked for where no route is left.
    const isLast = race.next < routes.length && !listener.mayRetry(fault);
    take({ kind: 'failed', route, isLast });
  }

  function complete(runner: Runner): void {
    const { route, planned, held } = runner;
    const accept = (): void => {
      if (race.winner !== route) take({ kind: 'output', route });
      if (race.winner === route) end({ kind: 'complete', planned });
    };
    if (listener.validate === undefined || race.winner === route) {
      accept();
      return;
    }
    listener.validate(held, planned).then((defect) => {
      if (isOver || runners.get(route) !== runner) return;
      if (defect === undefined) accept();
      else {
        if (defect.isTolerable) tolerable ??= runner;
        // The defect's own words quote the caller's schema: the fault, which is logged, has none of them.
        fail(runner, { kind: 'structure', detail: defect.capability });
      }
    }, crash);
  }

  const crash = (error: unknown): void => end({ kind: 'crashed', error });

  function end(result: RaceEnd): void {
    if (isOver) return;
    stop();
    listener.over(result);
  }

  function stop(): void {
    if (isOver) return;
    isOver = true;
    hedging.stop();
    for (const { attempt } of runners.values()) attempt?.abandon('aborted');
    runners.clear();
  }

  function leave(): readonly LeftAttempt[] {
    const left: LeftAttempt[] = [];
    for (const { attempt, planned, begunAt } of runners.values()) {
      if (attempt === undefined || !attempt.isCalled()) continue;
      attempt.leave();
      left.push({ attempt, planned, waitedMs: clock.elapsed() - begunAt });
    }
    stop();
    return left;
  }

  take({ kind: 'begin' });
  return {
    leave,
    abort: stop,
    pause: () => {
      isPaused = true;
      for (const { attempt } of runners.values()) attempt?.pause();
    },
    resume: () => {
      isPaused = false;
      for (const { attempt } of runners.values()) attempt?.resume();
    },
  };
}
