import { fileURLToPath } from 'node:url';
import { hash } from 'node:crypto';
import { hostname } from 'node:os';
import * as z from 'zod';
import { startChild } from '../../process/child.ts';
import type { Launched } from '../../process/supervise.ts';
import { nodeFlags } from './node-flags.ts';

/** What the service tells whoever started it, over the channel it was given. */
const serviceMessage = z.discriminatedUnion('type', [
  /** It serves: ext_proc listens and Envoy has confirmed the first clusters. */
  z.object({ type: z.literal('ready'), opsPort: z.int(), adminPort: z.int().optional() }),
  /** It is about to end, for a reason the operator must read. */
  z.object({ type: z.literal('fatal'), message: z.string() }),
  /** The answer to `ping`. */
  z.object({ type: z.literal('alive') }),
]);
type ServiceMessage = z.output<typeof serviceMessage>;

/** Reads a message; undefined when it is none of ours. */
function readServiceMessage(message: unknown): ServiceMessage | undefined {
  return serviceMessage.safeParse(message).data;
}

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

/** Settings of `weir start` itself: the service refuses variables it does not know, and needs no key in its environment. */
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

/** Where the service finds its catalog. */
export type CatalogPlace =
  | { readonly kind: 'folder'; readonly folder: string }
  | { readonly kind: 'kubernetes'; readonly namespace: string };

export interface ServiceLaunch {
  readonly data: string;
  readonly run: string;
  readonly catalog: CatalogPlace;
  readonly logPath: string;
  /** Wanted ports; the service takes others when they are taken. */
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
      const message = readServiceMessage(raw);
      switch (message?.type) {
        case 'ready':
          launch.onPorts({ ops: message.opsPort, admin: message.adminPort ?? ports.admin });
          resolve();
          return;
        case 'fatal':
          launch.report(message.message);
          // What it has open may keep it alive, and while it lives nobody starts it again.
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
  // Over the channel, which is there from the first moment on: its answer comes from the loop that serves.
  const isAnswering = (): Promise<boolean> => {
    const { promise, resolve: answer } = Promise.withResolvers<boolean>();
    onAlive = answer;
    child.send('ping');
    return promise;
  };
  return { child, isUp, isAnswering };
}
