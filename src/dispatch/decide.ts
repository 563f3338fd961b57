/**
 * The rules of a race: which attempt is made, kept and given up while one is looked for that delivers. A pure reducer; attempts
 * are numbered in the order in which they begin.
 */
export interface RaceState {
  /** How many attempts have begun. */
  readonly begun: number;
  /** Attempts under way, oldest first. */
  readonly running: readonly number[];
  /** No further attempt is to be made. */
  readonly isClosed: boolean;
  /** The attempt whose output is delivered. All others have been given up. */
  readonly winner?: number;
}

export type RaceEvent =
  | { readonly kind: 'begin' }
  /** Nothing takes the attempt that was to start: all routes have been tried, have no room, or cannot serve what is asked now. */
  | { readonly kind: 'unavailable'; readonly attempt: number }
  /** The attempt has output to deliver: of a whole answer, all of it, checked. */
  | { readonly kind: 'output'; readonly attempt: number }
  /** `isLast`: no further attempt is to be made. */
  | { readonly kind: 'failed'; readonly attempt: number; readonly isLast?: boolean }
  /** The newest attempt has been silent for so long that a second one is worth its cost. */
  | { readonly kind: 'hedge' };

export type StartReason = 'first' | 'failover' | 'hedge';

export type Action =
  | { readonly kind: 'start'; readonly attempt: number; readonly why: StartReason }
  /** `beaten`: an attempt that started later was faster; otherwise this one is merely not needed any more. */
  | { readonly kind: 'abandon'; readonly attempt: number; readonly beaten: boolean }
  | { readonly kind: 'commit'; readonly attempt: number }
  /** The attempt failed after its output had been delivered. */
  | { readonly kind: 'broken'; readonly attempt: number }
  /** Nothing is left to try. */
  | { readonly kind: 'exhausted' };

export interface Decision {
  readonly race: RaceState;
  readonly actions: readonly Action[];
}

export const newRace: RaceState = { begun: 0, running: [], isClosed: false };

/** What follows from an event. An event that comes too late to matter changes nothing. */
export function decide(race: RaceState, event: RaceEvent): Decision {
  const { running, winner } = race;
  const nothing: Decision = { race, actions: [] };
  switch (event.kind) {
    case 'begin':
      return startNext(race, 'first');
    case 'hedge':
      return winner === undefined && running.length > 0 ? startNext(race, 'hedge') : nothing;
    case 'output': {
      const { attempt } = event;
      if (winner !== undefined || !running.includes(attempt)) return nothing;
      const others = running.filter((other) => other !== attempt);
      return {
        race: { ...race, running: [attempt], winner: attempt },
        actions: [
          ...others.map((other): Action => ({ kind: 'abandon', attempt: other, beaten: other < attempt })),
          { kind: 'commit', attempt },
        ],
      };
    }
    case 'unavailable': {
      if (!running.includes(event.attempt)) return nothing;
      const left = without(race, event.attempt);
      return { race: left, actions: left.running.length === 0 ? [{ kind: 'exhausted' }] : [] };
    }
    case 'failed': {
      const { attempt, isLast = false } = event;
      if (!running.includes(attempt)) return nothing;
      const left = { ...without(race, attempt), isClosed: race.isClosed || isLast };
      if (winner === attempt) return { race: left, actions: [{ kind: 'broken', attempt }] };
      // An attempt that started later is the failover already; those that started earlier are known to be slow.
      return left.running.some((other) => other > attempt) ? { race: left, actions: [] } : startNext(left, 'failover');
    }
  }
}

const without = (race: RaceState, attempt: number): RaceState => ({
  ...race,
  running: race.running.filter((other) => other !== attempt),
});

function startNext(race: RaceState, why: StartReason): Decision {
  const { begun, running, isClosed } = race;
  if (isClosed) return { race, actions: running.length === 0 ? [{ kind: 'exhausted' }] : [] };
  return {
    race: { ...race, begun: begun + 1, running: [...running, begun] },
    actions: [{ kind: 'start', attempt: begun, why }],
  };
}
