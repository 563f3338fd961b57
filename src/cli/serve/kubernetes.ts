import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { findAccess } from '../../kubernetes/access.ts';
import { createKubeClient } from '../../kubernetes/client.ts';
import { followCluster, type Trouble } from '../../kubernetes/follow-cluster.ts';
import { createKeptCatalog } from '../../kubernetes/kept-catalog.ts';
import { systemClock } from '../../process/clock.ts';
import { referredSecrets } from '../../catalog/secrets.ts';
import type { Clock } from '../../core/clock.ts';
import { openKubeCatalog } from './kube-catalog.ts';
import type { Settings } from '../../settings.ts';
import type { CatalogSource, CatalogSourceOptions } from './catalog-source.ts';
import { joinReplicas } from './replica.ts';

/** Logs why the catalog is not followed, each reason once until it is followed again, and that it is. */
function createTroubleLog(
  log: Pick<Logger, 'info' | 'warn'>,
  namespace: string,
): (troubles: readonly Trouble[]) => void {
  const told = new Set<string>();
  return (troubles) => {
    const news = troubles.filter(({ of, reason }) => !told.has(`${of} ${reason}`));
    for (const { of, reason } of news) told.add(`${of} ${reason}`);
    for (const [reason, group] of Map.groupBy(news, (trouble) => trouble.reason)) {
      log.warn({ namespace, of: group.map(({ of }) => of), reason }, 'the catalog is not followed');
    }
    if (troubles.length > 0) return;
    told.clear();
    log.info({ namespace }, 'the catalog is in step with the API server');
  };
}

export interface KubernetesOptions extends CatalogSourceOptions {
  readonly namespace: string;
  readonly settings: Settings;
  /** Default: the real time. */
  readonly clock?: Clock;
  /** Where KUBECONFIG is. Default: that of the process. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

export type KubernetesSource = Required<CatalogSource>;

/** Takes the catalog from a namespace. Rejects when there is no cluster to ask; one that is away is waited for. */
export async function openKubernetes(options: KubernetesOptions): Promise<KubernetesSource> {
  const { namespace, settings, log, onChange, clock = systemClock, environment = process.env } = options;
  const access = findAccess(environment);
  const client = createKubeClient(access);
  const catalog = await openKubeCatalog({
    clock,
    kept: createKeptCatalog({ file: join(settings.WEIR_DATA, 'catalog.json'), namespace }),
    follow: (onReading) =>
      followCluster({
        ...{ client, namespace, clock, random: Math.random, onReading },
        secretsOf: (backends) => referredSecrets(backends.map(({ declared }) => declared)),
        onTroubles: createTroubleLog(log, namespace),
      }),
    onChange,
    onError: (error) => log.error({ error: String(error) }, 'the last catalog cannot be kept on disk'),
  });

  if (catalog.isFirstKept) {
    const ageSeconds = Math.round((catalog.ageMs() ?? 0) / 1000);
    log.warn({ namespace, ageSeconds }, 'the API server is away: serving the catalog that was kept on disk');
  }
  const name = settings.WEIR_POD_NAME ?? hostname().toLowerCase();
  return {
    ...catalog,
    join: (parts) =>
      joinReplicas({
        ...parts,
        ...{ client, namespace, name, log, clock, random: Math.random, latest: catalog.latest },
        identity: `${name}_${randomUUID()}`,
      }),
    close: async () => {
      await catalog.close();
      client.close();
    },
  };
}
