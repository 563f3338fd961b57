import { fileURLToPath } from 'node:url';
import { hash } from 'node:crypto';
import { hostname } from 'node:os';
import * as z from 'zod';
import { startChild } from '../../process/child.ts';
import type { CatalogPlace } from './catalog-place.ts';
import type { Launched } from '../../process/supervise.ts';

/** Messages of the service to the program that started it, over their channel. */
const serviceMessage = z.discriminatedUnion('type', [
  /** The service serves: ext_proc listens and Envoy has confirmed the first clusters. */
  z.object({ type: z.literal('ready'), opsPort: z.int(), adminPort: z.int().optional() }),
  /** The service is about to end, for a reason the operator must read. */
  z.object({ type: z.literal('fatal'), message: z.string() }),
  /** The answer to `ping`. */
  z.object({ type: z.literal('alive') }),
]);
/** A name for this gateway among the replicas of its namespace: several may run on one machine. */
function replicaName(data: string): string {
  const host = hostname()
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 40);
  return `${host === '' ? 'weir' : host}-${hash('sha256', data).slice(0, 8)}`;
}

/** How long a service that gave up may take to close what it has open. */
const lastWordsMs = 2_000;

const main = fileURLToPath(new URL('../../main.ts', import.meta.url));

/** Options of the service's Node; the chart has the same. Measured in docs/decisions/0022. */
export const nodeFlags = [
  // The young generation would begin at 1 MiB and grow to 16 with use, and growing costs collections: a tenth of the service's
  // time in its first minute under load. With this it begins at 16.
  '--min-semi-space-size=16',
  // After some hundred long streams V8 would make more and more of each request in the old generation.
  '--no-allocation-site-pretenuring',
] as const;

/** Settings of `weir start` itself: the service refuses variables it does not know, and needs no upstream key. */
const notForTheService = {
  WEIR_TLS_CERTIFICATE_FILE: undefined,
  WEIR_TLS_KEY_FILE: undefined,
  WEIR_EDGE_HOST: undefined,
  WEIR_TRUSTED_HOPS: undefined,
  WEIR_WATCHDOG_SECONDS: undefined,
  WEIR_CONNECTIONS_PER_ADDRESS: undefined,
  WEIR_UNAUTHENTICATED_IDLE_SECONDS: undefined,
  WEIR_UPSTREAM_KEY: undefined,
} as const;

export interface ServicePorts {
  readonly ops: number;
  readonly admin: number;
}

export interface ServiceLaunch {
  readonly data: string;
  readonly run: string;
  readonly catalog: CatalogPlace;
  readonly logPath: string;
  /** Wanted ports; the service chooses others when another program has them. */
  readonly ports: ServicePorts;
  readonly report: (line: string) => void;
  readonly onPorts: (ports: ServicePorts) => void;
}

function catalogSettings(catalog: CatalogPlace, data: string): Readonly<Record<string, string | undefined>> {
  if (catalog.kind === 'folder') return { WEIR_KUBERNETES_NAMESPACE: undefined };
  return {
    WEIR_KUBERNETES_NAMESPACE: catalog.namespace,
    WEIR_POD_NAME: process.env['WEIR_POD_NAME'] ?? replicaName(data),
  };
}

/** Starts `weir serve`. `isUp` resolves when it says that it serves. */
export function launchService(launch: ServiceLaunch): Launched {
  const { data, run, catalog, ports } = launch;
  const { promise: isUp, resolve } = Promise.withResolvers<void>();
  let onAlive: (answered: true) => void = () => undefined;
  const child = startChild({
    command: process.execPath,
    args: [
      ...nodeFlags,
      main,
      'serve',
      `--data=${data}`,
      `--run=${run}`,
      ...(catalog.kind === 'folder' ? [`--manifests=${catalog.folder}`] : []),
      `--ops-port=${ports.ops}`,
      `--admin-port=${ports.admin}`,
    ],
    env: { ...notForTheService, ...catalogSettings(catalog, data) },
    logPath: launch.logPath,
    onMessage: (raw) => {
      const message = serviceMessage.safeParse(raw).data;
      switch (message?.type) {
        case 'ready':
          launch.onPorts({ ops: message.opsPort, admin: message.adminPort ?? ports.admin });
          resolve();
          return;
        case 'fatal':
          launch.report(message.message);
          // Something open may keep it running, and while it runs it is not started again.
          void child.stop(lastWordsMs);
          return;
        case 'alive':
          onAlive(true);
          return;
        case undefined:
          return;
      }
    },
  });
  // Over the channel, which exists from the start: the answer comes from the event loop that serves.
  const isAnswering = (): Promise<boolean> => {
    const { promise, resolve: answer } = Promise.withResolvers<boolean>();
    onAlive = answer;
    child.send('ping');
    return promise;
  };
  return { child, isUp, isAnswering };
}
