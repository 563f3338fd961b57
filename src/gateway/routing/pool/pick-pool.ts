import { type Outlook, pick, type Pick } from './pick.ts';

/** What the endpoints of a pool would mean for a prompt. */
export interface PoolSurvey {
  readonly endpoints: readonly SurveyedEndpoint[];
  /** How many endpoints work on prompts, on average. */
  readonly busy: number;
  /** See `AnswerKnowledge`. */
  readonly slowerEachMs: number;
}

export interface SurveyedEndpoint {
  /** See `PoolCandidate`. */
  readonly success: number;
  readonly outlook: Outlook;
  /** How old the knowledge is that makes the endpoint slow, ms. */
  readonly ageMs: number;
}

/** A second random number is made of the digits of the first one that the choice among equals does not use. */
const lucks = 1009;
/** An endpoint that fails is asked again, or another one is: the time until an answer counts so many times at most. */
const maxTries = 10;
/** After so long without an answer, half of what made an endpoint slower than the best one is forgotten, ms. */
const forgottenMs = 3000;

/** The pick, with the prediction on which it rests. */
export type PoolPick = Pick & Outlook;

/** Picks an endpoint of several pools as if they were one. Its index counts through all of them. Undefined: there is no endpoint. */
export function pickOf(surveys: readonly PoolSurvey[], turn: number): PoolPick | undefined {
  const outlooks = outlooksOf(surveys, turn);
  const busy = surveys.reduce((sum, survey) => sum + survey.busy, 0);
  const picked = pick(outlooks, { busy: busy / Math.max(1, outlooks.length), turn });
  const outlook = outlooks[picked?.index ?? -1];
  return picked === undefined || outlook === undefined ? undefined : { ...outlook, ...picked };
}

/** The pool of the picked endpoint, by its index. Undefined: there is no endpoint. */
export function pickPool(surveys: readonly PoolSurvey[], turn: number): number | undefined {
  let left = pickOf(surveys, turn)?.index ?? -1;
  if (left < 0) return undefined;
  return surveys.findIndex(({ endpoints }) => (left -= endpoints.length) < 0);
}

/**
 * In the order of the surveys. By how much answers become slower together differs between pools mostly by chance, and such a difference
 * would take prompts away from their holders. So the mean of the pools counts.
 */
function outlooksOf(surveys: readonly PoolSurvey[], turn: number): readonly Outlook[] {
  const meanMs = surveys.reduce((sum, { slowerEachMs }) => sum + slowerEachMs, 0) / surveys.length;
  let minMs = Infinity;
  for (const { endpoints } of surveys) for (const { outlook } of endpoints) minMs = Math.min(minMs, outlook.firstMs);
  return surveys.flatMap(({ endpoints, slowerEachMs }) =>
    endpoints.map(({ success, outlook, ageMs }) => {
      const compared =
        surveys.length === 1 ? outlook : { ...outlook, slowerMs: (outlook.slowerMs * meanMs) / slowerEachMs };
      return tried(aged(compared, { minMs, ageMs }), { success, turn });
    }),
  );
}

/** The outlook of an endpoint that has not answered for so long: what made it slow may be over. */
function aged(outlook: Outlook, { minMs, ageMs }: { readonly minMs: number; readonly ageMs: number }): Outlook {
  if (ageMs === 0 || outlook.firstMs === minMs) return outlook;
  const kept = 2 ** (-ageMs / forgottenMs);
  const firstMs = minMs + (outlook.firstMs - minMs) * kept;
  return { ...outlook, firstMs, workMs: (outlook.workMs * firstMs) / outlook.firstMs };
}

/**
 * The outlook with the attempts that usually fail before one succeeds. By chance, an endpoint is now and then judged as if its attempts
 * did not fail: otherwise it would never be picked, and its record would never improve.
 */
function tried(outlook: Outlook, { success, turn }: { readonly success: number; readonly turn: number }): Outlook {
  if (success === 1) return outlook;
  const luck = (turn * lucks) % 1;
  if (success ** 3 > luck) return outlook;
  const tries = Math.min(maxTries, 1 / success);
  return { ...outlook, firstMs: outlook.firstMs * tries, errorMs: outlook.errorMs * tries };
}
