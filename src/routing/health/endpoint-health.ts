import { type Fault, isEngineFailure } from '../../core/event.ts';
import type { Endpoint } from '../../core/endpoint.ts';
import type { AttemptEnd, AttemptRecord } from '../../core/health.ts';
import { isFull, type BackendLoad } from './load.ts';
import { type CircuitTicket, createCircuit } from './circuit.ts';
import { createDecayedMean } from './decayed-mean.ts';
import { createPace, leastWeight, type Pace, present } from './pace.ts';
import type { RouteStatus } from './route-status.ts';

/**
 * What a fault says about the endpoint that it came from. `nothing`: any endpoint would have answered so, or `StructureHealth`
 * deals with it. `full`: the endpoint has enough to do for now. `broken`: a failure.
 */
export function blameOf({ kind, engineError, status, retryAfterSeconds }: Fault): 'nothing' | 'full' | 'broken' {
  // The engine answered, although not with the right structure, or not where another answer broke off.
  if (kind === 'structure' || kind === 'disjoint') return 'nothing';
  switch (engineError ?? 'other') {
    case 'context-length':
    case 'bad-request':
    case 'content-policy':
      return 'nothing';
    case 'rate-limit':
      return 'full';
    case 'overloaded':
      // A 503 without a date may come from a proxy in front of a dead engine, which needs probes.
      return retryAfterSeconds !== undefined || status === 429 ? 'full' : 'broken';
    case 'account':
    case 'not-found':
    case 'other':
      return status === 429 ? 'full' : 'broken';
  }
}

/** Keeps requests from an endpoint that said it has enough to do, for as long as it asked. It comes back without a probe. */
interface Cooling {
  readonly isCool: (now: number) => boolean;
  readonly refused: (
    now: number,
    attempt: { readonly begunAt: number; readonly retryAfterSeconds: number | undefined },
  ) => void;
  readonly served: () => void;
}

/** Longest time for which an engine's own word is followed: some name the end of the day. */
const mostAskedMs = 60_000;
/** Where the engine names no time: the wait after the first refusal, and the longest after several in a row. */
const firstMs = 500;
const mostMs = 10_000;

function createCooling(): Cooling {
  let until = -Infinity;
  let refusals = 0;
  return {
    isCool: (now) => now < until,
    refused: (now, { begunAt, retryAfterSeconds = 0 }) => {
      // Attempts that were under way together were refused together: that is one refusal.
      if (begunAt >= until) refusals += 1;
      const ownMs = Math.min(mostMs, firstMs * 2 ** (refusals - 1));
      until = Math.max(until, now + (retryAfterSeconds > 0 ? Math.min(mostAskedMs, retryAfterSeconds * 1000) : ownMs));
    },
    served: () => {
      refusals = 0;
    },
  };
}

/** What health must know of an attempt and its prompt. */
export interface EndpointAttempt {
  readonly stream: boolean;
  /** Called when the prompt has been answered. */
  readonly answered: () => void;
  /** Called when the engine failed on the prompt. True: it did so here shortly before, so that this failure does not count. */
  readonly isRepeated: (now: number) => boolean;
  /** Called with a failure, and whether it counts against what has failed. */
  readonly failed: (fault: Fault) => void;
}

/** What was learned of one endpoint from the attempts of one route: the unit that is ejected and probed. */
export interface EndpointHealth {
  readonly endpoint: Endpoint;
  /** Attempts under way on the endpoint, by all routes. */
  readonly load: BackendLoad;
  readonly pace: (stream: boolean) => Pace;
  /** Undefined when the endpoint takes no attempt now. */
  readonly begin: (now: number, options: EndpointAttempt) => EndpointRecord | undefined;
  readonly status: (now: number, stream: boolean) => EndpointStatus;
  /** Ejected, and not being probed at this moment. */
  readonly isEjected: (now: number) => boolean;
  readonly probing: (now: number) => boolean;
  /** See `Health.isAnswering`. */
  readonly isAnswering: (now: number, wait: { readonly stream: boolean; readonly waitedMs: number }) => boolean;
  /** Whether the endpoint can take no attempt at all. */
  readonly isOut: (now: number) => boolean;
  /** Whether the endpoint is neither ejected nor cooling off. It may be full. */
  readonly isServing: (now: number) => boolean;
  /** A fault of another endpoint holds for this one, too. */
  readonly alsoFailed: (now: number, fault: Fault) => void;
  /**
   * The endpoint was found again: its Host header or zone may have changed, and its attempts may be counted elsewhere. Those under way
   * stay where they were counted.
   */
  readonly renew: (found: { readonly endpoint: Endpoint; readonly load: BackendLoad }) => void;
  /** Keeps attempts away for a quarter of a second: Envoy finds the endpoint gone or unhealthy, or has not checked a new one yet. */
  readonly passedOver: (now: number) => void;
}

/** Little is lost by asking again soon: Envoy sends the request elsewhere by itself. A new pod is to be used as soon as it can be. */
const passedOverMs = 250;

/** The status of one endpoint; structure is its route's matter. */
export type EndpointStatus = Omit<RouteStatus, 'validity' | 'state'> & {
  readonly state: 'available' | 'probe' | 'last-resort' | 'unavailable';
};

/** One attempt on an endpoint, from its beginning to its end. */
export type EndpointRecord = Pick<AttemptRecord, 'output' | 'ended'>;

/** Successful attempts that are assumed before any has been made. */
const prior = { value: 1, weight: 2 };
/** Fewest attempts on which a success rate under one half ejects the endpoint. */
const enough = 6;
/** An attempt that fails without output within this time has kept no caller waiting, milliseconds. */
const atOnceMs = 1000;
/** After so long without output of a probe another request may probe too, milliseconds: the first may have been lost. */
const probeMs = 10_000;
/** How long an answer proves that an engine works, milliseconds. */
const provesMs = 600_000;
/** The least that counts as the usual wait, milliseconds, and the multiple of the usual wait that is still normal. */
const leastUsualMs = { stream: 1000, whole: 5000 } as const;
const usualFactor = 3;
/** A lost race counts as half a failure: the answer would have come. */
const beatenWeight = 0.5;

/** How soon an endpoint is ejected, and how long it stays so. */
export interface Ejection {
  readonly failuresInRow: number;
  readonly mostOpenMs: number;
}

export interface EndpointHealthOptions {
  readonly endpoint: Endpoint;
  readonly load: BackendLoad;
  /** That of the whole backend. */
  readonly backendLoad: BackendLoad;
  /** How it is ejected: asked each time, because endpoints come and go beside it. */
  readonly ejection: () => Ejection;
  readonly random: () => number;
  readonly elapsed: () => number;
}

export function createEndpointHealth(options: EndpointHealthOptions): EndpointHealth {
  const { backendLoad, ejection, random, elapsed } = options;
  let { endpoint, load } = options;
  const circuit = createCircuit({
    ...{ random, openMs: 1000, probeMs },
    failuresInRow: () => ejection().failuresInRow,
    mostOpenMs: () => ejection().mostOpenMs,
  });
  const cooling = createCooling();
  // A dozen attempts are the present: a route that begins to fail is noticed within as many.
  const success = createDecayedMean({ halfLifeMs: 30_000, mostWeight: 12 });
  const logTokenMs = createDecayedMean(present);
  const streams = createPace();
  const wholes = createPace();
  /**
   * Whether a caller has waited for nothing since the last output. A failure at once does not reset it: when a connection times
   * out, Envoy fails all requests that wait for it together, the last to come with the first.
   */
  let keepsWaiting = false;
  /** Time of the last output; undefined after a failure. */
  let answeredAt: number | undefined;
  const pace = (stream: boolean): Pace => (stream ? streams : wholes);

  const isServing = (now: number): boolean => !circuit.isEjected(now) && !cooling.isCool(now);
  const hasRoom = (): boolean => !isFull(load) && !isFull(backendLoad);
  const isOut = (now: number): boolean => circuit.state(now) === 'open' || cooling.isCool(now) || !hasRoom();

  function begin(now: number, attempt: EndpointAttempt): EndpointRecord | undefined {
    if (!hasRoom() || cooling.isCool(now)) return undefined;
    const ticket = circuit.begin(now) ?? (keepsWaiting ? undefined : circuit.force());
    return ticket === undefined ? undefined : record(now, { ...attempt, ticket });
  }

  function record(now: number, attempt: EndpointAttempt & { readonly ticket: CircuitTicket }): EndpointRecord {
    const { stream, ticket } = attempt;
    const counted = load;
    counted.inFlight += 1;
    backendLoad.inFlight += 1;
    const waited = pace(stream);
    waited.began(now);
    let outputAt: number | undefined;
    let over = false;

    function output(at: number): number {
      if (outputAt !== undefined) return outputAt;
      outputAt = at;
      answeredAt = at;
      keepsWaiting = false;
      if (circuit.alive(ticket)) {
        // The endpoint is back, and as good as new but for one assumed failure: its share grows with its successes.
        for (const memory of [success, streams, wholes, logTokenMs]) memory.restart();
        success.add(at, 0);
      }
      waited.over(at, { begunAt: now, end: 'output' });
      return at;
    }

    function failed(at: number, weight: number): void {
      answeredAt = undefined;
      keepsWaiting ||= outputAt === undefined && (weight < 1 || at - now > atOnceMs);
      success.add(at, 0, { weight });
      const trip = success.weight(at) >= enough && success.mean(at) < 0.5;
      circuit.failed(ticket, at, { trip });
    }

    function ended(end: AttemptEnd): void {
      if (over) return;
      over = true;
      counted.inFlight -= 1;
      backendLoad.inFlight -= 1;
      const at = elapsed();
      if (end.kind === 'complete') {
        const first = output(at);
        attempt.answered();
        success.add(at, 1);
        circuit.succeeded(ticket);
        cooling.served();
        const tokens = (end.tokens ?? 0) - 1;
        if (stream && tokens > 0 && at > first) logTokenMs.add(at, Math.log((at - first) / tokens));
        return;
      }
      if (outputAt === undefined) waited.over(at, { begunAt: now, end: end.kind === 'beaten' ? 'beaten' : 'left' });
      if (end.kind === 'beaten') {
        failed(at, beatenWeight);
        return;
      }
      const blamed = end.kind === 'aborted' ? 'nothing' : blame(at, end.fault);
      if (end.kind === 'failed' && blamed !== 'nothing') attempt.failed(end.fault);
      switch (blamed) {
        case 'nothing':
          circuit.released(ticket);
          break;
        case 'full':
          success.add(at, 0, { weight: beatenWeight });
          cooling.refused(at, {
            begunAt: now,
            retryAfterSeconds: end.kind === 'failed' ? end.fault.retryAfterSeconds : undefined,
          });
          circuit.released(ticket);
          break;
        case 'broken':
          failed(at, 1);
      }
    }

    /** A prompt on which an engine fails counts once, however often it is sent. */
    function blame(at: number, fault: Fault): ReturnType<typeof blameOf> {
      return isEngineFailure(fault) && attempt.isRepeated(at) ? 'nothing' : blameOf(fault);
    }

    return { output: () => void output(elapsed()), ended };
  }

  function isAnswering(now: number, { stream, waitedMs }: { readonly stream: boolean; readonly waitedMs: number }) {
    if (answeredAt === undefined || now - answeredAt > provesMs) return false;
    const least = leastUsualMs[stream ? 'stream' : 'whole'];
    return waitedMs <= Math.max(least, pace(stream).p95(now)?.ms ?? 0) * usualFactor;
  }

  function status(now: number, stream: boolean): EndpointStatus {
    return {
      state: stateAt(now),
      success: success.mean(now, prior),
      inFlight: load.inFlight,
      capacity: load.capacity,
      firstOutput: pace(stream).firstOutput(now),
      tokenMs: stream && logTokenMs.weight(now) > leastWeight ? Math.exp(logTokenMs.mean(now)) : undefined,
    };
  }

  function stateAt(now: number): EndpointStatus['state'] {
    if (isOut(now)) return !hasRoom() || cooling.isCool(now) || keepsWaiting ? 'unavailable' : 'last-resort';
    return circuit.state(now) === 'probe' ? 'probe' : 'available';
  }

  function alsoFailed(now: number, fault: Fault): void {
    const { retryAfterSeconds } = fault;
    if (blameOf(fault) === 'full') cooling.refused(now, { begunAt: now, retryAfterSeconds });
    else circuit.failed(circuit.unannounced(), now, { trip: false });
  }

  return {
    get endpoint() {
      return endpoint;
    },
    get load() {
      return load;
    },
    renew: (found) => {
      ({ endpoint, load } = found);
    },
    alsoFailed,
    passedOver: (now) => cooling.refused(now, { begunAt: now, retryAfterSeconds: passedOverMs / 1000 }),
    pace,
    begin,
    status,
    isAnswering,
    isOut,
    isServing,
    isEjected: circuit.isEjected,
    probing: circuit.probing,
  };
}
