import type { Endpoint } from '../../../core/endpoint.ts';
import { isProvider, type Route } from '../../../core/catalog.ts';
import { type Fault, isEngineFailure } from '../../../core/event.ts';
import type { AttemptEnd, AttemptRecord, FirstTokenAsk, FirstTokenWait } from '../../core/health.ts';
import type { EndpointPick, PoolPrompt } from '../../../core/pool-prompt.ts';
import { chooseEndpoint } from './choose-endpoint.ts';
import type { PoolCandidate } from '../pool/pool.ts';
import { blameOf, type EndpointAttempt, type EndpointRecord } from './endpoint-attempt.ts';
import { createEndpointHealth, type EndpointHealth, type Ejection } from './endpoint-health.ts';
import type { BackendLoads, BackendLoad } from './load.ts';
import { createLatencyHistogram, type LatencyHistogram, percentileHalfLifeMs } from './pace.ts';
import { type AttemptInPool, type ComparedPool, followInPool, type PoolView } from './pool-choice.ts';
import { createRouteRecorder, type RouteRecord } from './route-record.ts';
import type { RouteStatus, StatusAsk } from './route-status.ts';
import { createStructureHealth, type StructureHealth } from './structure-health.ts';

export interface RouteAttempt extends Omit<EndpointAttempt, 'isRepeated' | 'failed'> {
  /** Like `EndpointAttempt.isRepeated`, for the endpoint of this name. */
  readonly isRepeated: (now: number, endpoint: string) => boolean;
  readonly affinity: string | undefined;
  readonly poolPrompt: PoolPrompt | undefined;
  /** Names of endpoints that are not to be asked. */
  readonly avoid: ReadonlySet<string>;
  /** See `BeginOptions`. */
  readonly isLastResort: boolean;
  /** Called with the name of an endpoint that could not be reached. */
  readonly unreachable: (endpoint: string, fault: Fault) => void;
}

/** The health of a route: of each of its endpoints, and of all together. */
export interface RouteHealth {
  readonly structure: StructureHealth;
  /** Attempts under way on the backend, by all of its routes. */
  readonly load: BackendLoad;
  /** The present endpoints. */
  readonly endpoints: () => readonly EndpointHealth[];
  readonly named: (endpoint: string | undefined) => EndpointHealth | undefined;
  readonly begin: (now: number, options: RouteAttempt) => AttemptRecord | undefined;
  readonly status: (now: number, ask: StatusAsk) => RouteStatus;
  /** The pool of the backend, and its endpoints that a prompt may be sent to. */
  readonly poolNow: (now: number, stream: boolean) => ComparedPool;
  /** See `Health.firstTokenWait`. */
  readonly firstTokenWait: (now: number, ask: FirstTokenAsk) => FirstTokenWait | undefined;
  /** Whether no endpoint accepts an attempt. */
  readonly isOut: (now: number) => boolean;
  /** Whether the route has an endpoint that Envoy uses and that is neither ejected nor cooling off. The endpoint may be full. */
  readonly isServing: (now: number, isUsed: IsUsed) => boolean;
  readonly record: (now: number) => RouteRecord;
  /** How long first outputs take over all endpoints. */
  readonly firstOutputs: (stream: boolean) => LatencyHistogram;
}

/** Whether Envoy sends requests to an endpoint, by its name. */
export type IsUsed = (endpoint: string) => boolean;

export interface RouteHealthOptions {
  readonly loads: BackendLoads;
  /** The pool of the backend's endpoints. */
  readonly pool: PoolView;
  readonly endpoints: () => readonly Endpoint[];
  readonly random: () => number;
  readonly elapsed: () => number;
}

/** With other endpoints beside it, an endpoint is ejected sooner and probed more often, because a probe keeps no caller waiting. */
const ejection: Readonly<Record<'alone' | 'amongOthers', Ejection>> = {
  alone: { failuresInRow: 5, mostOpenMs: 30_000 },
  amongOthers: { failuresInRow: 3, mostOpenMs: 5000 },
};

/**
 * How long the health of a removed endpoint is kept. The readiness of a pod may flap, and its failures must not be forgotten each
 * time. The same as the longest ejection of an endpoint.
 */
const rememberedMs = 30_000;

export function createRouteHealth(route: Route, options: RouteHealthOptions): RouteHealth {
  const { loads, pool, random, elapsed } = options;
  const load = loads.whole;
  const structure = createStructureHealth(random);
  const streams = createLatencyHistogram({ halfLifeMs: percentileHalfLifeMs });
  const wholes = createLatencyHistogram({ halfLifeMs: percentileHalfLifeMs });
  const recorder = createRouteRecorder();
  let names: readonly Endpoint[] = [];
  let known: readonly EndpointHealth[] = [];
  /** Endpoints that were removed lately, each with the time at which its removal was noticed. */
  const gone = new Map<string, { readonly health: EndpointHealth; readonly at: number }>();

  function newHealth(endpoint: Endpoint): EndpointHealth {
    return createEndpointHealth({
      endpoint,
      load: loads.of(endpoint),
      backendLoad: load,
      ejection: () => (known.length > 1 ? ejection.amongOthers : ejection.alone),
      random,
      elapsed,
    });
  }

  function endpoints(): readonly EndpointHealth[] {
    const now = options.endpoints();
    if (now === names) return known;
    const at = elapsed();
    for (const [name, { at: missedAt }] of gone) if (at - missedAt >= rememberedMs) gone.delete(name);
    for (const health of known) gone.set(health.endpoint.name, { health, at });
    names = now;
    loads.retain(now);
    known = now.map((endpoint) => {
      const { health } = gone.get(endpoint.name) ?? {};
      gone.delete(endpoint.name);
      health?.renew({ endpoint, load: loads.of(endpoint) });
      return health ?? newHealth(endpoint);
    });
    pool.pool.retain(new Set([...now.map(({ name }) => name), ...gone.keys()]));
    return known;
  }

  const named = (name: string | undefined): EndpointHealth | undefined =>
    endpoints().find(({ endpoint }) => endpoint.name === name);

  function begin(now: number, attempt: RouteAttempt): AttemptRecord | undefined {
    const all = endpoints();
    const { stream, affinity, poolPrompt, avoid, isLastResort } = attempt;
    const ask = poolPrompt && { ...pool, prompt: poolPrompt };
    const left = avoid.size === 0 ? all : all.filter(({ endpoint }) => !avoid.has(endpoint.name));
    const [only] = left;
    const chosen =
      left.length > 1
        ? chooseEndpoint(left, {
            now,
            stream,
            affinity,
            pool: ask,
            mayProbe: avoid.size === 0,
            turn: random(),
            isLastResort,
          })
        : only && { health: only, picked: undefined };
    if (chosen === undefined) return undefined;
    const { health, picked } = chosen;
    const record = health.begin(now, attemptOn(health, attempt));
    if (record === undefined) return undefined;
    const inPool = followInPool(ask, { name: health.endpoint.name, stream, elapsed });
    return followAttempt({ now, chosen: health, picked, record, inPool, attempt });
  }

  const attemptOn = (health: EndpointHealth, attempt: RouteAttempt): EndpointAttempt => ({
    stream: attempt.stream,
    isLastResort: attempt.isLastResort,
    answered: attempt.answered,
    isRepeated: (at) => attempt.isRepeated(at, health.endpoint.name),
    failed: (fault) => {
      if (fault.kind === 'connect' && known.length > 1) attempt.unreachable(health.endpoint.name, fault);
      if (!isOfBackend(fault, route)) return;
      for (const other of known) if (other !== health) other.alsoFailed(elapsed(), fault);
    },
  });

  /** Follows an attempt on the chosen endpoint, or on another one that Envoy has chosen instead. */
  function followAttempt(begun: {
    readonly now: number;
    readonly chosen: EndpointHealth;
    readonly picked: EndpointPick | undefined;
    readonly record: EndpointRecord;
    readonly inPool: AttemptInPool;
    readonly attempt: RouteAttempt;
  }): AttemptRecord {
    const { now, chosen, picked, inPool, attempt } = begun;
    let { record } = begun;
    let hasOutput = false;
    return {
      endpoint: chosen.endpoint,
      picked,
      output: () => {
        if (!hasOutput) (attempt.stream ? streams : wholes).add(elapsed(), elapsed() - now);
        hasOutput = true;
        record.output();
        inPool.output();
      },
      ended: (end) => {
        recordEnd(end);
        record.ended(end);
        inPool.ended(end);
      },
      movedTo: (name) => {
        record.ended({ kind: 'aborted' });
        chosen.passedOver(elapsed());
        inPool.movedTo(name);
        const other = named(name);
        record = other?.begin(elapsed(), attemptOn(other, attempt)) ?? unrecorded;
      },
    };
  }

  function recordEnd(end: AttemptEnd): void {
    if (end.kind === 'complete') recorder.answered(elapsed());
    else if (end.kind === 'failed' && blameOf(end.fault) === 'broken') recorder.failed(elapsed(), end.fault);
  }

  function status(now: number, { stream, capabilities }: StatusAsk): RouteStatus {
    const statuses = endpoints().map((health) => health.status(now, stream));
    const states = new Set(statuses.map(({ state }) => state));
    const working = statuses.filter(({ state }) => state === 'available' || state === 'probe');
    return {
      ...pooled(working.length > 0 ? working : statuses),
      state: stateOf(now, { states, capabilities }),
      validity: structure.validity(now, capabilities),
      inFlight: load.inFlight,
      capacity: load.capacity,
    };
  }

  function stateOf(
    now: number,
    {
      states,
      capabilities,
    }: { readonly states: ReadonlySet<string>; readonly capabilities: StatusAsk['capabilities'] },
  ): RouteStatus['state'] {
    const isAvailable = states.has('available');
    if (!isAvailable && !states.has('probe')) return states.has('last-resort') ? 'last-resort' : 'unavailable';
    const structureState = structure.state(now, capabilities);
    if (structureState === 'open') return 'invalid-structure';
    if (!isAvailable) return 'probe';
    return structureState === 'probe' ? 'structure-probe' : 'available';
  }

  const healthyAt = (now: number, stream: boolean): readonly PoolCandidate[] =>
    endpoints().flatMap((health) => {
      const { state, success } = health.status(now, stream);
      return state === 'available' ? [{ name: health.endpoint.name, success }] : [];
    });

  return {
    structure,
    load,
    endpoints,
    named,
    begin,
    status,
    record: recorder.record,
    poolNow: (now, stream) => ({ ...pool, among: healthyAt(now, stream) }),
    firstTokenWait: (now, { stream, poolPrompt }) =>
      pool.pool.firstTokenWait(now, { prompt: poolPrompt, among: healthyAt(now, stream) }),
    isOut: (now) => endpoints().every((health) => health.isOut(now)),
    isServing: (now, isUsed) => endpoints().some((health) => health.isServing(now) && isUsed(health.endpoint.name)),
    firstOutputs: (stream) => (stream ? streams : wholes),
  };
}

const unrecorded: EndpointRecord = { output: () => undefined, ended: () => undefined };

type Pooled = Pick<RouteStatus, 'success' | 'firstOutput' | 'tokenMs'>;

/** Means over several endpoints. Times with more samples count for more. */
function pooled(statuses: readonly Pooled[]): Pooled {
  const [only] = statuses;
  if (only !== undefined && statuses.length === 1) return only;
  const success = statuses.reduce((sum, one) => sum + one.success, 0) / Math.max(1, statuses.length);
  const paces = statuses.flatMap(({ firstOutput }) => firstOutput ?? []);
  const weight = paces.reduce((sum, pace) => sum + pace.weight, 0);
  const tokens = statuses.flatMap(({ tokenMs }) => tokenMs ?? []);
  return {
    success: statuses.length === 0 ? 1 : success,
    firstOutput:
      weight === 0
        ? undefined
        : {
            ms: paces.reduce((sum, pace) => sum + pace.ms * pace.weight, 0) / weight,
            weight,
            isBound: paces.every(({ isBound }) => isBound),
          },
    tokenMs: tokens.length === 0 ? undefined : tokens.reduce((sum, ms) => sum + ms, 0) / tokens.length,
  };
}

/** Whether a fault of one endpoint holds for all endpoints of its backend. */
function isOfBackend(fault: Fault, { backend }: Pick<Route, 'backend'>): boolean {
  if (fault.engineError === 'account') return true;
  return isProvider(backend) && (fault.engineError === 'rate-limit' || fault.status === 429 || isEngineFailure(fault));
}
