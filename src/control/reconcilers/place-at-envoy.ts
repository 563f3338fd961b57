import type { EnvoyAdmin } from '../envoy/runtime/admin.ts';
import { type RunFolder, type ServiceSockets, socketsOf } from '../envoy/config/run-folder.ts';
import type { SharedClusters } from '../envoy/runtime/clusters-file.ts';
import { type LoadShedderOptions, shedAtEnvoy } from '../envoy/runtime/load-shedder.ts';
import { takeLock } from '../../process/lock.ts';

/** The differences between a service that has its Envoy for itself and one of several services behind one Envoy. */
interface PlaceAtEnvoy {
  readonly sockets: ServiceSockets;
  /** Undefined: several services have no port for another Envoy. */
  readonly strangersSocket: string | undefined;
  readonly sharedClusters: SharedClusters | undefined;
  readonly shed: LoadShedderOptions['shed'];
}

interface Surroundings {
  readonly paths: RunFolder;
  readonly admin: Pick<EnvoyAdmin, 'setRuntime'>;
  readonly announce: (message: Readonly<Record<string, unknown>>) => void;
}

/** The place of the service with this number. Undefined: the service has its Envoy for itself. */
export function placeAtEnvoy(number: number | undefined, { paths, admin, announce }: Surroundings): PlaceAtEnvoy {
  const sockets = socketsOf(paths, number);
  if (number === undefined) {
    return { sockets, strangersSocket: paths.strangersSocket, sharedClusters: undefined, shed: shedAtEnvoy(admin) };
  }
  return {
    sockets,
    strangersSocket: undefined,
    sharedClusters: {
      partsFolder: paths.clusterPartsFolder,
      name: String(number),
      exclusively: async (run) => {
        const lock = await takeLock(paths.clustersLock, () => undefined);
        try {
          return await run();
        } finally {
          lock.release();
        }
      },
    },
    // One service must not make Envoy refuse requests that another one would serve. The supervisor decides for all services.
    shed: async (percent) => announce({ type: 'shed', percent }),
  };
}
