import type { Endpoint } from '../../../core/endpoint.ts';
import type { Fault } from '../../../core/event.ts';
import { createCircuit } from './circuit.ts';
import { createCooling } from './cooling.ts';
import { createDecayedMean } from '../../core/decayed-mean.ts';
import {
  beginAgain,
  blameOf,
  type EndpointAttempt,
  type EndpointMemory,
  type EndpointRecord,
  paceOf,
  recordAttempt,
} from './endpoint-attempt.ts';
import { isFull, type BackendLoad } from './load.ts';
import { createPace, minWeight, type Pace, present } from './pace.ts';
import type { RulesOut } from './route-record.ts';
import type { RouteStatus } from './route-status.ts';

export type EndpointHealth = ReturnType<typeof createEndpointHealth>;

/** The status of one endpoint. The validity of structures is counted for the whole route. */
export type EndpointStatus = Omit<RouteStatus, 'validity' | 'state'> & {
  readonly state: 'available' | 'probe' | 'last-resort' | 'unavailable';
};

export interface LastResort {
  /** How much longer the endpoint cools off, ms. */
  readonly coolMs: number;
  /** It is ejected because it kept callers waiting, and may do so again. */
  readonly keepsWaiting: boolean;
}

/** How soon an endpoint is ejected, and for how long. */
export interface Ejection {
  readonly failuresInRow: number;
  readonly maxOpenMs: number;
}

export interface EndpointHealthOptions {
  readonly endpoint: Endpoint;
  readonly load: BackendLoad;
  /** Attempts under way on the whole backend. */
  readonly backendLoad: BackendLoad;
  /** Returns how the endpoint is ejected. Called each time, because this depends on the other endpoints, which come and go. */
  readonly ejection: () => Ejection;
  readonly random: () => number;
  readonly elapsed: () => number;
}

/** The time is short, because a new pod should be used soon, and an early request loses little: Envoy sends it elsewhere by itself. */
const passedOverMs = 250;

/** Successful attempts that are assumed before any has been made. */
const prior = { value: 1, weight: 2 };
/** After so long without output of a probe, milliseconds, another request may probe, too. The first probe may be lost. */
const probeMs = 10_000;
/** How long an answer counts as proof that an engine works, milliseconds. */
const provesMs = 600_000;
/** The least that counts as the usual wait, milliseconds, and the multiple of the usual wait that is still normal. */
const minUsualMs = { stream: 1000, whole: 5000 } as const;
const usualFactor = 3;

function createMemory({ endpoint, load, backendLoad, ejection, random }: EndpointHealthOptions): EndpointMemory {
  return {
    endpoint,
    load,
    backendLoad,
    keepsWaiting: false,
    answeredAt: undefined,
    fault: undefined,
    circuit: createCircuit({
      random,
      openMs: 1000,
      probeMs,
      failuresInRow: () => ejection().failuresInRow,
      maxOpenMs: () => ejection().maxOpenMs,
    }),
    cooling: createCooling(),
    // About the last dozen attempts count, so that a route that begins to fail is noticed within a dozen attempts.
    success: createDecayedMean({ halfLifeMs: 30_000, maxWeight: 12 }),
    logTokenMs: createDecayedMean(present),
    streams: createPace(),
    wholes: createPace(),
  };
}

/** The health of one endpoint, from the attempts of one route. Each endpoint is ejected and probed independently of the others. */
export function createEndpointHealth(options: EndpointHealthOptions) {
  const memory = createMemory(options);
  const { circuit, cooling } = memory;
  return {
    get endpoint() {
      return memory.endpoint;
    },
    /** Attempts under way on the endpoint, by all routes. */
    get load() {
      return memory.load;
    },
    /**
     * Call it when the endpoint was found again. Its Host header or zone may have changed, and new attempts may be counted elsewhere.
     * Attempts under way stay where they are counted.
     */
    renew: ({ endpoint, load }: Pick<EndpointHealthOptions, 'endpoint' | 'load'>): void => {
      memory.endpoint = endpoint;
      memory.load = load;
    },
    /** Call it with a fault of another endpoint that is also a fault of this one. */
    alsoFailed: (now: number, fault: Fault): void => {
      const { retryAfterSeconds } = fault;
      if (blameOf(fault) === 'full') cooling.refused(now, { begunAt: now, retryAfterSeconds });
      else if (circuit.failed(circuit.unannounced(), now, { trip: false })) memory.fault = fault;
    },
    /** Takes the endpoint back, on trial, if the fault for which it was ejected is over. */
    recovered: (now: number, rulesOut: RulesOut): void => {
      if (memory.fault !== undefined && rulesOut(memory.fault) && circuit.alive(circuit.force()))
        beginAgain(memory, now);
    },
    /**
     * Call it when Envoy has chosen another endpoint, because this one is gone, unhealthy, or new and not checked yet. Keeps attempts
     * away for a quarter of a second.
     */
    passedOver: (now: number): void => cooling.refused(now, { begunAt: now, retryAfterSeconds: passedOverMs / 1000 }),
    pace: (stream: boolean): Pace => paceOf(memory, stream),
    /** Begins an attempt. Undefined: the endpoint accepts no attempt now. */
    begin: (now: number, attempt: EndpointAttempt): EndpointRecord | undefined => {
      if (!hasRoom(memory) || (isCool(memory, now) && !attempt.isLastResort)) return undefined;
      const mayForce = !memory.keepsWaiting || attempt.isLastResort === true;
      const ticket = circuit.begin(now) ?? (mayForce ? circuit.force() : undefined);
      return ticket === undefined
        ? undefined
        : recordAttempt(memory, { ...attempt, now, ticket, elapsed: options.elapsed });
    },
    status: (now: number, stream: boolean): EndpointStatus => statusOf(memory, { now, stream }),
    /** See `Health.isAnswering`. */
    isAnswering: (now: number, wait: { readonly stream: boolean; readonly waitedMs: number }): boolean =>
      isAnswering(memory, { now, ...wait }),
    /** Whether the endpoint accepts no attempt at all. */
    isOut: (now: number): boolean => isOut(memory, now),
    /** What speaks against an attempt as a last resort. Undefined: the endpoint has no room for it. */
    lastResort: (now: number): LastResort | undefined =>
      hasRoom(memory)
        ? { coolMs: cooling.leftMs(now), keepsWaiting: circuit.isEjected(now) && memory.keepsWaiting }
        : undefined,
    /** Whether the endpoint is neither ejected nor cooling off. It may be full. */
    isServing: (now: number): boolean => !circuit.isEjected(now) && !isCool(memory, now),
    /** Whether the endpoint is ejected, and no probe is under way. */
    isEjected: circuit.isEjected,
    /** Whether it is ejected because other endpoints answered first. No attempt needs to have failed. */
    isSlow: (now: number): boolean => circuit.isEjected(now) && memory.fault === undefined,
    probing: circuit.probing,
  };
}

function hasRoom({ load, backendLoad }: EndpointMemory): boolean {
  return !isFull(load) && !isFull(backendLoad);
}

const isCool = ({ cooling }: EndpointMemory, now: number): boolean => cooling.leftMs(now) > 0;

function isOut(memory: EndpointMemory, now: number): boolean {
  return memory.circuit.state(now) === 'open' || isCool(memory, now) || !hasRoom(memory);
}

function stateAt(memory: EndpointMemory, now: number): EndpointStatus['state'] {
  if (isOut(memory, now)) {
    const isWorthless = !hasRoom(memory) || isCool(memory, now) || memory.keepsWaiting;
    return isWorthless ? 'unavailable' : 'last-resort';
  }
  return memory.circuit.state(now) === 'probe' ? 'probe' : 'available';
}

function statusOf(
  memory: EndpointMemory,
  { now, stream }: { readonly now: number; readonly stream: boolean },
): EndpointStatus {
  const { success, load, logTokenMs } = memory;
  return {
    state: stateAt(memory, now),
    success: success.mean(now, prior),
    inFlight: load.inFlight,
    capacity: load.capacity,
    firstOutput: paceOf(memory, stream).firstOutput(now),
    tokenMs: stream && logTokenMs.weight(now) > minWeight ? Math.exp(logTokenMs.mean(now)) : undefined,
  };
}

function isAnswering(
  memory: EndpointMemory,
  { now, stream, waitedMs }: { readonly now: number; readonly stream: boolean; readonly waitedMs: number },
): boolean {
  const { answeredAt } = memory;
  if (answeredAt === undefined || now - answeredAt > provesMs) return false;
  const least = minUsualMs[stream ? 'stream' : 'whole'];
  return waitedMs <= Math.max(least, paceOf(memory, stream).p95(now)?.ms ?? 0) * usualFactor;
}
