/** Observes a running service and its catalog for the list of current problems. */
import { backendsOf, kindOf, modelIdOf, nameOf } from '../core/raw-object.ts';
import type { CatalogObject, Cluster, KubeObject } from '../../core/catalog.ts';
import type { Clock, InSlices } from '../../core/clock.ts';
import type { EnvoyAdmin } from '../envoy/runtime/admin.ts';
import type { ErrorFigure } from '../problems/error-rates.ts';
import type { Observed } from '../problems/find-problems.ts';
import type { ObservedIdentities } from '../problems/identity-problems.ts';
import type { CatalogMistake, ObservedObject } from '../problems/object-problems.ts';
import {
  edgeCertificate,
  type ObservedCertificate,
  type ObservedService,
  type ObservedStore,
  certificatesOf,
} from '../problems/service-problems.ts';
import { createProblemsFile } from './problems-file.ts';
import { createSlices } from '../../process/turns.ts';
import type { Settings } from '../../process/settings/settings.ts';
import type { ErrorCounts } from '../../telemetry/performance/error-counts.ts';
import type { ServiceFigures } from '../../telemetry/ops/gauges.ts';
import { createProblemLog } from '../../telemetry/ops/telemetry.ts';
import type { PartLog } from '../../telemetry/ops/repeat-limit.ts';
import { type CatalogView, ownConditions, type ServedCatalog } from './catalog.ts';
import { type ProblemWatch, watchProblems } from './watch-problems.ts';

interface ObservedParts {
  readonly clock: Clock;
  /** Figures that the metrics show, too. */
  readonly figures: Pick<
    ServiceFigures,
    'store' | 'failing' | 'events' | 'disk' | 'discovery' | 'catalogAgeMs' | 'load'
  >;
  readonly store: {
    readonly status: () => Pick<ObservedStore, 'reason' | 'cause' | 'journalFault'>;
  };
  readonly catalog: Pick<ServedCatalog, 'look' | 'snapshots'>;
  readonly admin: Pick<EnvoyAdmin, 'ownCertificates'>;
  readonly errors: Pick<ErrorCounts, 'ofModels' | 'ofBackends'>;
  readonly refusedShare: () => number;
  readonly identities: () => ObservedIdentities;
  readonly avoidable: () => Observed['avoidable'];
  readonly log: Pick<PartLog, 'warn'>;
}

interface ProblemParts extends ObservedParts {
  /** Which one of several services it is. */
  readonly number: number | undefined;
  /** When the snapshot that is served was taken. */
  readonly servedAt: () => number;
  readonly announce: (message: Readonly<Record<string, unknown>>) => void;
}

/** Begins to look for the problems of a service. The supervisor gets the list whenever it changes. */
export function openProblems(
  { WEIR_DATA: data }: Settings,
  { number = 1, servedAt, announce, ...parts }: ProblemParts,
): Promise<ProblemWatch> {
  return watchProblems({
    clock: parts.clock,
    observe: createObserver(parts),
    catalog: () => ({ version: parts.catalog.snapshots.current().version, servedAt: servedAt() }),
    file: createProblemsFile(data, number),
    onChange: (report) => announce({ type: 'problems', report }),
    log: parts.log,
  });
}

/**
 * How often Envoy is asked for certificates. It lists all of them in each answer: where that takes long, it is asked less often,
 * so that it takes at most a two-hundredth of the time.
 */
const certificates = { minEveryMs: 15_000, maxEveryMs: 60_000, perAnswer: 200 } as const;

/** Returns a function that observes everything once. It waits a second at most for Envoy, and works through many objects in slices. */
export function createObserver(parts: ObservedParts): () => Promise<Observed> {
  const { clock, errors, catalog } = parts;
  const lookAtCertificates = createCertificateLook(parts);
  const logFailing = createProblemLog(parts.log, 'a dependency fails');
  return async () => {
    const inSlices = createSlices();
    const view = await catalog.look();
    const now = clock.now();
    const objects = await inSlices(view.objects, (object) => observedObject(object, view, now));
    const isEnvoyAnswering = view.own.hasEnvoy;
    const service = await observedService(parts, {
      ...{ now, isEnvoyAnswering },
      certificates: await lookAtCertificates(isEnvoyAnswering),
    });
    logFailing(service.failing);
    return {
      service,
      mistakes: await mistakesOf(view, inSlices),
      objects,
      errors: await errorFigures(objects, errors, inSlices),
      identities: parts.identities(),
      avoidable: parts.avoidable(),
    };
  };
}

function observedObject(object: KubeObject, view: CatalogView, now: number): ObservedObject {
  return {
    object: `${object.kind}/${object.name}`,
    model: object.kind === 'Model' ? modelIdOf(object.declared) : undefined,
    backends: object.kind === 'Model' ? backendsOf(object.declared).filter((name) => name !== undefined) : undefined,
    conditions: ownConditions(object, view, now),
  };
}

async function mistakesOf({ problems, compilation }: CatalogView, inSlices: InSlices): Promise<CatalogMistake[]> {
  const compiled = new Set(compilation.problems);
  const ofObjects = await inSlices(compilation.results, ([object, result]) =>
    result.problems.map(({ problem, cause }) => ({
      ...problem,
      object: declaredName(object),
      isNameConflict: cause === 'name-conflict',
    })),
  );
  const ofFiles = problems.flatMap((problem) =>
    compiled.has(problem) ? [] : [{ ...problem, object: problem.object }],
  );
  return [...ofFiles, ...ofObjects.flat()];
}

/** Kind and name that the object declares; undefined if one of them is missing. */
function declaredName(object: CatalogObject): string | undefined {
  const [kind, name] = [kindOf(object), nameOf(object)];
  return kind === undefined || name === undefined ? undefined : `${kind}/${name}`;
}

async function errorFigures(
  objects: readonly ObservedObject[],
  errors: ObservedParts['errors'],
  inSlices: InSlices,
): Promise<readonly ErrorFigure[]> {
  const byModel = new Map(objects.flatMap(({ object, model }) => (model === undefined ? [] : [[model, object]])));
  const ofModels = await inSlices(errors.ofModels(), ([model, count]) => ({
    ...{ object: byModel.get(model) ?? `Model/${model}`, model },
    ...count,
  }));
  const ofBackends = await inSlices(errors.ofBackends(), ([backend, count]) => ({
    ...{ object: `Backend/${backend}`, model: undefined },
    ...count,
  }));
  return [...ofModels, ...ofBackends];
}

async function observedService(
  { figures, store, refusedShare }: ObservedParts,
  seen: Pick<ObservedService, 'now' | 'isEnvoyAnswering' | 'certificates'>,
): Promise<ObservedService> {
  const { reason, cause, journalFault } = store.status();
  return {
    ...seen,
    store: { ...figures.store(), reason, cause, journalFault },
    failing: figures.failing(),
    events: figures.events?.() ?? [],
    disk: await figures.disk(),
    filesShare: figures.load().filesShare,
    unansweredMs: figures.discovery().unansweredMs,
    refusedShare: refusedShare(),
    catalogAgeMs: figures.catalogAgeMs?.(),
  };
}

/** Observes the certificates of the edge, which Envoy reports, and the certificates that verify the Backends of the catalog. */
function createCertificateLook({
  clock,
  admin,
  catalog,
}: Pick<ObservedParts, 'clock' | 'admin' | 'catalog'>): (mayAsk: boolean) => Promise<readonly ObservedCertificate[]> {
  let edge: readonly ObservedCertificate[] = [];
  let askAt = -Infinity;
  const ofCluster = new WeakMap<Cluster, readonly ObservedCertificate[]>();
  return async (mayAsk) => {
    const askedAt = clock.elapsed();
    if (mayAsk && askedAt >= askAt) {
      askAt = Infinity;
      edge = await admin.ownCertificates().then(
        (found) => found.map(edgeCertificate),
        // Envoy has just stopped: the certificates that it reported last still apply.
        () => edge,
      );
      const { minEveryMs, maxEveryMs, perAnswer } = certificates;
      const tookMs = clock.elapsed() - askedAt;
      askAt = askedAt + Math.min(maxEveryMs, Math.max(minEveryMs, tookMs * perAnswer));
    }
    const trusted = catalog.snapshots.current().clusters.flatMap((cluster) => {
      return ofCluster.getOrInsertComputed(cluster, () => certificatesOf(cluster));
    });
    return [...edge, ...trusted];
  };
}
