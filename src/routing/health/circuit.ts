/**
 * `closed`: closed. `probe`: it has been open for long enough, and one attempt may find out whether it is well again. `open`: open,
 * or that one attempt is under way.
 */
export type CircuitState = 'closed' | 'probe' | 'open';

/** What an attempt holds of the circuit it went through. Results from before it last opened are no news to it. */
export interface CircuitTicket {
  readonly opening: number;
  readonly probe: boolean;
  /** It went through an open circuit, because there was nothing else. */
  readonly insisted?: true;
}

/** Keeps requests from what fails, and finds out by single probes when it is well again. */
export interface Circuit {
  readonly state: (now: number) => CircuitState;
  /** Whether what waits behind it had better not: not while a probe is under way, which may be what is asking. */
  readonly isEjected: (now: number) => boolean;
  readonly probing: (now: number) => boolean;
  /** Undefined when it lets nothing through. Its probe goes to the first who asks. */
  readonly begin: (now: number) => CircuitTicket | undefined;
  /** Goes through whatever stands: for who has no other way. A sign of life closes the circuit, a failure is no news. */
  readonly insist: () => CircuitTicket;
  /** A ticket for a result that was not announced. */
  readonly unannounced: () => CircuitTicket;
  /** The first sign of life: a probe's closes the circuit, on trial. True when it did. */
  readonly alive: (ticket: CircuitTicket) => boolean;
  readonly succeeded: (ticket: CircuitTicket) => void;
  /** `trip`: more than this failure speaks against it, so that it opens whatever came before. True when it opened. */
  readonly failed: (ticket: CircuitTicket, now: number, options: { readonly trip: boolean }) => boolean;
  /** It ended in a way that says nothing: a probe is free for the next one. */
  readonly released: (ticket: CircuitTicket) => void;
}

export interface CircuitOptions {
  readonly random: () => number;
  /** Failures in a row that open it. */
  readonly failuresInRow: number;
  /** How long it stays open the first time; doubled with each probe that fails. */
  readonly openMs: number;
  readonly mostOpenMs: number;
  /** After so long without a result a probe is given up, and another may try; absent: its result always comes. */
  readonly probeMs?: number;
}

type State =
  | { readonly kind: 'closed'; failures: number; successes: number }
  | { readonly kind: 'open'; readonly until: number }
  | { readonly kind: 'half-open'; probeUntil: number };

/** Successes after which an earlier outage is forgotten. Until the first one, a single failure opens the circuit again. */
const provenAfter = 5;

const probeFree = -Infinity;

export function createCircuit(options: CircuitOptions): Circuit {
  const { random, failuresInRow, openMs, mostOpenMs, probeMs = Infinity } = options;
  let state: State = { kind: 'closed', failures: 0, successes: 0 };
  /** Times it has opened in all, and since it was last well. */
  let openings = 0;
  let relapses = 0;

  function look(now: number): State {
    if (state.kind === 'open' && now >= state.until) state = { kind: 'half-open', probeUntil: probeFree };
    return state;
  }

  function open(now: number): true {
    const span = Math.min(mostOpenMs, openMs * 2 ** relapses);
    openings += 1;
    relapses += 1;
    // Some more, by chance: replicas and routes that failed together are not probed together.
    state = { kind: 'open', until: now + span * (1 + random() / 4) };
    return true;
  }

  const isCurrent = (ticket: CircuitTicket): boolean => ticket.opening === openings;

  return {
    state: (now) => {
      const current = look(now);
      if (current.kind === 'closed') return 'closed';
      return current.kind === 'half-open' && now >= current.probeUntil ? 'probe' : 'open';
    },
    isEjected: (now) => {
      const current = look(now);
      return current.kind === 'open' || (current.kind === 'half-open' && now >= current.probeUntil);
    },
    probing: (now) => {
      const current = look(now);
      return current.kind === 'half-open' && now < current.probeUntil;
    },
    begin: (now) => {
      const current = look(now);
      if (current.kind === 'closed') return { opening: openings, probe: false };
      if (current.kind === 'open' || now < current.probeUntil) return undefined;
      current.probeUntil = now + probeMs;
      return { opening: openings, probe: true };
    },
    insist: () => ({ opening: openings, probe: false, insisted: true }),
    unannounced: () => ({ opening: openings, probe: true }),
    alive: (ticket) => {
      const isAwaited = state.kind === 'half-open' ? ticket.probe || ticket.insisted : ticket.insisted;
      if (state.kind === 'closed' || isAwaited !== true || !isCurrent(ticket)) return false;
      state = { kind: 'closed', failures: 0, successes: 0 };
      return true;
    },
    succeeded: (ticket) => {
      if (state.kind !== 'closed' || !isCurrent(ticket)) return;
      state.failures = 0;
      state.successes += 1;
      if (state.successes >= provenAfter) relapses = 0;
    },
    failed: (ticket, now, { trip }) => {
      if (!isCurrent(ticket)) return false;
      const current = look(now);
      if (current.kind === 'open') return false;
      if (current.kind === 'half-open') return ticket.probe ? open(now) : false;
      current.failures += 1;
      const onTrial = relapses > 0 && current.successes === 0;
      return trip || onTrial || current.failures >= failuresInRow ? open(now) : false;
    },
    released: (ticket) => {
      if (state.kind === 'half-open' && ticket.probe && isCurrent(ticket)) state.probeUntil = probeFree;
    },
  };
}
