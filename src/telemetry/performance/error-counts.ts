import type { Outcome } from '../../core/account.ts';
import type { Cause } from '../../core/cause.ts';
import type { Route, Snapshot } from '../../core/catalog.ts';
import type { Clock } from '../../core/clock.ts';
import { type Fault, isOfTheRequest } from '../../core/event.ts';
import { causeOf, withSteadySentence } from '../../core/fault-cause.ts';
import type { AttemptEnd } from '../../gateway/core/health.ts';
import { createSliceRing, type SliceRing } from './slice-ring.ts';

interface Count {
  readonly failed: number;
  readonly total: number;
}

/** How many of the last requests or attempts failed. */
export interface ErrorCount extends Count {
  readonly windowMs: number;
  /** Failures in the last one to two minutes alone. */
  readonly lately: Count;
  /** Failures since the last success, however long ago. */
  readonly inARow: number;
  /** Completed answers of a backend since the last one whose tokens were counted, and not estimated. */
  readonly estimated: number;
  /** The newest failure of an attempt. Undefined for a model, and without a failure. */
  readonly lastFault: LastFault | undefined;
}

/**
 * Counts failures over a quarter of an hour: of the requests to each model, as callers saw them, and of the attempts on
 * each backend, which callers may never notice. Faults of the request itself do not count.
 */
export type ErrorCounts = ReturnType<typeof createErrorCounts>;

const sliceMs = 60_000;
const windowSlices = 15;
const latelySlices = 2;

interface Slice {
  failed: number;
  total: number;
}

/** How one request or attempt ended. */
interface Result {
  readonly isServed: boolean;
  readonly fault?: Fault;
}

/** The newest failure: its cause and, if an engine answered, the status and what the engine said (`Fault.said`). */
export interface LastFault extends Pick<Fault, 'said'> {
  readonly cause: Cause;
  readonly status: number | undefined;
}

interface Rings {
  readonly whole: SliceRing<Slice>;
  readonly lately: SliceRing<Slice>;
  inARow: number;
  estimated: number;
  lastFault: Fault | undefined;
}

/** So many failures in a row are an outage, which a success ends. If nothing else was requested, fewer are enough. */
const ofAnOutage = 5;
const ofAnOutageAlone = 3;

export function createErrorCounts(clock: Pick<Clock, 'elapsed'>) {
  const models = new Map<string, Rings>();
  const backends = new Map<string, Rings>();

  function add(to: Map<string, Rings>, name: string, { isServed, fault }: Result): void {
    let rings = to.get(name) ?? newRings();
    if (isServed && isOutage(rings)) rings = newRings();
    rings.inARow = isServed ? 0 : rings.inARow + 1;
    to.set(name, rings);
    for (const ring of [rings.whole, rings.lately]) {
      const slice = ring.at(clock.elapsed());
      slice.total += 1;
      if (!isServed) slice.failed += 1;
    }
    if (fault !== undefined) rings.lastFault = withSteadySentence(fault, rings.lastFault);
  }

  const isOutage = ({ inARow, whole }: Rings): boolean =>
    inARow >= ofAnOutage || (inARow >= ofAnOutageAlone && inARow >= sumOf(whole.live(clock.elapsed())).total);

  function* countsIn(from: ReadonlyMap<string, Rings>): Generator<readonly [string, ErrorCount]> {
    for (const [name, { whole, lately, inARow, estimated, lastFault: fault }] of from) {
      const windowMs = sliceMs * windowSlices;
      const lastFault = fault && { cause: causeOf(fault), status: fault.status, said: fault.said };
      const counts = { ...sumOf(whole.live(clock.elapsed())), lately: sumOf(lately.live(clock.elapsed())) };
      yield [name, { windowMs, ...counts, inARow, estimated, lastFault }];
    }
  }

  return {
    /** A request that was dispatched has ended. */
    outcome: (outcome: Outcome): void => {
      const isServed = servedOf(outcome);
      if (isServed !== undefined) add(models, outcome.modelId, { isServed });
      const { kind, modelId, routeId = '', countedBy } = outcome;
      // The attempt has been counted before its request is settled.
      const rings = kind === 'completed' ? backends.get(routeId.slice(modelId.length + 1)) : undefined;
      if (rings !== undefined) rings.estimated = countedBy === 'estimate' ? rings.estimated + 1 : 0;
    },
    /** A request was refused because its model had no capacity. */
    unavailable: (modelId: string): void => add(models, modelId, { isServed: false }),
    attempt: (backend: string, end: AttemptEnd): void => {
      if (end.kind === 'complete') add(backends, backend, { isServed: true });
      if (end.kind === 'failed' && !isOfTheRequest(end.fault)) {
        add(backends, backend, { isServed: false, fault: end.fault });
      }
    },
    /** The backend of these routes failed, and is repaired. Failures of it and of their models without a success since are over. */
    recovered: (routes: readonly Pick<Route, 'id' | 'backend'>[]): void => {
      for (const { id, backend } of routes) {
        const model = id.slice(0, -backend.name.length - 1);
        if ((models.get(model)?.inARow ?? 0) > 0) models.delete(model);
        if ((backends.get(backend.name)?.inARow ?? 0) > 0) backends.delete(backend.name);
      }
    },
    /** Forgets models and backends that are no longer in the catalog. */
    retain: ({ models: known, clusters }: Pick<Snapshot, 'models' | 'clusters'>): void => {
      const named = new Set(clusters.map(({ backend }) => backend));
      for (const id of models.keys()) if (!known.has(id)) models.delete(id);
      for (const name of backends.keys()) if (!named.has(name)) backends.delete(name);
    },
    /** Each count is added up when it is read. */
    ofModels: (): Iterable<readonly [id: string, ErrorCount]> => countsIn(models),
    ofBackends: (): Iterable<readonly [name: string, ErrorCount]> => countsIn(backends),
  };
}

function newRings(): Rings {
  const ring = (count: number) =>
    createSliceRing<Slice>({ count, widthMs: sliceMs, empty: () => ({ failed: 0, total: 0 }) });
  return { whole: ring(windowSlices), lately: ring(latelySlices), inARow: 0, estimated: 0, lastFault: undefined };
}

function sumOf(slices: readonly Slice[]): Count {
  const sum = { failed: 0, total: 0 };
  for (const { failed, total } of slices) {
    sum.failed += failed;
    sum.total += total;
  }
  return sum;
}

/**
 * Whether a request was served; undefined if its end says nothing about the model, or the request itself may be at
 * fault.
 */
function servedOf({ kind, firstTokenMs, refusedFor }: Outcome): boolean | undefined {
  switch (kind) {
    case 'completed':
      return true;
    case 'cancelled':
      return firstTokenMs === undefined ? undefined : true;
    case 'service-lost':
      return undefined;
    case 'interrupted':
      return false;
    case 'failed':
    case 'incomplete':
      return refusedFor !== undefined && ofTheCaller.has(refusedFor) ? undefined : false;
  }
}

/** Reasons that are, or may be, the request's own fault. */
const ofTheCaller: ReadonlySet<NonNullable<Outcome['refusedFor']>> = new Set([
  ...(['bad-request', 'context-length', 'content-policy', 'structure', 'disputed'] as const),
]);
