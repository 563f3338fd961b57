/** The catalog of a Kubernetes namespace: the declared objects that are served, and their last version on disk. */
import { join } from 'node:path';
import { type Compilation, compile, keepObjects } from '../catalog/compile.ts';
import { isSameList, noticeFor, stayingAt } from '../catalog/notice.ts';
import { referredSecrets } from '../catalog/secrets.ts';
import type { KubeObject } from '../../core/catalog.ts';
import { type CancelTimer, every, within } from '../../core/clock.ts';
import { findAccess } from '../kubernetes/access.ts';
import { createKubeClient, type KubeClient } from '../kubernetes/client.ts';
import { followCluster, type KubeReading } from '../kubernetes/follow-cluster.ts';
import { createKeptCatalog } from '../kubernetes/kept-catalog.ts';
import type { Settings } from '../../process/settings/settings.ts';
import type { CatalogSource, CatalogSourceOptions } from './catalog-source.ts';
import { replicaName } from './observe-catalog.ts';
import type { CompiledObjects } from './controller.ts';
import type { CatalogReading } from './follow-catalog.ts';
import { openPods } from './kube-pods.ts';
import { joinReplicas } from './replica.ts';
import { createTroubleLog } from './trouble-log.ts';

/** How long the first reading may take before the catalog on disk takes its place. */
const firstReadingTimeoutMs = 5_000;
const confirmEveryMs = 60_000;
/**
 * Longest time until a change of the catalog is written to disk. With thousands of objects it has megabytes, so one
 * write covers many changes.
 */
const saveWithinMs = 2_000;

interface KubernetesOptions extends CatalogSourceOptions {
  readonly namespace: string;
  /** Where KUBECONFIG is looked for. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/**
 * Opens the catalog of a namespace. If the cluster does not answer in time, it begins with the catalog on disk; if
 * there is none, it begins empty. Rejects when no cluster is configured.
 */
export async function openKubernetes(settings: Settings, options: KubernetesOptions): Promise<CatalogSource> {
  const { namespace, log, clock, random, instance, environment } = options;
  const client = createKubeClient(findAccess(environment));
  const catalog = await openKubeCatalog(settings, { ...options, client });
  const name = replicaName(settings);
  const { latest } = catalog;
  return {
    ...catalog,
    join: (parts) =>
      joinReplicas({ ...parts, client, namespace, name, identity: `${name}_${instance}`, log, clock, random, latest }),
    close: async () => {
      await catalog.close();
      await client.close();
    },
  };
}

interface KubeCatalog extends Omit<CatalogSource, 'join'> {
  /** Undefined until the cluster has been read. */
  readonly latest: () => CompiledObjects | undefined;
}

async function openKubeCatalog(
  settings: Settings,
  options: KubernetesOptions & { readonly client: KubeClient },
): Promise<KubeCatalog> {
  const { client, namespace, log, clock, random } = options;
  const kept = createKeptCatalog({
    ...{ file: join(settings.WEIR_DATA, 'catalog.json'), namespace, clock, withinMs: saveWithinMs },
    onError: (error) => log.error({ error: String(error) }, 'writing the catalog to disk failed'),
  });
  const pods = await openPods(settings, options);
  const firstRead = Promise.withResolvers<void>();
  let newest: KubeReading | undefined;
  let served: CatalogReading | undefined;
  let isOpen = false;
  let lastCompilation: Compilation | undefined;
  let cancelNotice: CancelTimer = () => undefined;

  const loaded = await kept.load();
  /** The objects that the catalog is made of, as they are on disk or will be. */
  let onDisk = loaded?.objects ?? [];
  const follower = followCluster({
    client,
    namespace,
    clock,
    random,
    secretsOf: (backends) => referredSecrets(backends.map(({ declared }) => declared)),
    onReading: (reading) => {
      newest = reading;
      firstRead.resolve();
      serve();
    },
    onTroubles: createTroubleLog(log, { namespace, watch: 'catalog' }),
  });

  /** Reports the objects to serve now, if they have changed. Runs again when the next notice ends. */
  function serve(): void {
    if (newest === undefined) return;
    const now = clock.now();
    const leavesAtOf = (object: KubeObject) => (object.kind === 'Model' ? noticeFor(object, now)?.leavesAt : undefined);
    const staying = stayingAt(newest.objects, { now, leavesAtOf });
    cancelNotice();
    cancelNotice = clock.after(staying.lookAgainMs, serve);
    const objects = [...newest.secrets, ...staying.items.map(({ declared }) => declared)];
    if (served !== undefined && isSameList(served.objects, objects)) return;
    served = { objects, problems: [] };
    if (isOpen) options.onChange(served);
  }

  function confirm(): void {
    const at = follower.inStepAt();
    if (at !== undefined) void kept.confirm(at);
  }

  /** How old the served catalog may be: 0 while every change arrives, undefined before there was a catalog. */
  function ageMs(): number | undefined {
    const objectsAt = follower.inStepAt();
    // Endpoints that were never known cannot be out of date. The conditions of their Backends report them.
    const at = objectsAt === undefined ? loaded?.inStepAt : Math.min(objectsAt, pods.inStepAt());
    return at === undefined ? undefined : Math.max(0, clock.now() - at);
  }

  await within(firstReadingTimeoutMs, clock, firstRead.promise);
  const isFirstKept = served === undefined && loaded !== undefined;
  if (isFirstKept) {
    const ageSeconds = Math.round((ageMs() ?? 0) / 1000);
    log.warn({ namespace, ageSeconds }, 'API server unreachable: serving the catalog kept on disk');
  }
  isOpen = true;
  confirm();
  const cancelConfirm = every(clock, confirmEveryMs, confirm);
  return {
    first: served ?? { objects: onDisk, problems: [] },
    previous: loaded === undefined ? undefined : compile(loaded.objects).snapshot,
    known: isFirstKept ? Promise.resolve() : firstRead.promise,
    ageMs,
    followPods: pods.follow,
    objects: () => newest?.objects ?? [],
    compiled: (compilation) => {
      lastCompilation = compilation;
      // A compilation of the catalog on disk has no new objects of the cluster.
      const now = newest === undefined ? onDisk : keepObjects(compilation.results, onDisk);
      if (isSameList(now, onDisk)) return;
      onDisk = now;
      kept.save(now);
    },
    latest: () =>
      newest === undefined || lastCompilation === undefined
        ? undefined
        : { objects: newest.objects, compilation: lastCompilation },
    close: async () => {
      cancelConfirm();
      await pods.close();
      await follower.close();
      // A reading that came until now has set the timer again.
      cancelNotice();
      await kept.close();
    },
  };
}
