import type { Clock } from '../core/clock.ts';
import { type AnswerEvent, type Fault, isOutput } from '../core/event.ts';
import type { AttemptEnd, AttemptRecord, Health } from '../core/health.ts';
import type { PlannedRoute } from '../core/plan.ts';
import type { StructuralDefect } from '../core/structure.ts';
import type { AttemptReason } from '../core/telemetry.ts';
import type { Upstream, UpstreamCall } from '../core/upstream.ts';
import { type Attempt, type ErrorReader, type LeftAttempt, type PreparedAttempt, startAttempt } from './attempt.ts';
import { type Join, joinNothing } from './continuation/merge.ts';
import { type Action, decide, type Happening, newRace } from './decide.ts';
import { createHedgeWatch, type HedgeBudget } from './hedge.ts';
import { type Refusal, refusalOf } from './retries.ts';

export interface StrandOptions {
  /** In the order in which they are tried. */
  readonly routes: readonly PlannedRoute[];
  /** Undefined: the route cannot do what this strand needs. */
  readonly prepare: (planned: PlannedRoute) => PreparedAttempt | undefined;
  /** Judges a whole answer before anything of it is delivered; undefined: it is fine, or nobody can tell. */
  readonly judge?: (events: readonly AnswerEvent[], planned: PlannedRoute) => Promise<StructuralDefect | undefined>;
  /** Whether another route may be asked after this fault. Undefined: always. */
  readonly mayRetry?: ((fault: Fault) => boolean) | undefined;
  readonly resumes: boolean;
  readonly stream: boolean;
  /** Digest of the prompt, for the health of its routes. */
  readonly prompt?: number | undefined;
  readonly hedging: boolean;
  readonly errors: ErrorReader;
  readonly upstream: Upstream;
  readonly health: Health;
  readonly hedges: HedgeBudget;
  readonly clock: Clock;
  readonly idleMs: number;
  readonly attempting: (planned: PlannedRoute, reason: AttemptReason) => void;
  readonly failed: (planned: PlannedRoute, fault: Fault) => void;
}

/** How a strand ended. `planned` is the route that delivered. */
export type StrandEnd =
  | { readonly kind: 'complete'; readonly planned: PlannedRoute }
  /** It failed after output had been delivered. */
  | { readonly kind: 'broken'; readonly planned: PlannedRoute }
  /** No route delivered. `isPartial`: not every route of the plan was asked. */
  | ({ readonly kind: 'exhausted'; readonly isPartial: boolean } & Refusal)
  | { readonly kind: 'crashed'; readonly error: unknown };

export interface StrandListener {
  /** Output in order. The first call commits. */
  readonly deliver: (events: readonly AnswerEvent[], planned: PlannedRoute, join: Join) => void;
  /** Called once and last, but not after `abort`. */
  readonly over: (end: StrandEnd) => void;
}

export interface Strand {
  readonly abort: () => void;
  /** The same for now, but the calls themselves stay open until each of them is aborted. */
  readonly leave: () => readonly LeftAttempt[];
  readonly pause: () => void;
  readonly resume: () => void;
}

/** An attempt of this strand. */
interface Live {
  /** Its place in the order of trying. */
  readonly route: number;
  readonly planned: PlannedRoute;
  readonly record: AttemptRecord;
  readonly join: Join;
  readonly readerFor: PreparedAttempt['readerFor'];
  readonly why: AttemptReason;
  readonly begunAt: number;
  attempt: Attempt | undefined;
  /** Not delivered yet. */
  held: AnswerEvent[];
  /** Output tokens, as far as its engine has counted them. */
  tokens: number | undefined;
  isOver: boolean;
}

/**
 * One line of an answer: all its choices at first, and one of them once it has to be resumed. Tries its routes until one
 * delivers; a failure before the first output goes unseen, and so does the loser of a hedge.
 */
export function startStrand(options: StrandOptions, listener: StrandListener): Strand {
  const { routes, stream, health, clock } = options;
  const hedging = createHedgeWatch(options);
  const lives = new Map<number, Live>();
  const faults: Fault[] = [];
  const happenings: Happening[] = [];
  let race = newRace(routes.length);
  /** A whole answer that is not of the form asked for: better than none, when no route gives a better one. */
  let tolerable: Live | undefined;
  /** Attempts that were really made. */
  let made = 0;
  let isDeciding = false;
  let isOver = false;
  let isPaused = false;

  function end(result: StrandEnd): void {
    if (isOver) return;
    stop();
    listener.over(result);
  }

  const crash = (error: unknown): void => end({ kind: 'crashed', error });

  function stop(): void {
    isOver = true;
    hedging.stop();
    for (const live of lives.values()) giveUp(live, 'aborted');
    lives.clear();
  }

  function giveUp(live: Live, kind: 'aborted' | 'beaten'): void {
    if (live.isOver) return;
    conclude(live, { kind });
    live.attempt?.abort();
  }

  function conclude(live: Live, result: AttemptEnd): void {
    live.isOver = true;
    live.record.ended(result);
  }

  /** One happening may lead to the next before it has been worked off: they are taken in turn. */
  function happen(happening: Happening): void {
    happenings.push(happening);
    if (isDeciding) return;
    isDeciding = true;
    for (let next = happenings.shift(); next !== undefined && !isOver; next = happenings.shift()) {
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
      case 'abandon': {
        const live = lives.get(action.route);
        if (live !== undefined) giveUp(live, action.beaten ? 'beaten' : 'aborted');
        lives.delete(action.route);
        return;
      }
      case 'commit': {
        hedging.stop();
        const live = lives.get(action.route);
        if (live !== undefined) handOver(live);
        return;
      }
      case 'broken': {
        const planned = routes[action.route];
        if (planned !== undefined) end({ kind: 'broken', planned });
        return;
      }
      case 'exhausted': {
        if (tolerable !== undefined) {
          handOver(tolerable);
          end({ kind: 'complete', planned: tolerable.planned });
          return;
        }
        end({ kind: 'exhausted', isPartial: made < routes.length, ...refusalOf(faults) });
        return;
      }
    }
  }

  function handOver(live: Live): void {
    const { held } = live;
    live.held = [];
    if (held.length > 0) listener.deliver(held, live.planned, live.join);
  }

  function start(route: number, why: AttemptReason): void {
    const planned = routes[route];
    if (planned === undefined) return;
    try {
      const prepared = options.prepare(planned);
      const record =
        prepared === undefined ? undefined : health.begin(planned.route, { stream, prompt: options.prompt });
      if (prepared === undefined || record === undefined) {
        happen({ kind: 'unavailable', route });
        return;
      }
      const { join = joinNothing, readerFor } = prepared;
      const about = { route, planned, record, join, readerFor, why, begunAt: clock.elapsed() };
      const live: Live = { ...about, attempt: undefined, held: [], tokens: undefined, isOver: false };
      lives.set(route, live);
      const call = prepared.call();
      if (!(call instanceof Promise)) attempt(live, call);
      else call.then((ready) => attempt(live, ready), crash);
    } catch (error) {
      // Thrown from here, it would end in whoever reported the fault of the route before.
      crash(error);
    }
  }

  function attempt(live: Live, call: UpstreamCall): void {
    if (live.isOver) return;
    const { planned, readerFor } = live;
    const { errors, upstream, idleMs } = options;
    const beginning = options.resumes ? 'resume' : 'first';
    options.attempting(planned, made === 0 ? beginning : live.why);
    made += 1;
    watchForHedge(planned);
    const started = startAttempt(
      { route: planned.route, call, readerFor, errors, upstream, clock, idleMs },
      {
        events: (events) => take(live, events),
        over: (result) => {
          if (live.isOver) return;
          if (result === 'complete') complete(live);
          else fail(live, result);
        },
      },
    );
    // A call that failed before it was made is over already.
    if (live.isOver) return;
    live.attempt = started;
    if (isPaused) started.pause();
  }

  function take(live: Live, events: readonly AnswerEvent[]): void {
    if (live.isOver) return;
    const { route } = live;
    const isFirst = race.winner !== route;
    for (const event of events) if (event.type === 'usage') live.tokens = event.usage.completionTokens;
    if (isFirst && events.some(isOutput)) live.record.output();
    const joined = live.join.push(events);
    if (joined === undefined) {
      live.attempt?.abort();
      fail(live, { kind: 'disjoint', detail: 'does not go on where the answer broke off' });
    } else if (!isFirst) {
      if (joined.length > 0) listener.deliver(joined, live.planned, live.join);
    } else {
      live.held.push(...joined);
      // An answer that does not stream is judged before anything of it is delivered.
      if (stream && joined.some(isOutput)) happen({ kind: 'output', route });
    }
  }

  function fail(live: Live, fault: Fault): void {
    conclude(live, { kind: 'failed', fault });
    pass(live, fault);
  }

  /** The attempt is no good: another one is to be made. */
  function pass({ route, planned }: Live, fault: Fault): void {
    lives.delete(route);
    faults.push(fault);
    options.failed(planned, fault);
    // What may be spent on further attempts is not asked for where there are none.
    const isLast = race.next < routes.length && options.mayRetry?.(fault) === false;
    happen({ kind: 'failed', route, isLast });
  }

  function complete(live: Live): void {
    const { route, planned, held, tokens } = live;
    conclude(live, { kind: 'complete', ...(tokens === undefined ? {} : { tokens }) });
    const accept = (): void => {
      if (race.winner !== route) happen({ kind: 'output', route });
      if (race.winner === route) end({ kind: 'complete', planned });
    };
    if (options.judge === undefined || race.winner === route) {
      accept();
      return;
    }
    options.judge(held, planned).then((defect) => {
      if (isOver || lives.get(route) !== live) return;
      // Where it is wrong is told in the words of the caller's schema, which are nobody else's business.
      if (defect === undefined) accept();
      else {
        if (defect.isTolerable) tolerable ??= live;
        pass(live, { kind: 'structure', detail: defect.capability });
      }
    }, crash);
  }

  /** Has a second attempt start when this one stays silent for too long. */
  function watchForHedge({ route }: PlannedRoute): void {
    if (!options.hedging) return;
    hedging.watch(route, {
      others: routes.slice(race.next).map((other) => other.route),
      isRoom: () => race.running.length < 2,
      start: () => happen({ kind: 'hedge' }),
    });
  }

  function leave(): readonly LeftAttempt[] {
    const left: LeftAttempt[] = [];
    for (const live of lives.values()) {
      const { attempt: under, planned, begunAt } = live;
      if (under === undefined) continue;
      // One that is over has answered, and is being judged.
      if (!live.isOver) conclude(live, { kind: 'aborted' });
      const waitedMs = clock.elapsed() - begunAt;
      left.push({ planned, waitedMs, hasHead: under.hasHead(), reached: under.reached, abort: under.abort });
    }
    if (!isOver) stop();
    return left;
  }

  happen({ kind: 'begin' });
  return {
    leave,
    abort: () => {
      if (!isOver) stop();
    },
    pause: () => {
      isPaused = true;
      for (const { attempt: under } of lives.values()) under?.pause();
    },
    resume: () => {
      isPaused = false;
      for (const { attempt: under } of lives.values()) under?.resume();
    },
  };
}
