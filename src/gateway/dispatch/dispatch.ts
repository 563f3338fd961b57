import type { Route } from '../../core/catalog.ts';
import type { AnswerEvent } from '../../core/event.ts';
import type { PlannedRoute } from '../core/plan.ts';
import { lookForEvidence } from './left-attempts.ts';
import {
  type Branch,
  type BrokenBranch,
  firstBranch,
  numberForCaller,
  splitBranch,
  type SplitChoice,
} from './branch.ts';
import { continueChoice, missingOf } from './continuation/continuation.ts';
import { choiceSizes } from './continuation/delivered.ts';
import { mergeNothing } from './continuation/merge.ts';
import type { TokenShare } from './continuation/token-totals.ts';
import { afterRace, type DispatchEnding } from './dispatch-end.ts';
import type { DispatchServices } from './dispatch-services.ts';
import { startRace } from './race.ts';
import type { RaceEnd } from './race-end.ts';
import type { Winner } from './runner.ts';
import { type DispatchOptions, newRunningDispatch, type RunningDispatch } from './running-dispatch.ts';
import type { BrokenAnswer, RaceListener } from './running-race.ts';

/** An answer under way. Pausing it stops the reading from its engines. */
export type Dispatch = ReturnType<typeof dispatch>;

/**
 * Serves a plan. Tries its routes in order, each on several endpoints, and hedges. When an attempt breaks off in the middle of a
 * stream, another endpoint continues each choice that has not ended (docs/concepts/architecture.md §2.3).
 */
export function dispatch(options: DispatchOptions, services: DispatchServices) {
  const { plan, asked, signal } = options;
  const running = newRunningDispatch(options, services);
  if (signal.aborted) leave(running);
  else {
    running.stopListening = onAbort(signal, () => leave(running));
    services.hedges.earn();
    const first = firstBranch(asked.choices, plan.routes);
    running.branches.add(first);
    start(running, first, undefined);
  }
  return { ended: running.ended.promise, pause: (): void => pause(running), resume: (): void => resume(running) };
}

/** Returns what removes the listener. A function that is written where a property is assigned would outlive its request (docs/decisions/0022). */
function onAbort(signal: AbortSignal, leave: () => void): () => void {
  signal.addEventListener('abort', leave);
  return () => signal.removeEventListener('abort', leave);
}

function start(running: RunningDispatch, branch: Branch, broken: BrokenAnswer | undefined): void {
  const { plan, asked, protocol } = running.options;
  branch.race = startRace({ plan, asked, protocol, branch, broken }, running.services, listenerFor(running, branch));
  if (running.isPaused) branch.race.pause();
}

function listenerFor(running: RunningDispatch, branch: Branch): RaceListener {
  const { asked, retries, validator, observer } = running.options;
  return {
    attempting: (at, reason, step) => {
      running.attempts += 1;
      running.askedRoutes.add(at.route);
      return observer.attempting(at, reason, step);
    },
    won: ({ route }, reason) => observer.won(route, reason),
    failed: ({ route }, fault) => {
      running.lastFault = fault;
      observer.failed(route, fault);
    },
    mayRetry: retries.mayRetry,
    validate: asked.stream ? undefined : validator?.validateWhole,
    deliver: (events, winner) => relay(running, branch, events, winner),
    over: (end) => void settle(running, branch, end).catch((error: unknown) => crash(running, error)),
  };
}

/** Passes each piece of the answer from the attempt that won its race to the caller. */
function relay(running: RunningDispatch, branch: Branch, events: readonly AnswerEvent[], winner: Winner): void {
  if (running.isOver) return;
  const numbered = numberForCaller(events, branch.choices);
  // An answer that cannot be continued comes from one attempt, so its engine's count needs no adding up.
  const counted = running.kept === undefined ? numbered : shareOf(running, branch, winner).take(numbered);
  deliver(running, counted, winner.planned.route);
}

function shareOf({ totals }: RunningDispatch, branch: Branch, { continuation }: Winner): TokenShare {
  branch.share ??= totals.share({
    prefixTokens: continuation?.prefixTokens ?? 0,
    deliveredTokens: branch.deliveredTokens,
    repeated: (continuation?.merge ?? mergeNothing).repeated,
  });
  return branch.share;
}

function deliver(running: RunningDispatch, events: readonly AnswerEvent[], route: Route): void {
  if (running.isOver) return;
  const { options } = running;
  running.delivering = route;
  for (const { type } of events) if (type === 'finish') running.finishedChoices += 1;
  running.kept?.take(events);
  if (options.asked.stream) options.validator?.take(events);
  options.deliver(events);
}

async function settle(running: RunningDispatch, branch: Branch, end: RaceEnd): Promise<void> {
  const { options, kept, delivering: route, attempts } = running;
  const isFinished = running.finishedChoices === options.asked.choices;
  const next = afterRace(end, { route, isFinished, kept: kept?.isWhole() === true ? kept : undefined });
  switch (next.kind) {
    case 'complete':
      if (end.kind === 'complete' && running.isContinued) await branch.share?.close('whole');
      running.branches.delete(branch);
      completeIfLast(running, next.route);
      return;
    case 'continue':
      await continueElsewhere(running, branch, next);
      return;
    case 'interrupt':
      finish(running, { kind: 'interrupted', route: next.route, attempts });
      return;
    case 'fail': {
      const { isPartial, refusal } = next;
      const refusedFor = options.retries.explain(refusal.refusedFor);
      finish(running, { ...refusal, kind: 'failed', attempts, isPartial, refusedFor });
      return;
    }
    case 'crash':
      crash(running, next.error);
      return;
  }
}

/** Starts a race for each unfinished choice of a broken branch, so that other endpoints continue them. */
async function continueElsewhere(running: RunningDispatch, broken: Branch, after: BrokenBranch): Promise<void> {
  const { options, totals, branches } = running;
  const { asked, countText } = options;
  const choices = splitBranch(broken, after);
  // The new branches count as under way from now on, so that the answer does not end before they do.
  for (const { next, delivered } of choices) if (!delivered.finished) branches.add(next);
  branches.delete(broken);
  running.isContinued = true;
  await broken.share?.close('broken');
  const isAll = broken.choices.length === asked.choices;
  const sizes = await choiceSizes(
    choices.map(({ delivered }) => delivered),
    { countText, total: isAll ? totals.output() : undefined },
  );
  for (const [at, choice] of choices.entries())
    if (!running.isOver) continueSplit(running, choice, { tokens: sizes[at] ?? 0, brokenOn: after.brokenOn });
  completeIfLast(running, after.brokenOn.route);
}

interface SplitSize {
  /** Tokens that were delivered of the choice. */
  readonly tokens: number;
  readonly brokenOn: PlannedRoute;
}

function continueSplit(running: RunningDispatch, split: SplitChoice, { tokens, brokenOn }: SplitSize): void {
  const { asked, protocol } = running.options;
  const { choice, delivered, next } = split;
  const { cap, isJson } = asked;
  const broken = { delivered, tokens };
  switch (missingOf(broken, cap)) {
    case 'nothing':
      return;
    case 'end':
      running.branches.delete(next);
      deliver(running, [{ type: 'finish', choice, reason: 'length' }], brokenOn.route);
      return;
    case 'output':
      next.deliveredTokens = tokens;
      start(running, next, {
        on: brokenOn,
        continueOn: (on) => continueChoice(broken, protocol.continuation(on), { cap, isJson }),
      });
      return;
  }
}

function completeIfLast(running: RunningDispatch, route: Route): void {
  const { branches, isContinued, attempts, totals, options } = running;
  if (branches.size > 0 || running.isOver) return;
  const usage = isContinued ? totals.usage() : undefined;
  if (usage !== undefined) options.deliver([usage]);
  finish(running, { kind: 'completed', route, attempts, isContinued });
}

function leave(running: RunningDispatch): void {
  const { delivering: route, branches, services, options } = running;
  const cancel = (heard: boolean): void =>
    finish(running, { kind: 'cancelled', attempts: running.attempts, route: running.delivering, heard });
  if (route !== undefined) cancel(true);
  else {
    const left = [...branches].flatMap(({ race }) => race?.leave() ?? []);
    lookForEvidence(left, { health: services.health, stream: options.asked.stream }, cancel);
  }
}

/** Ends dispatch after an error of the service itself. An answer that has begun is interrupted. */
function crash(running: RunningDispatch, error: unknown): void {
  const { delivering: route, attempts } = running;
  if (route !== undefined) finish(running, { kind: 'interrupted', route, attempts });
  else if (stop(running)) running.ended.reject(error);
}

function finish(running: RunningDispatch, end: DispatchEnding): void {
  if (!stop(running)) return;
  const { asked, validator } = running.options;
  if (!asked.stream) validator?.close();
  else if (end.kind === 'completed' && !end.isContinued) validator?.streamed(end.route);
  const isOfEngines = end.kind === 'failed' || end.kind === 'interrupted';
  const routes = running.askedRoutes.size;
  running.ended.resolve(isOfEngines ? { ...end, routes, lastFault: running.lastFault } : { ...end, routes });
}

/** False: dispatch has ended already. */
function stop(running: RunningDispatch): boolean {
  if (running.isOver) return false;
  running.isOver = true;
  running.stopListening();
  for (const { race } of running.branches) race?.abort();
  return true;
}

function pause(running: RunningDispatch): void {
  running.isPaused = true;
  for (const { race } of running.branches) race?.pause();
}

function resume(running: RunningDispatch): void {
  running.isPaused = false;
  for (const { race } of running.branches) race?.resume();
}
