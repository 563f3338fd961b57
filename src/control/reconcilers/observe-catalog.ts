/** Observes the catalog of this replica: its Envoy, its routes and its list of models. */
import { hostname } from 'node:os';
import type { Model, Route, Snapshot } from '../../core/catalog.ts';
import type { InSlices } from '../../core/clock.ts';
import {
  clusterMark,
  type FailingBackend,
  type ObservedBackend,
  type ObservedCatalog,
} from '../../core/observed-catalog.ts';
import type { EnvoyClusters } from '../envoy/runtime/cluster-publisher.ts';
import { createSlices } from '../../process/turns.ts';
import type { RouteRecord } from '../../gateway/routing/health/route-record.ts';
import type { Settings } from '../../process/settings/settings.ts';
import { type EndpointFacts, envoyEndpoints, observeEndpoints, unreachableBy } from './observe-endpoints.ts';

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
        failing: failingBackend((routes.get(backend) ?? []).map(facts.record)),
        endpoints: endpoints.get(backend),
      },
    ];
  });
  return new Map(observed);
}

/** A backend fails when the last requests of some route to it failed, and no route to it has answered since. */
function failingBackend(records: readonly RouteRecord[]): FailingBackend | undefined {
  if (records.some(({ kind }) => kind === 'answers')) return undefined;
  const [first] = records.filter((record) => record.kind === 'fails');
  return first && { status: first.fault.status };
}

/** Name of this replica among those that follow the same catalog. */
export function replicaName({ WEIR_POD_NAME }: Pick<Settings, 'WEIR_POD_NAME'>): string {
  return WEIR_POD_NAME ?? hostname().toLowerCase();
}
