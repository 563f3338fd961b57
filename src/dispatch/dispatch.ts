import type { Resume } from '../core/capability.ts';
import type { Route } from '../core/catalog.ts';
import type { Clock } from '../core/clock.ts';
import type { AnswerEvent, Fault, ResponseReader } from '../core/event.ts';
import type { Health } from '../core/health.ts';
import type { Plan, PlannedRoute } from '../core/plan.ts';
import type { StructuralDefect } from '../core/structure.ts';
import type { AttemptReason } from '../core/telemetry.ts';
import type { Upstream, UpstreamCall } from '../core/upstream.ts';
import { type ErrorReader, lookForEvidence, type PreparedAttempt } from './attempt.ts';
import { type ContinuationAbility, resumeOn, type Resumption } from './continuation/continuation.ts';
import { choiceSizes, type Delivered, keepDelivered } from './continuation/delivered.ts';
import type { Join } from './continuation/merge.ts';
import { type CountText, createTokenTotals, type Share } from './continuation/token-totals.ts';
import type { HedgeBudget } from './hedge.ts';
import { startStrand, type Strand, type StrandEnd } from './race.ts';
import type { Refusal } from './retries.ts';

/** How an engine's answer is to be read. */
export interface ReaderAsk {
  readonly contentType: string;
  /** Choices it was asked for. */
  readonly choices: number;
  /** It goes on in the middle of a text. */
  readonly answerBegun: boolean;
}

export interface DispatchOptions {
  readonly plan: Plan;
  /** The call for a route; a promise where writing it takes a worker. */
  readonly callFor: (planned: PlannedRoute, resume?: Resume) => UpstreamCall | Promise<UpstreamCall>;
  readonly readerFor: (planned: PlannedRoute, ask: ReaderAsk) => ResponseReader | undefined;
  readonly continuationOf: (planned: PlannedRoute) => ContinuationAbility;
  /** Judges an answer that is not streamed before any of it is delivered. */
  readonly judge?: (events: readonly AnswerEvent[], planned: PlannedRoute) => Promise<StructuralDefect | undefined>;
  /** Whether another route may be asked after this fault, before anything was delivered. Undefined: always. */
  readonly mayRetry?: ((fault: Fault) => boolean) | undefined;
  readonly asked: {
    readonly stream: boolean;
    readonly choices: number;
    /** Output cap, tokens. */
    readonly cap?: number;
    /** The text has to be JSON. */
    readonly isJson: boolean;
  };
  /** Digest of the prompt, for the health of its routes. */
  readonly prompt?: number | undefined;
  readonly errors: ErrorReader;
  readonly upstream: Upstream;
  readonly health: Health;
  readonly hedges: HedgeBudget;
  readonly countText?: CountText;
  readonly clock: Clock;
  /** Longest silence of an attempt, milliseconds. */
  readonly idleMs: number;
  /** Aborts when the caller leaves. */
  readonly signal: AbortSignal;
  /** Receives the answer in order. Its first call commits: from then on, a failure is resumed or told. */
  readonly deliver: (events: readonly AnswerEvent[]) => void;
  readonly attempting: (route: Route, reason: AttemptReason) => void;
  readonly failed: (route: Route, fault: Fault) => void;
}

/** How dispatch ended. `route` is the one that delivered last. */
export type DispatchEnd =
  | { readonly kind: 'completed'; readonly route: Route; readonly attempts: number; readonly resumed: boolean }
  /** It failed after output had been delivered, and no route could go on. */
  | { readonly kind: 'interrupted'; readonly route: Route; readonly attempts: number }
  /** None delivered, and why, as far as the routes tell. `isPartial`: some were not asked. No attempts: none had room. */
  | ({ readonly kind: 'failed'; readonly attempts: number; readonly isPartial: boolean } & Refusal)
  /** `heard`: there is evidence that an engine had the request (`evidence.ts`). */
  | { readonly kind: 'cancelled'; readonly attempts: number; readonly route?: Route; readonly heard: boolean };

/** The answer being delivered: holds back and lets go of the engine with the caller's pace. */
export interface Dispatch {
  readonly ended: Promise<DispatchEnd>;
  readonly pause: () => void;
  readonly resume: () => void;
}

/** A strand under way. */
interface Running {
  /** Choices that it carries, numbered as the caller sees them. */
  readonly choices: readonly number[];
  readonly routes: readonly PlannedRoute[];
  /** Routes that are not to be tried again. */
  readonly spent: Set<PlannedRoute>;
  share: Share | undefined;
  strand: Strand | undefined;
}

/** A choice that broke off, and how another route is asked to go on with it. */
interface Broken {
  /** Delivered, in tokens. */
  readonly tokens: number;
  readonly resumeOn: (planned: PlannedRoute) => Resumption | undefined;
}

/**
 * Serves a plan: tries its routes in order, hedges, and when one breaks off in the middle of a stream, has another go on with
 * each choice that has not ended (docs/reference/architecture.md §2.3).
 */
export function dispatch(options: DispatchOptions): Dispatch {
  const { plan, asked, signal, health } = options;
  const totals = createTokenTotals(options.countText);
  // Nothing to resume with, nothing to keep.
  const kept: Delivered | undefined = asked.stream && plan.routes.length > 1 ? keepDelivered() : undefined;
  const running = new Set<Running>();
  let attempts = 0;
  let delivering: Route | undefined;
  /** Choices that have ended. */
  let finished = 0;
  let isPaused = false;
  let isResumed = false;
  let isOver = false;
  const { promise, resolve, reject } = Promise.withResolvers<DispatchEnd>();

  function finish(conclude: () => void): void {
    if (isOver) return;
    isOver = true;
    signal.removeEventListener('abort', leave);
    for (const { strand } of running) strand?.abort();
    conclude();
  }

  function leave(): void {
    const cancel = (heard: boolean): void =>
      finish(() =>
        resolve({ kind: 'cancelled', attempts, ...(delivering === undefined ? {} : { route: delivering }), heard }),
      );
    if (delivering !== undefined) cancel(true);
    else
      lookForEvidence(
        [...running].flatMap(({ strand }) => strand?.leave() ?? []),
        { health, stream: asked.stream },
        cancel,
      );
  }
  const crash = (error: unknown): void => {
    if (delivering === undefined) finish(() => reject(error));
    else interrupt();
  };

  /** All that was delivered is all there will be. */
  function interrupt(): void {
    const route = delivering;
    if (route !== undefined) finish(() => resolve({ kind: 'interrupted', route, attempts }));
  }

  function deliver(events: readonly AnswerEvent[], planned: PlannedRoute): void {
    if (isOver) return;
    delivering = planned.route;
    for (const { type } of events) if (type === 'finish') finished += 1;
    kept?.take(events);
    options.deliver(events);
  }

  function start(own: Running, broken?: Broken): void {
    const [only = 0] = own.choices;
    const resumptions = new Map<PlannedRoute, Resumption>();

    function prepare(planned: PlannedRoute): PreparedAttempt | undefined {
      const how = broken?.resumeOn(planned);
      if (broken !== undefined && how === undefined) return undefined;
      if (how !== undefined) resumptions.set(planned, how);
      const ask = { choices: own.choices.length, answerBegun: how?.answerBegun ?? false };
      return {
        call: () => options.callFor(planned, how?.resume),
        readerFor: (contentType) => options.readerFor(planned, { ...ask, contentType }),
        ...(how === undefined ? {} : { join: how.join }),
      };
    }

    function shareOf(planned: PlannedRoute, join: Join): Share {
      const { prefixTokens = 0 } = resumptions.get(planned) ?? {};
      return totals.share({ prefixTokens, deliveredTokens: broken?.tokens ?? 0, saidAgain: join.saidAgain });
    }

    own.strand = startStrand(
      {
        ...options,
        ...{ routes: own.routes, prepare, stream: asked.stream },
        hedging: plan.model.hedging !== 'Disabled',
        resumes: broken !== undefined,
        attempting: ({ route }, reason) => {
          attempts += 1;
          options.attempting(route, reason);
        },
        failed: (planned, fault) => {
          own.spent.add(planned);
          options.failed(planned.route, fault);
        },
      },
      {
        deliver: (events, planned, join) => {
          // What cannot be resumed has nothing to add up: its engine's count is the count.
          if (kept !== undefined) own.share ??= shareOf(planned, join);
          // A resumed choice is the engine's only one, whatever the caller calls it.
          const named = only === 0 ? events : events.map((event) => renumber(event, own.choices));
          deliver(own.share?.take(named) ?? named, planned);
        },
        over: (end) => void settle(own, end).catch(crash),
      },
    );
    if (isPaused) own.strand.pause();
  }

  async function settle(own: Running, end: StrandEnd): Promise<void> {
    switch (end.kind) {
      case 'crashed':
        crash(end.error);
        return;
      case 'complete':
        if (isResumed) await own.share?.close('whole');
        running.delete(own);
        completeIfLast(end.planned.route);
        return;
      case 'exhausted':
        if (delivering === undefined) {
          const { isPartial, refusedFor, about } = end;
          finish(() => resolve({ kind: 'failed', attempts, isPartial, refusedFor, about }));
        } else interrupt();
        return;
      case 'broken':
        await resumeAll(own, end.planned);
        return;
    }
  }

  function completeIfLast(route: Route): void {
    if (running.size > 0 || isOver) return;
    const usage = isResumed ? totals.usage() : undefined;
    if (usage !== undefined) options.deliver([usage]);
    finish(() => resolve({ kind: 'completed', route, attempts, resumed: isResumed }));
  }

  /** Has other routes go on with every choice that a broken strand has not ended. */
  async function resumeAll(broken: Running, planned: PlannedRoute): Promise<void> {
    if (finished === asked.choices) {
      // Only the words after its end are missing.
      running.delete(broken);
      completeIfLast(planned.route);
      return;
    }
    if (kept === undefined || !kept.isWhole()) {
      interrupt();
      return;
    }
    const untried = broken.routes.filter((other) => !broken.spent.has(other));
    const choices = broken.choices.map((choice) => ({
      ...{ choice, before: kept.choice(choice) },
      next: runningOf([choice], untried),
    }));
    // They count as under way from now on: the answer is not whole before they are.
    for (const { next, before } of choices) if (!before.finished) running.add(next);
    running.delete(broken);
    isResumed = true;
    await broken.share?.close('broken');
    const isAll = broken.choices.length === asked.choices;
    const sizes = await choiceSizes(
      choices.map(({ before }) => before),
      { countText: options.countText, total: isAll ? totals.output() : undefined },
    );
    for (const [at, { choice, before, next }] of choices.entries()) {
      if (before.finished || isOver) continue;
      const tokens = sizes[at] ?? 0;
      const { cap } = asked;
      if (cap !== undefined && tokens >= cap && before.calls.length === 0) {
        // It broke off at its very end: the cap is reached, and all of it has been delivered.
        running.delete(next);
        deliver([{ type: 'finish', choice, reason: 'length' }], planned);
      } else {
        const how = { cap, isJson: asked.isJson };
        const resume = (route: PlannedRoute) =>
          resumeOn({ delivered: before, tokens }, options.continuationOf(route), how);
        start(next, { tokens, resumeOn: resume });
      }
    }
    completeIfLast(planned.route);
  }

  if (signal.aborted) leave();
  else {
    signal.addEventListener('abort', leave, { once: true });
    options.hedges.earn();
    const all = Array.from({ length: asked.choices }, (_, index) => index);
    const whole = runningOf(all, plan.routes);
    running.add(whole);
    start(whole);
  }
  return {
    ended: promise,
    pause: () => {
      isPaused = true;
      for (const { strand } of running) strand?.pause();
    },
    resume: () => {
      isPaused = false;
      for (const { strand } of running) strand?.resume();
    },
  };
}

const runningOf = (choices: readonly number[], routes: readonly PlannedRoute[]): Running => ({
  ...{ choices, routes, spent: new Set() },
  ...{ share: undefined, strand: undefined },
});

/** Names the choice of an event as the caller does. */
function renumber(event: AnswerEvent, choices: readonly number[]): AnswerEvent {
  return event.type === 'usage' ? event : { ...event, choice: choices[event.choice] ?? event.choice };
}
