import type { AnswerEvent } from '../core/event.ts';
import type { PlannedRoute } from '../core/plan.ts';
import type { Delivered, DeliveredChoice } from './continuation/delivered.ts';
import type { TokenShare } from './continuation/token-totals.ts';
import type { AttemptRace } from './race.ts';
import { createTried, type Tried } from './tried.ts';

/** One race of an answer, and its choices: all of them at first, then one race for each choice that has to be continued. */
export interface Branch {
  /** Its choices, numbered as the caller sees them. */
  readonly choices: readonly number[];
  readonly routes: readonly PlannedRoute[];
  /** Where the request has been tried. */
  readonly tried: Tried;
  /** Tokens that had been delivered of its choice before. */
  deliveredTokens: number;
  /** Undefined until it delivers, and where nothing is added up. */
  share: TokenShare | undefined;
  /** Undefined until it starts. */
  race: AttemptRace | undefined;
}

const newBranch = (choices: readonly number[], where: Pick<Branch, 'routes' | 'tried'>): Branch => ({
  ...where,
  choices,
  deliveredTokens: 0,
  share: undefined,
  race: undefined,
});

/** The branch of all choices, from their beginning. */
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

/** Makes a branch for each choice of a broken one. The route that broke off comes first: another endpoint of the same engine and model continues best. */
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
    event.type === 'usage' ? event : { ...event, choice: choices[event.choice] ?? event.choice },
  );
}
