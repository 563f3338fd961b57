import type { AnswerEvent, Fault } from '../../core/event.ts';
import type { AttemptRecord, BeginOptions } from '../core/health.ts';
import type { PlannedRoute } from '../core/plan.ts';
import type { StructuralDefect } from '../core/structure.ts';
import { startAttempt } from './attempt.ts';
import { type Action, decide, type RaceEvent, type StartReason } from './decide.ts';
import type { DispatchServices } from './dispatch-services.ts';
import { beginInFirstPlace, type BegunPlace, openRoutes, placesLeft } from './places.ts';
import { endOfExhausted, type RaceEnd } from './race-end.ts';
import { leaveCalled, type LeftAttempt } from './left-attempts.ts';
import { hold, newRunner, reasonOf, reportEnd, type Runner, stepOf, takeHeld } from './runner.ts';
import { newRunningRace, type RaceListener, type RaceOptions, type RunningRace } from './running-race.ts';

export type AttemptRace = ReturnType<typeof startRace>;

/**
 * Races attempts for an answer, or for one choice that has to be continued. Tries one endpoint after the other until one
 * delivers. The caller sees neither a failure before the first output nor the loser of a hedge. `decide` has the rules, and the
 * functions below act on its decisions.
 */
export function startRace(options: RaceOptions, services: DispatchServices, listener: RaceListener) {
  const race = newRunningRace(options, services, listener);
  take(race, { kind: 'begin' });
  return {
    /** Ends the race and its calls. No effect after the end. */
    abort: (): void => stop(race),
    /** Ends the race because the caller left. Returns the attempts whose calls have gone out. Abort each to close its call. */
    leave: (): readonly LeftAttempt[] => leave(race),
    /** Pauses the reading from engines, including those that are called later. */
    pause: (): void => pause(race),
    resume: (): void => resume(race),
  };
}

/** Acts on an event. An event that follows from it waits until this one has been dealt with. */
function take(race: RunningRace, event: RaceEvent): void {
  const { waiting } = race;
  waiting.push(event);
  if (race.isDeciding) return;
  race.isDeciding = true;
  try {
    for (let next = waiting.shift(); next !== undefined && !race.isOver; next = waiting.shift()) {
      const decision = decide(race.decided, next);
      race.decided = decision.race;
      for (const action of decision.actions) act(race, action);
    }
  } catch (error) {
    crash(race, error);
  } finally {
    race.isDeciding = false;
  }
}

function act(race: RunningRace, action: Action): void {
  if (race.isOver) return;
  switch (action.kind) {
    case 'start':
      start(race, action.attempt, action.why);
      return;
    case 'abandon':
      abandon(race, action.attempt, action.beaten ? 'beaten' : 'aborted');
      return;
    case 'commit':
      commit(race, action.attempt);
      return;
    case 'broken':
      if (race.winner !== undefined) end(race, { kind: 'broken', planned: race.winner.planned });
      return;
    case 'exhausted':
      exhaust(race);
      return;
  }
}

function start(race: RunningRace, number: number, why: StartReason): void {
  const place = nextPlace(race) ?? (isLastChance(race, why) ? lastResort(race) : undefined);
  if (place === undefined) take(race, { kind: 'unavailable', attempt: number });
  else startRunner(race, newRunner(place, { number, why, begunAt: race.services.clock.elapsed() }), place.record);
}

const nextPlace = (race: RunningRace): BegunPlace | undefined =>
  beginInFirstPlace(openNow(race), placeFor(race, { isLastResort: false }));

/** Whether the request fails if this attempt is not made, although an engine has been asked. */
const isLastChance = ({ runners, options }: RunningRace, why: StartReason): boolean =>
  runners.size === 0 && (why === 'failover' || options.broken !== undefined);

/**
 * A place that would not be asked otherwise: the endpoint cools off, or the route was left out when the request was planned. A refusal
 * costs less than the failure of the request.
 */
const lastResort = (race: RunningRace): BegunPlace | undefined =>
  beginInFirstPlace(everyRoute(race), placeFor(race, { isLastResort: true }));

const everyRoute = ({ options: { branch, plan } }: RunningRace): readonly PlannedRoute[] => [
  ...branch.routes,
  ...(plan.leftOut ?? []),
];

function placeFor({ options, services }: RunningRace, { isLastResort }: Pick<BeginOptions, 'isLastResort'>) {
  const { asked, branch, broken, plan } = options;
  const { stream, prompt } = asked;
  const { affinity, poolPrompt } = plan;
  const attempt = { stream, prompt, affinity, poolPrompt, isLastResort };
  return { tried: branch.tried, health: services.health, continueOn: broken?.continueOn, attempt };
}

function openNow({ runners, options, services }: RunningRace): readonly PlannedRoute[] {
  const running = [...runners.values()].map(({ at }) => at);
  return openRoutes(options.branch.routes, running, services.health);
}

function startRunner(race: RunningRace, runner: Runner, record: AttemptRecord): void {
  const { options, services, runners } = race;
  const { planned, continuation } = runner;
  options.branch.tried.began(planned, record.endpoint);
  runners.set(runner.number, runner);
  const attempt = startAttempt(
    {
      planned,
      continuation,
      record,
      choices: options.branch.choices.length,
      protocol: options.protocol,
      upstream: services.upstream,
      clock: services.clock,
      idleMs: planned.route.backend.timeouts?.idleMs ?? services.idleMs,
      firstOutputMs: planned.route.backend.timeouts?.firstOutputMs ?? services.firstOutputMs?.(planned.route),
    },
    {
      calling: () => calling(race, runner),
      movedTo: (name) => runner.watch?.movedTo(name),
      events: (output) => takeOutput(race, runner, output),
      over: (result) => (result === 'complete' ? complete(race, runner) : fail(race, runner, result)),
      crashed: (error) => crash(race, error),
    },
  );
  runner.attempt = attempt;
  // The attempt may have failed at once, and may have ended the race.
  if (race.isOver) attempt.abandon('aborted');
  else if (race.isPaused) attempt.pause();
}

/** Reports the attempt whose call goes out next. From now on a hedge may follow. */
function calling(race: RunningRace, runner: Runner): string | undefined {
  const { options, listener, asked } = race;
  const { planned, at, why } = runner;
  const reason = reasonOf(why, { isContinued: options.broken !== undefined });
  runner.watch = listener.attempting(at, reason, stepOf(planned, race.previous));
  race.previous = planned;
  asked.add(planned);
  if (options.plan.model.hedging !== 'Disabled') watchForHedge(race, runner);
  return runner.watch?.traceparent;
}

function watchForHedge(race: RunningRace, { at }: Runner): void {
  const { routes, tried } = race.options.branch;
  race.hedging.watch(at, {
    others: placesLeft(routes, { tried, health: race.services.health }),
    isRoom: () => race.decided.running.length < 2,
    start: () => take(race, { kind: 'hedge' }),
  });
}

function takeOutput(race: RunningRace, runner: Runner, output: readonly AnswerEvent[]): void {
  if (race.decided.winner === runner.number) {
    deliver(race, output, runner);
    return;
  }
  const { stream } = race.options.asked;
  const isFirst = hold(runner, output, stream);
  // An answer that does not stream is checked before any of it is delivered.
  if (stream && isFirst) take(race, { kind: 'output', attempt: runner.number });
}

function deliverHeld(race: RunningRace, runner: Runner): void {
  const held = takeHeld(runner);
  if (held.length > 0) deliver(race, held, runner);
}

function deliver(race: RunningRace, output: readonly AnswerEvent[], runner: Runner): void {
  try {
    race.listener.deliver(output, runner);
  } catch (error) {
    crash(race, error);
  }
}

function commit(race: RunningRace, number: number): void {
  race.hedging.stop();
  const winner = race.runners.get(number);
  race.winner = winner;
  if (winner === undefined) return;
  race.listener.won(winner.planned, winner.why);
  deliverHeld(race, winner);
}

function abandon({ runners, options }: RunningRace, number: number, why: 'beaten' | 'aborted'): void {
  const runner = runners.get(number);
  if (runner === undefined) return;
  runner.attempt?.abandon(why);
  reportEnd(runner, { kind: why });
  options.branch.tried.abandoned(runner.planned, runner.at.endpoint);
  runners.delete(number);
}

/** Reports the fault of an attempt. Another attempt follows, if one may be made. */
function fail(race: RunningRace, runner: Runner, fault: Fault): void {
  const { runners, faults, options, services, listener } = race;
  const { number, planned } = runner;
  runners.delete(number);
  reportEnd(runner, { kind: 'failed', fault });
  faults.push(fault);
  const { tried } = options.branch;
  tried.failed(planned, fault);
  listener.failed(planned, fault);
  const left = placesLeft([...openNow(race), ...(options.plan.leftOut ?? [])], { tried, health: services.health });
  // `mayRetry` counts each permission as used. So the race asks only if an endpoint is left to try.
  const isLast = left.length > 0 && !listener.mayRetry(fault);
  take(race, { kind: 'failed', attempt: number, isLast });
}

function complete(race: RunningRace, runner: Runner): void {
  const { validate } = race.listener;
  if (validate === undefined || race.decided.winner === runner.number) accept(race, runner);
  else {
    validate(runner.held, runner.planned).then(
      (defect) => takeCheck(race, runner, defect),
      (error: unknown) => crash(race, error),
    );
  }
}

/** Receives the result of the check of a whole answer. Ignores it if the attempt has been given up. */
function takeCheck(race: RunningRace, runner: Runner, defect: StructuralDefect | undefined): void {
  if (race.isOver || race.runners.get(runner.number) !== runner) return;
  if (defect === undefined) {
    accept(race, runner);
    return;
  }
  if (defect.isTolerable) race.tolerable ??= runner;
  // The fault is logged, so it leaves out the defect's text, which quotes the caller's schema.
  fail(race, runner, { kind: 'structure', detail: defect.capability });
}

function accept(race: RunningRace, runner: Runner): void {
  const { number, planned } = runner;
  reportEnd(runner, { kind: 'complete' });
  if (race.decided.winner !== number) take(race, { kind: 'output', attempt: number });
  if (race.decided.winner === number) end(race, { kind: 'complete', planned });
}

function exhaust(race: RunningRace): void {
  const { asked, faults, tolerable } = race;
  if (tolerable !== undefined) deliverHeld(race, tolerable);
  end(race, endOfExhausted({ routes: everyRoute(race), asked, faults, tolerable: tolerable?.planned }));
}

/**
 * Ends the race with an error that its own code or its listener has thrown. If the error were thrown on, it would reach the code
 * that reads an engine's answer. After the end of the race, the error is thrown on, because nothing else can report it.
 */
function crash(race: RunningRace, error: unknown): void {
  if (race.isOver) throw error;
  end(race, { kind: 'crashed', error });
}

function end(race: RunningRace, result: RaceEnd): void {
  if (race.isOver) return;
  stop(race);
  race.listener.over(result);
}

function stop(race: RunningRace): void {
  if (race.isOver) return;
  race.isOver = true;
  race.hedging.stop();
  for (const runner of race.runners.values()) {
    runner.attempt?.abandon('aborted');
    reportEnd(runner, { kind: 'aborted' });
  }
  race.runners.clear();
}

function leave(race: RunningRace): readonly LeftAttempt[] {
  const left = leaveCalled(race.runners.values(), race.services.clock);
  stop(race);
  return left;
}

function pause(race: RunningRace): void {
  race.isPaused = true;
  for (const { attempt } of race.runners.values()) attempt?.pause();
}

function resume(race: RunningRace): void {
  race.isPaused = false;
  for (const { attempt } of race.runners.values()) attempt?.resume();
}
