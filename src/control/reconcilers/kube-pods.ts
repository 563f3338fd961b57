/** The pods that Backends of a Kubernetes namespace name: through Services and InferencePools, and their last endpoints on disk. */
import { join } from 'node:path';
import type { FollowEndpoints, PodsSource } from '../../core/endpoint.ts';
import type { KubeClient } from '../kubernetes/client.ts';
import { followPools } from '../kubernetes/follow-pools.ts';
import { followServices } from '../kubernetes/follow-services.ts';
import { createKeptEndpoints } from '../kubernetes/kept-catalog.ts';
import type { Settings } from '../../process/settings/settings.ts';
import type { CatalogSourceOptions } from './catalog-source.ts';
import { createTroubleLog } from './trouble-log.ts';

/** Longest time until changes of endpoints are written to disk. Pods come and go more often than catalogs change. */
const saveWithinMs = 10_000;

interface PodsOptions extends Pick<CatalogSourceOptions, 'log' | 'clock' | 'random'> {
  readonly client: KubeClient;
  readonly namespace: string;
}

/** Follows the Services and InferencePools that Backends name, and keeps their last endpoints on disk. */
export async function openPods(settings: Settings, options: PodsOptions) {
  const { client, namespace, log, clock, random } = options;
  const file = createKeptEndpoints({
    ...{ file: join(settings.WEIR_DATA, 'endpoints.json'), namespace, clock, withinMs: saveWithinMs },
    onError: (error) => log.error({ error: String(error) }, 'writing endpoints to disk failed'),
  });
  const shared = {
    ...{ client, namespace, clock, random },
    kept: await file.load(),
    onChange: () => file.save(() => new Map([...services.known(), ...pools.known()])),
  };
  const troubleLog = (watch: string) => createTroubleLog(log, { namespace, watch });
  const services = followServices({ ...shared, onTroubles: troubleLog('endpoints of Services') });
  const pools = followPools({ ...shared, onTroubles: troubleLog('endpoints of InferencePools') });
  const follow: FollowEndpoints<PodsSource> = (source, how) =>
    source.kind === 'service' ? services.follow(source, how) : pools.follow(source, how);

  return {
    follow,
    /**
     * When the endpoints were known to be complete (`Clock.now`); Infinity if no pod is followed. Endpoints that were
     * never known cannot be out of date: the conditions of their Backends report them.
     */
    inStepAt: (): number => Math.min(services.inStepAt() ?? Infinity, pools.inStepAt() ?? Infinity),
    close: async (): Promise<void> => {
      // The followers forget the known endpoints when they end.
      const saved = file.close();
      await Promise.all([services.close(), pools.close(), saved]);
    },
  };
}
