/** Observes the catalog of this replica: its Envoy, its routes and its list of models. */
import { hostname } from 'node:os';
import type { Model, Route, Snapshot } from '../../core/catalog.ts';
import type { InSlices } from '../../core/clock.ts';
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
import { type DeclaredRoute, listDifference } from '../../core/compare-models.ts';
import type { Probe, Probes } from './probe-backends.ts';
import type { VectorsWatch } from './watch-vectors.ts';

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
  /** Routes with endpoints that get no requests because of their vectors. */
  readonly vectorsFaults: VectorsWatch['faults'];
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
    vectors: facts.vectorsFaults(),
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
    [...snapshot.models.values()].flatMap((model) => model.routes.map((route) => ({ model, route }))),
    ({ route }) => route.backend.name,
  );
  const observed = await inSlices(snapshot.clusters, (cluster): readonly [string, ObservedBackend] => {
    const { name, backend } = cluster;
    const counts = envoy && envoyEndpoints(envoy, cluster);
    const own = (routes.get(backend) ?? []).map((one) => ({ ...one, record: facts.record(one.route) }));
    const records = own.map(({ record }) => record);
    const probe = facts.probeOf(name);
    return [
      backend,
      {
        refused: envoy?.active.has(name) === true ? undefined : refused.get(name),
        unreachable: counts && unreachableBy(counts),
        failing: failingBackend(records, probe),
        isUntried: probe === undefined && records.every(isUntried),
        differs: differencesText(own, probe),
        endpoints: endpoints.get(backend),
      },
    ];
  });
  return new Map(observed);
}

const isUntried = ({ answeredAt, failing, refusal }: RouteRecord): boolean =>
  answeredAt === undefined && failing === undefined && refusal === undefined;

/** What the engine lists otherwise than its routes declare. A route that has answered since has the model, listed or not. */
function differencesText(
  routes: readonly (DeclaredRoute & { readonly record: RouteRecord })[],
  probe: Probe | undefined,
): string | undefined {
  if (probe?.answer.kind !== 'lists') return undefined;
  const { models } = probe.answer;
  if (models === undefined) return undefined;
  const texts = routes.flatMap(({ record, ...declared }) => {
    const found = listDifference(models, declared);
    return found === undefined || (found.of === 'model' && record.answeredAt !== undefined) ? [] : [found.text];
  });
  return texts.length === 0 ? undefined : [...new Set(texts)].slice(0, maxDifferences).join('; ');
}

/** Most differences of one Backend that are named. */
const maxDifferences = 3;

/**
 * A backend fails while the last request of some route to it failed or found no room, or while it fails when it is asked for
 * its models.
 */
export function failingBackend(records: readonly RouteRecord[], probe: Probe | undefined): FailingBackend | undefined {
  const [worst] = records.flatMap(({ failing }) => failing ?? []).toSorted((a, b) => b.failures - a.failures);
  const probed = failingProbe(records, probe);
  const refusal = worst === undefined ? records.find((one) => one.refusal !== undefined)?.refusal : undefined;
  if (probed === undefined && refusal !== undefined) {
    return { cause: causeOf(refusal), status: refusal.status, evidence: 'requests' };
  }
  if (worst === undefined || (probe !== undefined && probe.at > worst.at && probed !== undefined)) return probed;
  // An answer of another route, while this one failed, speaks for the engine.
  const isAnswering = records.some(({ answeredAt = -Infinity }) => answeredAt > worst.since);
  const isLasting = worst.failures >= failuresInARow && !isAnswering;
  const evidence = probed?.evidence ?? (isLasting ? 'many-requests' : 'requests');
  const { status, said } = worst.fault;
  return { cause: causeOf(worst.fault), status, said, evidence };
}

function failingProbe(records: readonly RouteRecord[], probe: Probe | undefined): FailingBackend | undefined {
  if (probe?.answer.kind !== 'fails') return undefined;
  const { since, answer } = probe;
  if (records.some(({ answeredAt = -Infinity }) => answeredAt > since)) return undefined;
  const { cause, status, said } = answer;
  return { cause, status, said, evidence: 'probe' };
}

/** Name of this replica among those that follow the same catalog. */
export function replicaName({ WEIR_POD_NAME }: Pick<Settings, 'WEIR_POD_NAME'>): string {
  return WEIR_POD_NAME ?? hostname().toLowerCase();
}
