import type { Clock } from '../core/clock.ts';
import { type AnswerEvent, type Fault, isOutput } from '../core/event.ts';
import type { AttemptEnd, AttemptPlace, AttemptRecord, Health } from '../core/health.ts';
import type { PlannedRoute } from '../core/plan.ts';
import type { StructuralDefect } from '../core/structure.ts';
import type { AttemptReason, AttemptStep, AttemptWatch } from '../core/telemetry.ts';
import type { Upstream } from '../core/upstream.ts';
import { type Attempt, type LeftAttempt, startAttempt } from './attempt.ts';
import type { ChoiceContinuation } from './continuation/continuation.ts';
import { type Action, decide, newRace, type RaceEvent } from './decide.ts';
import { createHedgeWatch, type HedgeBudget } from './hedge.ts';
import type { EngineProtocol } from './protocol.ts';
import { type AttemptRefusal, refusalOf } from './retries.ts';
import { openRoutes, placesLeft, type Tried } from './tried.ts';

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
  /** In the order in which they are tried: the endpoints of one before the next one. */
  readonly routes: readonly PlannedRoute[];
  /** Where the request has been tried already. */
  readonly tried: Tried;
  /** The route whose answer broke off. Undefined: nothing was delivered. */
  readonly brokenOn: PlannedRoute | undefined;
  /** `Plan.affinity`. */
  readonly affinity: string | undefined;
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
  readonly attempting: (at: AttemptPlace, reason: AttemptReason, step: AttemptStep) => AttemptWatch | undefined;
  /** The race has a winner, which was made for this reason. */
  readonly won: (planned: PlannedRoute, reason: AttemptReason) => void;
  readonly failed: (planned: PlannedRoute, fault: Fault) => void;
  /** Whether another attempt may follow this fault. */
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
  | ({ readonly kind: 'exhausted'; readonly isPartial: boolean } & AttemptRefusal)
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
  readonly number: number;
  readonly at: AttemptPlace;
  readonly why: AttemptReason;
  readonly begunAt: number;
  attempt: Attempt | undefined;
  /** Receives the progress of the attempt. Undefined until the call goes out. */
  watch: AttemptWatch | undefined;
  /** Output that is not delivered yet. */
  held: AnswerEvent[];
}

/**
 * Races attempts for an answer, or for one choice that has to be continued. Tries one endpoint after the other until one delivers; the caller sees
 * neither a failure before the first output nor the loser of a hedge. `decide` has the rules, and this function acts on them.
 */
export function startRace(options: RaceOptions, services: DispatchServices, listener: RaceListener): AttemptRace {
  const { routes, tried, stream, prompt, affinity, protocol, choices, continueOn } = options;
  const { upstream, health, clock, idleMs } = services;
  const hedging = createHedgeWatch({ ...services, stream });
  const runners = new Map<number, Runner>();
  const faults: Fault[] = [];
  const events: RaceEvent[] = [];
  let race = newRace;
  /** A whole answer of the wrong structure: better than none, when no route gives a better one. */
  let tolerable: Runner | undefined;
  let winning: Runner | undefined;
  /** The routes that calls went out to, and the last one of them. */
  const asked = new Set<PlannedRoute>();
  let previous = options.brokenOn;
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
        start(action.attempt, action.why);
        return;
      case 'abandon':
        abandon(action.attempt, action.beaten ? 'beaten' : 'aborted');
        return;
      case 'commit': {
        hedging.stop();
        winning = runners.get(action.attempt);
        if (winning === undefined) return;
        listener.won(winning.planned, winning.why);
        deliverHeld(winning);
        return;
      }
      case 'broken':
        if (winning !== undefined) end({ kind: 'broken', planned: winning.planned });
        return;
      case 'exhausted':
        if (tolerable === undefined) {
          end({ kind: 'exhausted', isPartial: asked.size < routes.length, ...refusalOf(faults) });
        } else {
          deliverHeld(tolerable);
          end({ kind: 'complete', planned: tolerable.planned });
        }
        return;
    }
  }

  function abandon(number: number, why: 'beaten' | 'aborted'): void {
    const runner = runners.get(number);
    if (runner === undefined) return;
    runner.attempt?.abandon(why);
    report(runner, { kind: why });
    tried.abandoned(runner.planned, runner.at.endpoint);
    runners.delete(number);
  }

  function start(number: number, why: AttemptReason): void {
    try {
      const place = nextPlace();
      if (place === undefined) {
        take({ kind: 'unavailable', attempt: number });
        return;
      }
      const { planned, continuation, record } = place;
      const { endpoint } = record;
      tried.began(planned, endpoint);
      const begunAt = clock.elapsed();
      const runner: Runner = {
        ...{ number, planned, at: { route: planned.route, endpoint }, continuation, why, begunAt },
        ...{ attempt: undefined, watch: undefined, held: [] },
      };
      runners.set(number, runner);
      const attempt = startAttempt(
        { planned, choices, continuation, record, protocol, upstream, clock, idleMs },
        {
          calling: () => calling(runner),
          movedTo: (name) => runner.watch?.movedTo(name),
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
      // Thrown from here, the error would reach the code that reported the fault of the attempt before.
      crash(error);
    }
  }

  /** Begins an attempt in the first place that takes one: on the route that is planned first, as long as an endpoint is left there. */
  function nextPlace(): (Pick<Runner, 'planned' | 'continuation'> & { readonly record: AttemptRecord }) | undefined {
    for (const planned of openNow()) {
      const avoid = tried.on(planned);
      const continuation = continueOn?.(planned);
      if (avoid === 'all' || (continueOn !== undefined && continuation === undefined)) continue;
      const record = health.begin(planned.route, { stream, prompt, affinity, avoid });
      if (record !== undefined) return { planned, continuation, record };
    }
    return undefined;
  }

  const openNow = (): readonly PlannedRoute[] => {
    const running = [...runners.values()].map(({ at }) => at);
    return openRoutes(routes, running, health);
  };

  function report({ watch, attempt }: Runner, end: AttemptEnd): void {
    watch?.ended(end, attempt?.facts());
  }

  function calling(runner: Runner): string | undefined {
    const { planned, at, why } = runner;
    const beginning = continueOn === undefined ? 'first' : 'resume';
    const step = previous === undefined ? 'first' : previous === planned ? 'endpoint' : 'route';
    runner.watch = listener.attempting(at, asked.size === 0 ? beginning : why, step);
    previous = planned;
    asked.add(planned);
    if (options.hedging) {
      const isRoom = (): boolean => race.running.length < 2;
      const others = placesLeft(routes, { tried, health });
      hedging.watch(at, { others, isRoom, start: () => take({ kind: 'hedge' }) });
    }
    return runner.watch?.traceparent;
  }

  function takeOutput(runner: Runner, output: readonly AnswerEvent[]): void {
    const { number } = runner;
    if (race.winner === number) {
      listener.deliver(output, runner);
      return;
    }
    const isFirst = stream ? output.some(isOutput) : runner.held.length === 0;
    if (isFirst) runner.watch?.output();
    runner.held.push(...output);
    // An answer that does not stream is checked before anything of it is delivered.
    if (stream && isFirst) take({ kind: 'output', attempt: number });
  }

  function deliverHeld(runner: Runner): void {
    const { held } = runner;
    runner.held = [];
    if (held.length > 0) listener.deliver(held, runner);
  }

  /** The attempt is no good: another one is to be made. */
  function fail(runner: Runner, fault: Fault): void {
    const { number, planned } = runner;
    runners.delete(number);
    report(runner, { kind: 'failed', fault });
    faults.push(fault);
    tried.failed(planned, fault);
    listener.failed(planned, fault);
    // Permission is spent when it is given: it is not asked for where nothing is left to try.
    const isLast = placesLeft(openNow(), { tried, health }).length > 0 && !listener.mayRetry(fault);
    take({ kind: 'failed', attempt: number, isLast });
  }

  function complete(runner: Runner): void {
    const { number, planned, held } = runner;
    const accept = (): void => {
      report(runner, { kind: 'complete' });
      if (race.winner !== number) take({ kind: 'output', attempt: number });
      if (race.winner === number) end({ kind: 'complete', planned });
    };
    if (listener.validate === undefined || race.winner === number) {
      accept();
      return;
    }
    listener.validate(held, planned).then((defect) => {
      if (isOver || runners.get(number) !== runner) return;
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
    for (const runner of runners.values()) {
      runner.attempt?.abandon('aborted');
      report(runner, { kind: 'aborted' });
    }
    runners.clear();
  }

  function leave(): readonly LeftAttempt[] {
    const left: LeftAttempt[] = [];
    for (const { attempt, at, begunAt } of runners.values()) {
      if (attempt === undefined || !attempt.isCalled()) continue;
      attempt.leave();
      left.push({ attempt, at, waitedMs: clock.elapsed() - begunAt });
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
