/**
 * The rules of a race, as a pure reducer: when an attempt starts, wins or is given up. Attempts are numbered in the order in
 * which they begin.
 */
export interface RaceState {
  /** How many attempts have begun. */
  readonly begun: number;
  /** Attempts under way, oldest first. */
  readonly running: readonly number[];
  /** No further attempt is to be made. */
  readonly isClosed: boolean;
  /** The attempt whose output is delivered. The race has given up all others. */
  readonly winner?: number;
}

export type RaceEvent =
  | { readonly kind: 'begin' }
  /** No endpoint can accept the attempt that was to start. Each was tried, has no room, or cannot serve the request. */
  | { readonly kind: 'unavailable'; readonly attempt: number }
  /** The attempt has output to deliver. An answer that does not stream is complete by then, and has been checked. */
  | { readonly kind: 'output'; readonly attempt: number }
  /** `isLast`: no further attempt is to be made. */
  | { readonly kind: 'failed'; readonly attempt: number; readonly isLast?: boolean }
  /** The newest attempt is so late that a second one is worth its cost. */
  | { readonly kind: 'hedge' };

export type StartReason = 'first' | 'failover' | 'hedge';

export type Action =
  | { readonly kind: 'start'; readonly attempt: number; readonly why: StartReason }
  /** `beaten`: an attempt that started later was faster. False: the race does not need this attempt any more. */
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

/** Decides what follows from an event. An event that comes too late to matter changes nothing. */
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
      // A later attempt is the failover already. An earlier one is known to be slow, so the race does not wait for it alone.
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
