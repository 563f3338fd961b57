import type { AttemptStart } from '../../src/gateway/core/telemetry.ts';

/** An attempt of a request. */
export interface SeenAttempt {
  readonly start: Pick<AttemptStart, 'routeId' | 'endpoint' | 'reason'>;
  /** How it ended, and how many attempts of the request had begun by then. Undefined: it runs. */
  ended: { readonly how: 'complete' | 'failed' | 'beaten' | 'aborted'; readonly begun: number } | undefined;
}

const placeOf = ({ start }: SeenAttempt): string => `${start.routeId} ${start.endpoint}`;

/** Whether an attempt was given up, before it had failed, by the time when another one began. Its race may then come back. */
const wasGivenUp = ({ ended }: SeenAttempt, begun: number): boolean =>
  ended !== undefined && ended.begun <= begun && (ended.how === 'beaten' || ended.how === 'aborted');

/**
 * The place that a request has tried too often. Undefined: none. The race for all choices tries each place once. After it
 * broke off, each choice has a race of its own, which does not try the places of that race again, and each other place
 * once. Each call of a model, such as the next one after a search, begins anew with a `first` attempt.
 */
export function placeTriedTwice(attempts: readonly SeenAttempt[], choices: number): string | undefined {
  let ofAll: SeenAttempt[] = [];
  let ofEach: SeenAttempt[] = [];
  let isContinued = false;
  for (const [begun, attempt] of attempts.entries()) {
    const { reason } = attempt.start;
    if (reason === 'first') [ofAll, ofEach, isContinued] = [[], [], false];
    isContinued ||= reason === 'resume';
    const place = placeOf(attempt);
    const isAgain = (other: SeenAttempt): boolean => placeOf(other) === place && !wasGivenUp(other, begun);
    if (ofAll.some(isAgain) || ofEach.filter(isAgain).length >= (isContinued ? choices : 1)) return place;
    (isContinued ? ofEach : ofAll).push(attempt);
  }
  return undefined;
}

/** The place that a request has tried more often than it has pieces, each of which tries a place once. Undefined: none. */
export function placeTriedTooOften(attempts: readonly SeenAttempt[], pieces: number): string | undefined {
  const tries = Map.groupBy(attempts, placeOf);
  return [...tries].find(([, at]) => at.length > pieces)?.[0];
}
