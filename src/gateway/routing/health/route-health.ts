import { isProvider, type Route } from '../../../core/catalog.ts';
import { type Fault, isEngineFailure } from '../../../core/event.ts';
import type { AttemptEnd, AttemptRecord, FirstTokenAsk, FirstTokenWait } from '../../core/health.ts';
import type { EndpointPick, PoolPrompt } from '../../../core/pool-prompt.ts';
import { chooseEndpoint } from './choose-endpoint.ts';
import type { PoolCandidate } from '../pool/pool-state.ts';
import { blameOf, type EndpointAttempt, type EndpointRecord } from './endpoint-attempt.ts';
import type { EndpointHealth } from './endpoint-health.ts';
import { createKnownEndpoints, type KnownEndpoints, type KnownEndpointsOptions } from './known-endpoints.ts';
import type { BackendLoad } from './load.ts';
import { createLatencyHistogram, type LatencyHistogram, percentileHalfLifeMs } from './pace.ts';
import { type AttemptInPool, type ComparedPool, followInPool } from './pool-choice.ts';
import { createRouteRecorder, type RouteRecorder, type RulesOut } from './route-record.ts';
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

export type RouteHealth = ReturnType<typeof createRouteHealth>;

/** Whether Envoy sends requests to an endpoint, by its name. */
export type IsUsed = (endpoint: string) => boolean;

interface RouteState extends Pick<KnownEndpointsOptions, 'pool' | 'random' | 'elapsed' | 'admitted'> {
  readonly route: Route;
  readonly structure: StructureHealth;
  /** Attempts under way on the backend, by all of its routes. */
  readonly load: BackendLoad;
  readonly endpoints: KnownEndpoints;
  readonly recorder: RouteRecorder;
  /** Times to the first output. */
  readonly streams: LatencyHistogram;
  readonly wholes: LatencyHistogram;
}

/** The health of a route: of each of its endpoints, and of all together. */
export function createRouteHealth(route: Route, options: KnownEndpointsOptions) {
  const { loads, pool, random, elapsed, admitted } = options;
  const endpoints = createKnownEndpoints(options);
  const state: RouteState = {
    route,
    load: loads.whole,
    pool,
    random,
    elapsed,
    admitted,
    endpoints,
    structure: createStructureHealth(random),
    recorder: createRouteRecorder(),
    streams: createLatencyHistogram({ halfLifeMs: percentileHalfLifeMs }),
    wholes: createLatencyHistogram({ halfLifeMs: percentileHalfLifeMs }),
  };
  const healthyAt = (now: number, stream: boolean): readonly PoolCandidate[] =>
    endpoints.now().flatMap((health) => {
      const { state: found, success } = health.status(now, stream);
      return found === 'available' ? [{ name: health.endpoint.name, success }] : [];
    });
  return {
    structure: state.structure,
    load: state.load,
    endpoints: endpoints.now,
    named: (name: string | undefined): EndpointHealth | undefined => namedIn(endpoints.now(), name),
    begin: (now: number, attempt: RouteAttempt): AttemptRecord | undefined => beginOn(state, now, attempt),
    status: (now: number, ask: StatusAsk): RouteStatus => statusOf(state, now, ask),
    record: state.recorder.record,
    /** Call it when an endpoint has answered a question for its models. Faults that this rules out are over. */
    recovered: (now: number, endpoint: string, rulesOut: RulesOut): void => {
      state.recorder.recovered(rulesOut);
      namedIn(endpoints.now(), endpoint)?.recovered(now, rulesOut);
    },
    /** The pool of the backend, and its endpoints that a prompt may be sent to. */
    poolNow: (now: number, stream: boolean): ComparedPool => ({ ...pool, among: healthyAt(now, stream) }),
    /** See `Health.firstTokenWait`. */
    firstTokenWait: (now: number, { stream, poolPrompt }: FirstTokenAsk): FirstTokenWait | undefined =>
      pool.pool.firstTokenWait(now, { prompt: poolPrompt, among: healthyAt(now, stream) }),
    /** Whether the route has an endpoint that Envoy uses and that is neither ejected nor cooling off. The endpoint may be full. */
    isServing: (now: number, isUsed: IsUsed): boolean =>
      endpoints.now().some((health) => health.isServing(now) && isUsed(health.endpoint.name)),
    /** How long first outputs take over all endpoints. */
    firstOutputs: (stream: boolean): LatencyHistogram => (stream ? state.streams : state.wholes),
  };
}

const namedIn = (endpoints: readonly EndpointHealth[], name: string | undefined): EndpointHealth | undefined =>
  endpoints.find(({ endpoint }) => endpoint.name === name);

function beginOn(state: RouteState, now: number, attempt: RouteAttempt): AttemptRecord | undefined {
  const all = state.endpoints.now();
  const { stream, affinity, poolPrompt, avoid, isLastResort } = attempt;
  const ask = poolPrompt && { ...state.pool, prompt: poolPrompt };
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
          turn: state.random(),
          isLastResort,
        })
      : only && { health: only, picked: undefined };
  if (chosen === undefined) return undefined;
  const { health, picked } = chosen;
  const record = health.begin(now, attemptOn(state, health, attempt));
  if (record === undefined) return undefined;
  const isProbe = health.probing(now);
  const inPool = ask && followInPool(ask, { name: health.endpoint.name, stream, isProbe, elapsed: state.elapsed });
  return followAttempt(state, { now, chosen: health, picked, record, inPool, attempt });
}

function attemptOn(
  { route, endpoints, elapsed }: RouteState,
  health: EndpointHealth,
  attempt: RouteAttempt,
): EndpointAttempt {
  const { name } = health.endpoint;
  return {
    stream: attempt.stream,
    isLastResort: attempt.isLastResort,
    answered: attempt.answered,
    isRepeated: (at) => attempt.isRepeated(at, name),
    failed: (fault) => {
      const known = endpoints.last();
      if (fault.kind === 'connect' && known.length > 1) attempt.unreachable(name, fault);
      if (!isOfBackend(fault, route)) return;
      for (const other of known) if (other !== health) other.alsoFailed(elapsed(), fault);
    },
  };
}

/** Follows an attempt on the chosen endpoint, or on another one that Envoy has chosen instead. */
function followAttempt(
  state: RouteState,
  begun: {
    readonly now: number;
    readonly chosen: EndpointHealth;
    readonly picked: EndpointPick | undefined;
    readonly record: EndpointRecord;
    readonly inPool: AttemptInPool | undefined;
    readonly attempt: RouteAttempt;
  },
): AttemptRecord {
  const { endpoints, recorder, elapsed } = state;
  const { now, chosen, picked, inPool, attempt } = begun;
  let { record } = begun;
  let hasOutput = false;
  return {
    endpoint: chosen.endpoint,
    picked,
    output: () => {
      if (!hasOutput) (attempt.stream ? state.streams : state.wholes).add(elapsed(), elapsed() - now);
      hasOutput = true;
      record.output();
      inPool?.output();
    },
    ended: (end) => {
      recordEnd(recorder, elapsed(), end);
      record.ended(end);
      inPool?.ended(end);
    },
    movedTo: (name) => {
      record.ended({ kind: 'aborted' });
      chosen.passedOver(elapsed());
      inPool?.movedTo(name);
      const other = namedIn(endpoints.now(), name);
      record = other?.begin(elapsed(), attemptOn(state, other, attempt)) ?? unrecorded;
      return state.admitted?.()?.(name) === false ? 'refused' : undefined;
    },
  };
}

function statusOf(
  { endpoints, structure, load, admitted }: RouteState,
  now: number,
  { stream, capabilities }: StatusAsk,
): RouteStatus {
  const statuses = endpoints.now().map((health) => health.status(now, stream));
  const states = new Set(statuses.map(({ state }) => state));
  const working = statuses.filter(({ state }) => state === 'available' || state === 'probe');
  return {
    ...pooled(working.length > 0 ? working : statuses),
    state: stateOf(states, () => structure.state(now, capabilities)),
    hasOtherVectors: (statuses.length === 0 && admitted?.() && endpoints.last().length > 0) || undefined,
    validity: structure.validity(now, capabilities),
    inFlight: load.inFlight,
    capacity: load.capacity,
  };
}

function stateOf(
  states: ReadonlySet<string>,
  structureState: () => ReturnType<StructureHealth['state']>,
): RouteStatus['state'] {
  const isAvailable = states.has('available');
  if (!isAvailable && !states.has('probe')) return states.has('last-resort') ? 'last-resort' : 'unavailable';
  const structure = structureState();
  if (structure === 'open') return 'invalid-structure';
  if (!isAvailable) return 'probe';
  return structure === 'probe' ? 'structure-probe' : 'available';
}

function recordEnd(recorder: RouteRecorder, now: number, end: AttemptEnd): void {
  if (end.kind === 'complete') recorder.answered(now);
  else if (end.kind !== 'failed' || blameOf(end.fault) === 'nothing') recorder.tried(now);
  else if (blameOf(end.fault) === 'full') recorder.refused(now, end.fault);
  else recorder.failed(now, end.fault);
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
