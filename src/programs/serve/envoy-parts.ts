import { admitStepMs, nextAdmitRatio } from '../../gateway/admission/overload.ts';
import { createEndpointTable } from '../../control/reconcilers/follow-endpoints.ts';
import { placeAtEnvoy } from '../../control/reconcilers/place-at-envoy.ts';
import { createEgress } from '../../gateway/egress/egress.ts';
import { runFolder } from '../../control/envoy/config/run-folder.ts';
import { createEnvoyAdmin } from '../../control/envoy/runtime/admin.ts';
import { createClusterPublisher } from '../../control/envoy/runtime/cluster-publisher.ts';
import { createDownstreamBuffers } from '../../control/envoy/runtime/downstream-buffers.ts';
import { serveEndpoints } from '../../control/envoy/runtime/endpoint-discovery.ts';
import { createLoadShedder } from '../../control/envoy/runtime/load-shedder.ts';
import { createUpstreamRequests } from '../../control/envoy/runtime/upstream-requests.ts';
import { systemClock } from '../../process/clock.ts';
import type { ProcessLoad } from '../../process/load.ts';
import { createTurnEnd } from '../../process/turns.ts';
import type { Settings } from '../../process/settings/settings.ts';
import type { PartLog } from '../../telemetry/ops/repeat-limit.ts';
import type { ServiceSurroundings } from './service-figures.ts';

/** Opens everything through which the service speaks with its Envoy, except for the requests of callers. Envoy may still be starting. */
export async function openEnvoyParts(
  settings: Settings,
  {
    load,
    announce,
    number,
    log,
  }: Pick<ServiceSurroundings, 'announce' | 'number'> & { readonly load: ProcessLoad; readonly log: PartLog },
) {
  const paths = runFolder(settings.WEIR_RUN);
  const admin = createEnvoyAdmin({ adminSocket: paths.adminSocket });
  const place = placeAtEnvoy(number, { paths, admin, announce });
  const clusters = createClusterPublisher({
    ...{ admin, runFolder: paths, clock: systemClock },
    shared: place.sharedClusters,
  });
  await clusters.prepare();
  const discovery = await serveEndpoints({
    socketPath: place.sockets.discoverySocket,
    onRefused: (reason) => log.error({ reason }, 'Envoy refused endpoints'),
  });
  // If Envoy starts before this message, it logs a warning for each attempt to reach the service.
  announce({ type: 'listening' });
  const endpoints = createEndpointTable({ clock: systemClock, discovery });
  const shedder = createLoadShedder({
    shed: place.shed,
    clock: systemClock,
    stepMs: admitStepMs,
    isQuiet: load.isQuiet,
    next: (admitRatio) => nextAdmitRatio(admitRatio, load.current()),
  });
  const buffers = createDownstreamBuffers({ admin, clock: systemClock });
  const countUpstream = createUpstreamRequests({ admin, clock: systemClock });
  const atTurnEnd = createTurnEnd();
  const egress = createEgress({ socketPath: paths.egressSocket, countUpstream, atTurnEnd });
  return {
    ...{ admin, place, clusters, discovery, endpoints, shedder, buffers, atTurnEnd, egress },
    /** Closes everything but the egress, which requests of the service's own still use. */
    close: async (): Promise<void> => {
      endpoints.close();
      await discovery.close();
      await shedder.close();
      buffers.close();
      admin.close();
    },
  };
}

export type EnvoyParts = Awaited<ReturnType<typeof openEnvoyParts>>;
