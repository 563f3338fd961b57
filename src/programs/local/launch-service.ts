import { hash } from 'node:crypto';
import { hostname } from 'node:os';
import * as z from 'zod';
import type { LogLevel } from '../../core/log-level.ts';
import { type ProblemReport, problemReportSchema } from '../../control/core/problem.ts';
import { machineMemoryBytes } from '../../process/machine.ts';
import type { CatalogPlace } from './catalog-place.ts';
import { type HeldProgram, holdProgram, launchProgram, secretsOfStart } from './launch-program.ts';
import { readSome, type Environment } from '../../process/settings/read-settings.ts';
import { type Settings, settingsSchema } from '../../process/settings/settings.ts';

/** The service's own messages to the program that started it, in addition to those of every program. */
const serviceMessage = z.discriminatedUnion('type', [
  /** Envoy can ask the service for endpoints; nothing else is ready yet. */
  z.object({ type: z.literal('listening') }),
  /** The ops port listens. */
  z.object({ type: z.literal('ops'), port: z.int() }),
  /** The service serves: ext_proc listens and Envoy has confirmed the first clusters. */
  z.object({ type: z.literal('ready') }),
  /** The service asks Envoy to refuse this percentage of new requests. Only sent if there are several services. */
  z.object({ type: z.literal('shed'), percent: z.number() }),
  /** The service's list of problems has changed. */
  z.object({ type: z.literal('problems'), report: problemReportSchema }),
]);

/** The name of this gateway among the replicas of its namespace. Several gateways may run on one machine. */
function replicaName(data: string): string {
  const host = hostname()
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 40);
  return `${host === '' ? 'weir' : host}-${hash('sha256', data).slice(0, 8)}`;
}

const mebibyte = 1024 ** 2;
/** V8's own limit on a machine with much memory. */
const maxHeapBytes = 4096 * mebibyte;

/** Options of the service's Node; the chart has the same. */
export const nodeFlags = [
  // By default each half of the young generation grows from 1 MiB to its full size, which takes a tenth of the service's time
  // in its first minute under load (docs/decisions/0022).
  '--min-semi-space-size=16',
  // After 8 s with few allocations V8 would throw away its compiled code (docs/decisions/0104).
  '--no-memory-reducer',
  // V8's compilers and collectors have two threads besides the main thread, not four, so that they leave more of
  // two cores while the service has requests (docs/decisions/0104).
  '--v8-pool-size=2',
] as const;

/** The number of a service, and the number of services behind its Envoy. */
export interface ServicePlace {
  /** From 1 on. */
  readonly number: number;
  readonly of: number;
}

interface ServiceLaunch {
  readonly data: string;
  readonly run: string;
  readonly catalog: CatalogPlace;
  readonly logPath: string;
  /** The program of this place, held for its first run. */
  readonly held: HeldProgram | undefined;
  /** The wanted port; the service chooses another one if another program has it. */
  readonly opsPort: number;
  /** Undefined: the service has its own Envoy. */
  readonly place: ServicePlace | undefined;
  /** Whether it records the prices of models, because the portal may not run. One service of a gateway does. */
  readonly recordsPrices: boolean;
  /** The third surface, by the flag or the setting of `weir start`. */
  readonly responses: Settings['WEIR_RESPONSES'];
  /** The log level; undefined: the level of the environment. */
  readonly logLevel: LogLevel | undefined;
  readonly onLogLevel: (level: LogLevel) => void;
  readonly onOpsPort: (port: number) => void;
  /** Receives the percentage of new requests that Envoy should refuse for this service, if it is one of several. */
  readonly onShed: (percent: number) => void;
  /** Receives the service's problems whenever they change. */
  readonly onProblems: (report: ProblemReport) => void;
}

function catalogSettings({ catalog, data, place }: ServiceLaunch): Environment {
  if (catalog.kind === 'folder') return { WEIR_KUBERNETES_NAMESPACE: undefined };
  const name = readSome(process.env, settingsSchema.pick({ WEIR_POD_NAME: true })).WEIR_POD_NAME ?? replicaName(data);
  return {
    WEIR_KUBERNETES_NAMESPACE: catalog.namespace,
    WEIR_POD_NAME: place === undefined ? name : `${name}-${place.number}`,
  };
}

/** The limits are shared by at least as many replicas as there are services here. */
function placeSettings(place: ServicePlace | undefined): Environment {
  if (place === undefined) return {};
  const { WEIR_REPLICAS: elsewhere } = readSome(process.env, settingsSchema.pick({ WEIR_REPLICAS: true }));
  return { WEIR_REPLICAS: String(Math.max(place.of, elsewhere)) };
}

function logSettings({ logLevel }: ServiceLaunch): Environment {
  return logLevel === undefined ? {} : { WEIR_LOG_LEVEL: logLevel };
}

/** Several services share the memory that one service would have. Each derives its limits from the limit of its heap. */
function heapFlags(place: ServicePlace | undefined): readonly string[] {
  if (place === undefined) return [];
  const share = machineMemoryBytes() / 2 / place.of;
  return [`--max-old-space-size=${Math.floor(Math.min(share, maxHeapBytes) / mebibyte)}`];
}

const programOf = ({ data, run, place }: Pick<ServiceLaunch, 'data' | 'run' | 'place'>) =>
  ({
    command: 'serve',
    nodeFlags: [...nodeFlags, ...heapFlags(place)],
    args: [`--data=${data}`, `--run=${run}`, ...(place === undefined ? [] : [`--service=${place.number}`])],
  }) as const;

/** Starts the program of a service, which waits for `launchService`. */
export const holdService = (launch: Pick<ServiceLaunch, 'data' | 'run' | 'place' | 'logPath'>): HeldProgram =>
  holdProgram({ ...programOf(launch), logPath: launch.logPath });

/** Starts `weir serve`. `isUp` resolves when the service reports `ready`. */
export function launchService(launch: ServiceLaunch) {
  const { catalog, opsPort, place } = launch;
  const program = programOf(launch);
  const { promise: isUp, resolve } = Promise.withResolvers<void>();
  const listening = Promise.withResolvers<void>();
  const { child, isAnswering } = launchProgram({
    ...program,
    held: launch.held,
    args: [
      ...program.args,
      ...(catalog.kind === 'folder' ? [`--manifests=${catalog.folder}`] : []),
      `--ops-port=${opsPort}`,
      ...(launch.recordsPrices ? ['--record-prices'] : []),
    ],
    env: {
      ...{ WEIR_RESPONSES: launch.responses, ...logSettings(launch), ...secretsOfStart },
      ...{ ...catalogSettings(launch), ...placeSettings(place) },
    },
    logPath: launch.logPath,
    onLogLevel: launch.onLogLevel,
    onMessage: (raw) => {
      const message = serviceMessage.safeParse(raw).data;
      switch (message?.type) {
        case 'listening':
          listening.resolve();
          return;
        case 'ops':
          launch.onOpsPort(message.port);
          return;
        case 'ready':
          resolve();
          return;
        case 'shed':
          launch.onShed(message.percent);
          return;
        case 'problems':
          launch.onProblems(message.report);
          return;
        case undefined:
          return;
      }
    },
  });
  return {
    child,
    isUp,
    /** Resolves when Envoy can ask the service for endpoints. Never resolves if the service ends before. */
    isListening: listening.promise,
    isAnswering,
  };
}
