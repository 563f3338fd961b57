/**
 * `probe`: the circuit has been open so long that one attempt may test whether the route has recovered. `open`: no attempt may,
 * also while that test runs.
 */
export type CircuitState = 'closed' | 'probe' | 'open';

/** An attempt's pass through the circuit. The result of a pass from before the circuit last opened is ignored. */
export interface CircuitTicket {
  readonly opening: number;
  readonly probe: boolean;
  /** The attempt went through an open circuit, because there was no other route. */
  readonly forced?: true;
}

/** A circuit breaker. Keeps requests away from a target that fails, and tests with single probes whether it works again. */
export type Circuit = ReturnType<typeof createCircuit>;

export interface CircuitOptions {
  readonly random: () => number;
  /** Returns how many failures in a row open the circuit. Called at each failure. */
  readonly failuresInRow: () => number;
  /** How long the circuit stays open the first time. Doubled with each probe that fails. */
  readonly openMs: number;
  /** Returns how long the circuit stays open at most. Called each time it opens. */
  readonly maxOpenMs: () => number;
  /** A probe without a result is given up after so long, and another attempt may probe. Absent: a probe always has a result. */
  readonly probeMs?: number;
}

type State =
  | { readonly kind: 'closed'; failures: number; successes: number }
  | { readonly kind: 'open'; readonly until: number }
  | { readonly kind: 'half-open'; probeUntil: number };

/** Successes after which an earlier outage is forgotten. Until the first one, a single failure opens the circuit again. */
const provenAfter = 5;

const probeFree = -Infinity;

export function createCircuit(options: CircuitOptions) {
  const { random, failuresInRow, openMs, maxOpenMs, probeMs = Infinity } = options;
  let state: State = { kind: 'closed', failures: 0, successes: 0 };
  /** How often the circuit has opened in all, and since the route was last well. */
  let openings = 0;
  let relapses = 0;

  function look(now: number): State {
    if (state.kind === 'open' && now >= state.until) state = { kind: 'half-open', probeUntil: probeFree };
    return state;
  }

  function open(now: number): true {
    const span = Math.min(maxOpenMs(), openMs * 2 ** relapses);
    openings += 1;
    relapses += 1;
    // A random addition, so that replicas and routes that failed together are not probed together.
    state = { kind: 'open', until: now + span * (1 + random() / 4) };
    return true;
  }

  const isCurrent = (ticket: CircuitTicket): boolean => ticket.opening === openings;

  return {
    state: (now: number): CircuitState => {
      const current = look(now);
      if (current.kind === 'closed') return 'closed';
      return current.kind === 'half-open' && now >= current.probeUntil ? 'probe' : 'open';
    },
    /** Whether the circuit is open and no probe is under way: requests that wait behind it should go elsewhere. */
    isEjected: (now: number): boolean => {
      const current = look(now);
      return current.kind === 'open' || (current.kind === 'half-open' && now >= current.probeUntil);
    },
    probing: (now: number): boolean => {
      const current = look(now);
      return current.kind === 'half-open' && now < current.probeUntil;
    },
    /** Lets an attempt through; undefined when the circuit is open. The first request that asks gets the probe. */
    begin: (now: number): CircuitTicket | undefined => {
      const current = look(now);
      if (current.kind === 'closed') return { opening: openings, probe: false };
      if (current.kind === 'open' || now < current.probeUntil) return undefined;
      current.probeUntil = now + probeMs;
      return { opening: openings, probe: true };
    },
    /** Lets an attempt through in any state, for a request that has no other route. Output closes the circuit; a failure is ignored. */
    force: (): CircuitTicket => ({ opening: openings, probe: false, forced: true }),
    /** A ticket for a result whose attempt did not call `begin`. */
    unannounced: (): CircuitTicket => ({ opening: openings, probe: true }),
    /** Call it at the first output. The output of a probe closes the circuit on trial. True: the circuit closed. */
    alive: (ticket: CircuitTicket): boolean => {
      const isAwaited = state.kind === 'half-open' ? ticket.probe || ticket.forced : ticket.forced;
      if (state.kind === 'closed' || isAwaited !== true || !isCurrent(ticket)) return false;
      state = { kind: 'closed', failures: 0, successes: 0 };
      return true;
    },
    succeeded: (ticket: CircuitTicket): void => {
      if (state.kind !== 'closed' || !isCurrent(ticket)) return;
      state.failures = 0;
      state.successes += 1;
      if (state.successes >= provenAfter) relapses = 0;
    },
    /** `trip`: opens the circuit at once. True: the circuit opened. */
    failed: (ticket: CircuitTicket, now: number, { trip }: { readonly trip: boolean }): boolean => {
      if (!isCurrent(ticket)) return false;
      const current = look(now);
      if (current.kind === 'open') return false;
      if (current.kind === 'half-open') return ticket.probe ? open(now) : false;
      current.failures += 1;
      const onTrial = relapses > 0 && current.successes === 0;
      return trip || onTrial || current.failures >= failuresInRow() ? open(now) : false;
    },
    /** Call it for an attempt whose end proves nothing. The next attempt may probe. */
    released: (ticket: CircuitTicket): void => {
      if (state.kind === 'half-open' && ticket.probe && isCurrent(ticket)) state.probeUntil = probeFree;
    },
  };
}
