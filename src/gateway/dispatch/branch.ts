import type { AnswerEvent } from '../../core/event.ts';
import type { PlannedRoute } from '../core/plan.ts';
import type { Delivered, DeliveredChoice } from './continuation/delivered.ts';
import type { TokenShare } from './continuation/token-totals.ts';
import type { AttemptRace } from './race.ts';
import type { RacedChoices } from './running-race.ts';
import { createTried } from './tried.ts';

/**
 * One race and the choices that it serves. The first race serves all choices. Later, each choice that has to be continued gets a
 * race of its own.
 */
export interface Branch extends RacedChoices {
  /** Tokens of the choice that were delivered before the race started. */
  deliveredTokens: number;
  /** Undefined until the race delivers, and if the tokens of several races need not be added up. */
  share: TokenShare | undefined;
  /** Undefined until the race starts. */
  race: AttemptRace | undefined;
}

const newBranch = (choices: readonly number[], where: Pick<Branch, 'routes' | 'tried'>): Branch => ({
  ...where,
  choices,
  deliveredTokens: 0,
  share: undefined,
  race: undefined,
});

/** Returns the branch that asks for all choices from their beginning. */
export function firstBranch(choices: number, routes: readonly PlannedRoute[]): Branch {
  const all = Array.from({ length: choices }, (_, index) => index);
  return newBranch(all, { routes, tried: createTried() });
}

/** A choice of a branch that broke off, with the branch that continues it. */
export interface SplitChoice {
  readonly choice: number;
  readonly delivered: DeliveredChoice;
  readonly next: Branch;
}

export interface BrokenBranch {
  readonly brokenOn: PlannedRoute;
  readonly kept: Delivered;
}

/**
 * Makes a branch for each choice of a broken branch. The route that broke off comes first, because another endpoint of the same
 * engine and model continues best.
 */
export function splitBranch(broken: Branch, { brokenOn, kept }: BrokenBranch): readonly SplitChoice[] {
  const routes = [brokenOn, ...broken.routes.filter((other) => other !== brokenOn)];
  return broken.choices.map((choice) => ({
    choice,
    delivered: kept.choice(choice),
    next: newBranch([choice], { routes, tried: broken.tried.fork() }),
  }));
}

/** Gives the choices of events the caller's numbers. An engine that continues a choice numbers it 0. */
export function numberForCaller(events: readonly AnswerEvent[], choices: readonly number[]): readonly AnswerEvent[] {
  const [only = 0] = choices;
  if (only === 0) return events;
  return events.map((event) =>
    event.type === 'usage' || event.type === 'vectors' || event.type === 'ranks'
      ? event
      : { ...event, choice: choices[event.choice] ?? event.choice },
  );
}
