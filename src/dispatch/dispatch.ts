import type { StructureValidator } from '../core/structure.ts';
import type { Route } from '../core/catalog.ts';
import type { AnswerEvent, Fault } from '../core/event.ts';
import type { AttemptPlace, Health } from '../core/health.ts';
import type { Plan, PlannedRoute } from '../core/plan.ts';
import type { AttemptReason, AttemptStep, AttemptWatch } from '../core/telemetry.ts';
import { lookForEvidence } from './attempt.ts';
import { continueChoice } from './continuation/continuation.ts';
import { choiceSizes, type Delivered, keepDelivered } from './continuation/delivered.ts';
import { mergeNothing } from './continuation/merge.ts';
import type { CountText } from '../core/count-tokens.ts';
import { createTokenTotals, type TokenShare } from './continuation/token-totals.ts';
import type { EngineProtocol } from './protocol.ts';
import type { DispatchServices } from './dispatch-services.ts';
import { type AttemptRace, startRace } from './race.ts';
import type { RaceEnd } from './race-end.ts';
import type { Winner } from './runner.ts';
import type { RaceOptions } from './running-race.ts';
import type { AttemptRefusal, RetryPolicy } from './retries.ts';
import { createTried, type Tried } from './tried.ts';

/** One call to a model, to be served by the routes of a plan. */
export interface DispatchOptions {
  readonly plan: Plan;
  readonly asked: AskedOfModel;
  readonly protocol: EngineProtocol;
  readonly retries: RetryPolicy;
  /** Undefined: the request asks for no structure. */
  readonly validator: StructureValidator | undefined;
  /** The model's tokenizer. Undefined: it has none. */
  readonly countText: CountText | undefined;
  /** Aborts when the caller leaves. */
  readonly signal: AbortSignal;
  /** Receives the answer in order. The first call commits: from then on a failure is continued elsewhere, or reported to the caller. */
  readonly deliver: (events: readonly AnswerEvent[]) => void;
  readonly observer: DispatchObserver;
}

/** What bears on dispatch of what was asked. */
export interface AskedOfModel {
  readonly stream: boolean;
  readonly choices: number;
  /** Output cap of a choice, tokens. */
  readonly cap: number | undefined;
  /** The text has to be JSON. */
  readonly isJson: boolean;
  /** Digest of the prompt, for the health of its routes. */
  readonly prompt: number | undefined;
}

/** Watches every attempt. */
export interface DispatchObserver {
  readonly attempting: (at: AttemptPlace, reason: AttemptReason, step: AttemptStep) => AttemptWatch | undefined;
  /** The answer, or the rest of it, is that of this attempt. */
  readonly won: (route: Route, reason: AttemptReason) => void;
  readonly failed: (route: Route, fault: Fault) => void;
}

/** How dispatch ended. `attempts` were made on so many `routes`, each on one endpoint or several. */
export type DispatchEnd = DispatchEnding & { readonly routes: number };

/** `route` is the one that delivered last. */
type DispatchEnding =
  | { readonly kind: 'completed'; readonly route: Route; readonly attempts: number; readonly isContinued: boolean }
  /** The answer failed after output had been delivered, and no route could continue it. */
  | { readonly kind: 'interrupted'; readonly route: Route; readonly attempts: number }
  /** No route delivered, and why, as far as the routes say. `isPartial`: some were not asked. No attempts: no route had room. */
  | ({ readonly kind: 'failed'; readonly attempts: number; readonly isPartial: boolean } & AttemptRefusal)
  /** `heard`: there is evidence that an engine had the request (`lookForEvidence`). */
  | {
      readonly kind: 'cancelled';
      readonly attempts: number;
      readonly route: Route | undefined;
      readonly heard: boolean;
    };

/** An answer under way. Pausing it stops the reading from its engines. */
export interface Dispatch {
  readonly ended: Promise<DispatchEnd>;
  readonly pause: () => void;
  readonly resume: () => void;
}

/** A race under way: all choices at first, then one race for each choice that has to be continued. */
interface Branch {
  /** Its choices, numbered as the caller sees them. */
  readonly choices: readonly number[];
  readonly routes: readonly PlannedRoute[];
  /** Where the request has been tried. */
  readonly tried: Tried;
  /** Tokens that had been delivered of its choice. */
  deliveredTokens: number;
  share: TokenShare | undefined;
  race: AttemptRace | undefined;
}

const branchOf = (choices: readonly number[], where: Pick<Branch, 'routes' | 'tried'>): Branch => ({
  ...where,
  choices,
  deliveredTokens: 0,
  share: undefined,
  race: undefined,
});

/**
 * Serves a plan: tries its routes in order, each on several endpoints, hedges, and when an attempt breaks off in the middle of a
 * stream, has another endpoint continue each choice that has not ended (docs/reference/architecture.md §2.3).
 */
export function dispatch(options: DispatchOptions, services: DispatchServices): Dispatch {
  const { plan, asked, protocol, retries, validator, countText, signal, observer } = options;
  const totals = createTokenTotals(countText);
  // Without a second endpoint there is nothing to continue on, and nothing to keep.
  const kept: Delivered | undefined =
    asked.stream && hasSecondPlace(plan, services.health) ? keepDelivered() : undefined;
  const branches = new Set<Branch>();
  let attempts = 0;
  const askedRoutes = new Set<Route>();
  /** The route that delivered last. */
  let delivering: Route | undefined;
  let finishedChoices = 0;
  let isPaused = false;
  let isContinued = false;
  let isOver = false;
  const { promise, resolve, reject } = Promise.withResolvers<DispatchEnd>();

  function start(
    branch: Branch,
    broken?: { readonly on: PlannedRoute; readonly continueOn: RaceOptions['continueOn'] },
  ): void {
    branch.race = startRace(
      {
        routes: branch.routes,
        tried: branch.tried,
        brokenOn: broken?.on,
        affinity: plan.affinity,
        protocol,
        choices: branch.choices.length,
        continueOn: broken?.continueOn,
        stream: asked.stream,
        prompt: asked.prompt,
        hedging: plan.model.hedging !== 'Disabled',
      },
      services,
      {
        attempting: (at, reason, step) => {
          attempts += 1;
          askedRoutes.add(at.route);
          return observer.attempting(at, reason, step);
        },
        won: ({ route }, reason) => observer.won(route, reason),
        failed: ({ route }, fault) => observer.failed(route, fault),
        mayRetry: retries.mayRetry,
        validate: asked.stream ? undefined : validator?.validateWhole,
        deliver: (events, winner) => relay(branch, events, winner),
        over: (end) => void settle(branch, end).catch(crash),
      },
    );
    if (isPaused) branch.race.pause();
  }

  /** The way of each piece of the answer, from the attempt that won its race to the caller. */
  function relay(branch: Branch, events: readonly AnswerEvent[], winner: Winner): void {
    if (isOver) return;
    const named = numberForCaller(events, branch.choices);
    deliver(withUsageOfAll(branch, named, winner), winner.planned.route);
  }

  /** What cannot be continued needs no adding up: the engine's count is the count. */
  function withUsageOfAll(branch: Branch, events: readonly AnswerEvent[], winner: Winner): readonly AnswerEvent[] {
    if (kept === undefined) return events;
    branch.share ??= totals.share({
      prefixTokens: winner.continuation?.prefixTokens ?? 0,
      deliveredTokens: branch.deliveredTokens,
      repeated: (winner.continuation?.merge ?? mergeNothing).repeated,
    });
    return branch.share.take(events);
  }

  function deliver(events: readonly AnswerEvent[], route: Route): void {
    if (isOver) return;
    delivering = route;
    for (const { type } of events) if (type === 'finish') finishedChoices += 1;
    kept?.take(events);
    if (asked.stream) validator?.take(events);
    options.deliver(events);
  }

  async function settle(branch: Branch, end: RaceEnd): Promise<void> {
    switch (end.kind) {
      case 'crashed':
        crash(end.error);
        return;
      case 'complete':
        if (isContinued) await branch.share?.close('whole');
        branches.delete(branch);
        completeIfLast(end.planned.route);
        return;
      case 'exhausted':
        if (delivering === undefined) {
          const { isPartial, about } = end;
          finish({ kind: 'failed', attempts, isPartial, refusedFor: retries.explain(end.refusedFor), about });
        } else interrupt();
        return;
      case 'broken':
        await continueElsewhere(branch, end.planned);
        return;
    }
  }

  /** Has other endpoints continue every choice that a broken branch has not ended. */
  async function continueElsewhere(broken: Branch, planned: PlannedRoute): Promise<void> {
    if (finishedChoices === asked.choices) {
      // Nothing of the answer is missing but what comes after its end.
      branches.delete(broken);
      completeIfLast(planned.route);
      return;
    }
    if (kept === undefined || !kept.isWhole()) {
      interrupt();
      return;
    }
    // The best continuation is that of the same engine and model, on another endpoint.
    const routes = [planned, ...broken.routes.filter((other) => other !== planned)];
    const choices = broken.choices.map((choice) => ({
      choice,
      delivered: kept.choice(choice),
      next: branchOf([choice], { routes, tried: broken.tried.fork() }),
    }));
    // The new branches count as under way from now on, so that the answer does not end before they do.
    for (const { next, delivered } of choices) if (!delivered.finished) branches.add(next);
    branches.delete(broken);
    isContinued = true;
    await broken.share?.close('broken');
    const isAll = broken.choices.length === asked.choices;
    const sizes = await choiceSizes(
      choices.map(({ delivered }) => delivered),
      { countText, total: isAll ? totals.output() : undefined },
    );
    const { cap, isJson } = asked;
    for (const [at, { choice, delivered, next }] of choices.entries()) {
      if (delivered.finished || isOver) continue;
      const tokens = sizes[at] ?? 0;
      if (cap !== undefined && tokens >= cap && delivered.calls.length === 0) {
        // The choice broke off at its very end: all that the cap allows has been delivered.
        branches.delete(next);
        deliver([{ type: 'finish', choice, reason: 'length' }], planned.route);
      } else {
        next.deliveredTokens = tokens;
        start(next, {
          on: planned,
          continueOn: (on) => continueChoice({ delivered, tokens }, protocol.continuation(on), { cap, isJson }),
        });
      }
    }
    completeIfLast(planned.route);
  }

  function completeIfLast(route: Route): void {
    if (branches.size > 0 || isOver) return;
    const usage = isContinued ? totals.usage() : undefined;
    if (usage !== undefined) options.deliver([usage]);
    finish({ kind: 'completed', route, attempts, isContinued });
  }

  /** Ends an answer of which no more will come. */
  function interrupt(): void {
    if (delivering !== undefined) finish({ kind: 'interrupted', route: delivering, attempts });
  }

  function leave(): void {
    const cancel = (heard: boolean): void => finish({ kind: 'cancelled', attempts, route: delivering, heard });
    if (delivering !== undefined) cancel(true);
    else {
      const left = [...branches].flatMap(({ race }) => race?.leave() ?? []);
      lookForEvidence(left, { health: services.health, stream: asked.stream }, cancel);
    }
  }

  function crash(error: unknown): void {
    if (delivering !== undefined) interrupt();
    else if (stop()) reject(error);
  }

  function finish(end: DispatchEnding): void {
    if (!stop()) return;
    if (!asked.stream) validator?.close();
    else if (end.kind === 'completed' && !end.isContinued) validator?.streamed(end.route);
    resolve({ ...end, routes: askedRoutes.size });
  }

  /** False: dispatch has ended already. */
  function stop(): boolean {
    if (isOver) return false;
    isOver = true;
    signal.removeEventListener('abort', leave);
    for (const { race } of branches) race?.abort();
    return true;
  }

  if (signal.aborted) leave();
  else {
    signal.addEventListener('abort', leave, { once: true });
    services.hedges.earn();
    const whole = branchOf(
      Array.from({ length: asked.choices }, (_, index) => index),
      { routes: plan.routes, tried: createTried() },
    );
    branches.add(whole);
    start(whole);
  }
  return {
    ended: promise,
    pause: () => {
      isPaused = true;
      for (const { race } of branches) race?.pause();
    },
    resume: () => {
      isPaused = false;
      for (const { race } of branches) race?.resume();
    },
  };
}

/** Whether an answer that breaks off could be continued anywhere. */
function hasSecondPlace({ routes }: Plan, health: Pick<Health, 'endpointsLeft'>): boolean {
  return routes.length > 1 || health.endpointsLeft({ route: routes[0].route, avoid: new Set() }) > 1;
}

/** Names the choices of events as the caller does. A continued choice is the engine's only one, whatever the caller calls it. */
function numberForCaller(events: readonly AnswerEvent[], choices: readonly number[]): readonly AnswerEvent[] {
  const [only = 0] = choices;
  if (only === 0) return events;
  return events.map((event) =>
    event.type === 'usage' ? event : { ...event, choice: choices[event.choice] ?? event.choice },
  );
}
