/** Observes the catalog of this replica: its Envoy, its routes and its list of models. */
import { hostname } from 'node:os';
import type { Model, Route, Snapshot } from '../../core/catalog.ts';
import type { InSlices } from '../../core/clock.ts';
import type { Cause } from '../../core/cause.ts';
import { causeOf } from '../../core/fault-cause.ts';
import {
  clusterMark,
  type FailingBackend,
  type ObservedBackend,
  type ObservedCatalog,
  failuresInARow,
} from '../../core/observed-catalog.ts';
import type { EnvoyClusters } from '../envoy/runtime/cluster-publisher.ts';
import { createSlices } from '../../process/turns.ts';
import type { RouteRecord } from '../../gateway/routing/health/route-record.ts';
import type { Settings } from '../../process/settings/settings.ts';
import { type EndpointFacts, envoyEndpoints, observeEndpoints, unreachableBy } from './observe-endpoints.ts';
import { type Probe, type Probes, ruledOut } from './probe-backends.ts';

/** The service's own facts about its catalog, in addition to Envoy's reports. */
export interface CatalogFacts extends EndpointFacts {
  /** Name of this replica. */
  readonly name: string;
  readonly snapshot: () => Snapshot;
  /** Names of clusters that Envoy refused, with its reason. */
  readonly refused: () => ReadonlyMap<string, string>;
  readonly isServing: (route: Route) => boolean;
  readonly isListed: (model: Model) => boolean;
  readonly record: (route: Route) => RouteRecord;
  /** The newest answer of a cluster's Backend to the question for its models. */
  readonly probeOf: Probes['of'];
}

/**
 * Observes the catalog at one moment. `envoy`: undefined while Envoy does not answer. Works in slices, because the process that serves
 * requests does this every few seconds.
 */
export async function observeCatalog(facts: CatalogFacts, envoy: EnvoyClusters | undefined): Promise<ObservedCatalog> {
  const inSlices = createSlices();
  const snapshot = facts.snapshot();
  const models = [...snapshot.models.values()];
  const out = await inSlices(models, ({ routes }) =>
    routes.filter((route) => !facts.isServing(route)).map(({ id }) => id),
  );
  const unlisted = await inSlices(models, (model) => (facts.isListed(model) ? [] : [model.id]));
  return {
    name: facts.name,
    hasEnvoy: envoy !== undefined,
    clusters: new Set(
      snapshot.clusters.filter(({ name }) => envoy?.active.has(name)).map(({ name }) => clusterMark(name)),
    ),
    backends: await observeBackends(snapshot, { facts, envoy, inSlices }),
    out: new Set(out.flat()),
    unlisted: new Set(unlisted.flat()),
  };
}

async function observeBackends(
  snapshot: Snapshot,
  {
    facts,
    envoy,
    inSlices,
  }: { readonly facts: CatalogFacts; readonly envoy: EnvoyClusters | undefined; readonly inSlices: InSlices },
): Promise<ReadonlyMap<string, ObservedBackend>> {
  const endpoints = await observeEndpoints(snapshot, envoy, { ...facts, inSlices });
  const refused = facts.refused();
  const routes = Map.groupBy(
    [...snapshot.models.values()].flatMap((model) => model.routes),
    ({ backend }) => backend.name,
  );
  const observed = await inSlices(snapshot.clusters, (cluster): readonly [string, ObservedBackend] => {
    const { name, backend } = cluster;
    const counts = envoy && envoyEndpoints(envoy, cluster);
    return [
      backend,
      {
        refused: envoy?.active.has(name) === true ? undefined : refused.get(name),
        unreachable: counts && unreachableBy(counts),
        failing: failingBackend((routes.get(backend) ?? []).map(facts.record), facts.probeOf(name)),
        endpoints: endpoints.get(backend),
      },
    ];
  });
  return new Map(observed);
}

/** A backend fails while the last request of some route to it failed, or else while it fails when it is asked for its models. */
function failingBackend(records: readonly RouteRecord[], probe: Probe | undefined): FailingBackend | undefined {
  const [worst] = records
    .flatMap(({ failing }) => failing ?? [])
    .filter(({ at, fault }) => !isRuledOut(causeOf(fault), at, probe))
    .toSorted((a, b) => b.failures - a.failures);
  if (worst === undefined) return failingProbe(records, probe);
  const isLasting = (failures = 0): boolean => failures >= failuresInARow;
  const isAnswering = records.some((one) => one.answeredAt !== undefined && !isLasting(one.failing?.failures));
  const evidence = isLasting(worst.failures) && !isAnswering ? 'many-requests' : 'requests';
  return { cause: causeOf(worst.fault), status: worst.fault.status, evidence };
}

const isRuledOut = (cause: Cause, at: number, probe: Probe | undefined): boolean =>
  probe?.answer.kind === 'lists' && probe.at > at && ruledOut.has(cause);

function failingProbe(records: readonly RouteRecord[], probe: Probe | undefined): FailingBackend | undefined {
  if (probe?.answer.kind !== 'fails') return undefined;
  const { at, answer } = probe;
  if (records.some(({ answeredAt = -Infinity }) => answeredAt > at)) return undefined;
  return { cause: answer.cause, status: answer.status, evidence: 'probe' };
}

/** Name of this replica among those that follow the same catalog. */
export function replicaName({ WEIR_POD_NAME }: Pick<Settings, 'WEIR_POD_NAME'>): string {
  return WEIR_POD_NAME ?? hostname().toLowerCase();
}
