/** Follows the catalog: objects become a snapshot, endpoints are found, Envoy gets its clusters, and only then do requests see it. */
import { type Compilation, compile } from '../catalog/compile.ts';
import { createModelList } from '../catalog/list.ts';
import { createSnapshots, unionOfClusters } from '../catalog/snapshots.ts';
import type { CatalogObject, CatalogProblem, Cluster, Model, Snapshot } from '../../core/catalog.ts';
import type { Clock } from '../../core/clock.ts';
import type { Money } from '../../core/money.ts';
import type { ModelStatus } from '../../core/observed-catalog.ts';
import type { PodSupport } from '../catalog/compile-backend.ts';

/** The objects of a catalog at one moment, as delivered by their source. */
export interface CatalogReading {
  readonly objects: readonly CatalogObject[];
  readonly problems: readonly CatalogProblem[];
}

interface Listing {
  readonly clock: Pick<Clock, 'elapsed'>;
  /** Whether a model is listed, and its figures in the list. */
  readonly statusOf: (model: Model) => ModelStatus;
  /** The price of a web search; undefined if there is no web search. */
  readonly searchPrice: Money | undefined;
}

interface FollowOptions {
  readonly first: CatalogReading;
  /** The snapshot before the first reading. An object that has turned bad keeps serving in its version there. */
  readonly previous: Snapshot | undefined;
  readonly pods: PodSupport;
  /** The facts besides the catalog that the list of models shows. */
  readonly listing: Listing;
  /** Follows the endpoints of these clusters and of no others. Resolves when Envoy can have the known endpoints. */
  readonly followEndpoints: (clusters: readonly Cluster[]) => Promise<void>;
  /** Gives Envoy a set of clusters and resolves when it has them; rejects when it refuses some or does not answer. */
  readonly applyClusters: (clusters: readonly Cluster[]) => Promise<void>;
  readonly onProblems: (problems: readonly CatalogProblem[]) => void;
  /** Called with the result of every reading, including the first one, even if the snapshot has not changed. */
  readonly onCompiled: (compilation: Compilation) => void;
  readonly onSwap: (snapshot: Snapshot) => void;
  readonly onError: (error: unknown) => void;
}

export function followCatalog(options: FollowOptions) {
  const { onProblems, onError, pods } = options;
  const compiled = compile(options.first.objects, { previous: options.previous, pods });
  onProblems([...options.first.problems, ...compiled.problems]);
  options.onCompiled(compiled);
  const snapshots = createSnapshots(compiled.snapshot, () => queue(dropUnused));
  let closed = false;
  let waiting = 0;
  /** Names of the clusters that Envoy is known to have, all of them and no others. */
  let inEnvoy: string | undefined;
  let work = Promise.resolve();

  function queue(run: () => Promise<void>): void {
    waiting += 1;
    work = work.then(async () => {
      waiting -= 1;
      if (!closed) await run().catch(onError);
    });
  }

  /**
   * A cluster that Envoy refuses must not hold up the others. If Envoy does not answer, this waits for it, unless the next
   * change overtakes this one.
   */
  async function apply(clusters: readonly Cluster[]): Promise<void> {
    // The name of a cluster does not cover its endpoints.
    await options.followEndpoints(clusters);
    const names = JSON.stringify(clusters.map(({ name }) => name).sort());
    if (names === inEnvoy) return;
    inEnvoy = undefined;
    for (let isSettled = false; !isSettled;) {
      isSettled = await options.applyClusters(clusters).then(
        () => {
          inEnvoy = names;
          return true;
        },
        (error: unknown) => {
          onError(error);
          const away = error instanceof Error && error.name === 'EnvoyAway';
          return !away || closed || waiting > 0;
        },
      );
    }
  }

  const dropUnused = (): Promise<void> => apply(snapshots.clustersInUse());

  /** Adds new clusters and their endpoints first, then lets requests use them, then removes the clusters that no request uses. */
  async function swap(snapshot: Snapshot): Promise<void> {
    await apply(unionOfClusters([snapshots.clustersInUse(), snapshot.clusters]));
    snapshots.swap(snapshot);
    options.onSwap(snapshot);
    await dropUnused();
  }

  const published = new Promise<void>((resolve) => {
    queue(() => apply(compiled.snapshot.clusters).then(resolve));
  });
  return {
    snapshots,
    ...createModelList({ ...options.listing, snapshot: snapshots.current }),
    /** Resolves when Envoy has the clusters of the first reading. */
    published,
    /** Takes a later reading. Readings are processed one after the other. */
    change: (reading: CatalogReading): void =>
      queue(async () => {
        const compilation = compile(reading.objects, { previous: snapshots.current(), pods });
        const { snapshot, problems } = compilation;
        onProblems([...reading.problems, ...problems]);
        options.onCompiled(compilation);
        if (snapshot.version !== snapshots.current().version) await swap(snapshot);
      }),
    /** Resolves when the readings taken so far have been processed. */
    idle: (): Promise<void> => work,
    /** Stops following. Resolves when nothing is under way any more. */
    close: async (): Promise<void> => {
      closed = true;
      await work;
    },
  };
}
