/**
 * The rules of a race: which attempt is made, kept and given up while a route is looked for that delivers. A pure reducer; routes
 * are named by their place in the order of trying.
 */
export interface RaceState {
  /** How many routes there are. */
  readonly routes: number;
  /** The route to try next. */
  readonly next: number;
  /** Attempts under way, oldest first. */
  readonly running: readonly number[];
  /** The attempt whose output is delivered. All others have been given up. */
  readonly winner?: number;
}

export type RaceEvent =
  | { readonly kind: 'begin' }
  /** The route had no room when its attempt was to start, or cannot serve what is asked now. */
  | { readonly kind: 'unavailable'; readonly route: number }
  /** The attempt has output to deliver: of a whole answer, all of it, checked. */
  | { readonly kind: 'output'; readonly route: number }
  /** `isLast`: no further route is to be tried. */
  | { readonly kind: 'failed'; readonly route: number; readonly isLast?: boolean }
  /** The newest attempt has been silent for so long that a second one is worth its cost. */
  | { readonly kind: 'hedge' };

type StartReason = 'first' | 'failover' | 'hedge';

export type Action =
  | { readonly kind: 'start'; readonly route: number; readonly why: StartReason }
  /** `beaten`: an attempt that started later was faster; otherwise this one is merely not needed any more. */
  | { readonly kind: 'abandon'; readonly route: number; readonly beaten: boolean }
  | { readonly kind: 'commit'; readonly route: number }
  /** The attempt failed after its output had been delivered. */
  | { readonly kind: 'broken'; readonly route: number }
  /** No route is left. */
  | { readonly kind: 'exhausted' };

export interface Decision {
  readonly race: RaceState;
  readonly actions: readonly Action[];
}

export function newRace(routes: number): RaceState {
  return { routes, next: 0, running: [] };
}

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
      const { route } = event;
      if (winner !== undefined || !running.includes(route)) return nothing;
      const others = running.filter((other) => other !== route);
      return {
        race: { ...race, running: [route], winner: route },
        actions: [
          ...others.map((other): Action => ({ kind: 'abandon', route: other, beaten: other < route })),
          { kind: 'commit', route },
        ],
      };
    }
    case 'unavailable':
    case 'failed': {
      const { route } = event;
      if (!running.includes(route)) return nothing;
      const isLast = event.kind === 'failed' && event.isLast === true;
      const routes = isLast ? race.next : race.routes;
      const left: RaceState = { ...race, routes, running: running.filter((other) => other !== route) };
      if (winner === route) return { race: left, actions: [{ kind: 'broken', route }] };
      // An attempt that started later is the failover already; those that started earlier are known to be slow.
      return left.running.some((other) => other > route) ? { race: left, actions: [] } : startNext(left, 'failover');
    }
  }
}

function startNext(race: RaceState, why: StartReason): Decision {
  const route = race.next;
  if (route < race.routes) {
    return {
      race: { ...race, next: route + 1, running: [...race.running, route] },
      actions: [{ kind: 'start', route, why }],
    };
  }
  return { race, actions: race.running.length === 0 ? [{ kind: 'exhausted' }] : [] };
}
