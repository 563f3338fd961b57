import { join } from 'node:path';
import type { Logger } from 'pino';
import { createAnnouncementsFile } from '../../manifests/announcements-file.ts';
import { startThread } from '../../process/worker-thread.ts';
import { startManifestParser } from '../../manifests/parse-in-worker.ts';
import { openManifests } from '../../manifests/watch.ts';
import { systemClock } from '../../process/clock.ts';
import { checkObject } from '../../catalog/read-object.ts';
import type { Compilation } from '../../catalog/compile.ts';
import type { Snapshot } from '../../core/catalog.ts';
import { messageOf } from '../../core/failure.ts';
import type { CatalogReading } from './follow-catalog.ts';
import { openManifestCatalog } from './manifest-catalog.ts';
import type { Settings } from '../../settings.ts';
import type { Replica, ReplicaParts } from './replica.ts';

/** Where the catalog comes from: a folder or a Kubernetes namespace. */
export interface CatalogSource {
  readonly first: CatalogReading;
  /** What was served before the first reading, if that is known. */
  readonly previous: Snapshot | undefined;
  /** Resolves when there is something to go by; until then nothing can be served. */
  readonly known: Promise<void>;
  /** Is told what was made of every reading. */
  readonly compiled: (compilation: Compilation) => void;
  /** How old what is served may be, milliseconds; undefined: nothing is known yet. Absent: a folder is never behind. */
  readonly ageMs?: () => number | undefined;
  /** Joins the replicas that tell the cluster how its objects fare. Absent: there is nobody to tell. */
  readonly join?: (parts: ReplicaParts) => Replica;
  /** Call after `Replica.close`. */
  readonly close: () => Promise<void>;
}

export interface CatalogSourceOptions {
  readonly log: Logger;
  /** Has the readings after the first one. */
  readonly onChange: (reading: CatalogReading) => void;
}

/** Opens the source that the settings name. Rejects when they name a cluster that nothing is known of. */
export async function openCatalogSource(settings: Settings, options: CatalogSourceOptions): Promise<CatalogSource> {
  const namespace = settings.WEIR_KUBERNETES_NAMESPACE;
  if (namespace !== undefined) {
    // The client is large: who reads a folder does without it.
    const { openKubernetes } = await import('./kubernetes.ts');
    return openKubernetes({ ...options, namespace, settings });
  }
  const { log, onChange } = options;
  const parser = startManifestParser({
    script: new URL('../../manifest-worker.ts', import.meta.url),
    startThread,
  });
  const { first, close } = await openManifestCatalog({
    ...{ clock: systemClock, onChange },
    open: (changed) =>
      openManifests({
        ...{ dir: settings.WEIR_MANIFESTS, clock: systemClock, onChange: changed },
        ...{ check: checkObject, parse: parser.parse },
      }),
    announcements: createAnnouncementsFile(join(settings.WEIR_DATA, 'announcements.json')),
    onAnnounced: (model, { leavesAt }) =>
      log.info({ model, leavesAt: new Date(leavesAt).toISOString() }, 'a model will leave the catalog'),
    onError: (error) => log.error({ error: messageOf(error) }, 'what was announced of the models cannot be written'),
  });
  const closeBoth = async (): Promise<void> => {
    // In this order: a reading that breaks off must not be taken for what the folder holds.
    await Promise.all([close(), parser.close()]);
  };
  return { first, previous: undefined, known: Promise.resolve(), compiled: () => undefined, close: closeBoth };
}
