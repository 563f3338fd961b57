import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { RunFolder } from '../../envoy/config/run-folder.ts';
import type { EnvoyAdmin } from '../../envoy/runtime/admin.ts';
import { type Command, startChild } from '../../process/child.ts';
import { pause, systemClock } from '../../process/clock.ts';
import { type Launched, supervise, type Supervised } from '../../process/supervise.ts';
import type { CatalogPlace } from './catalog-place.ts';
import { copyDemoManifests, launchDemoEngine } from './demo.ts';
import { launchService, type ServicePorts } from './launch-service.ts';
import type { OwnFolders } from './own-folders.ts';
import { StartRefusal } from './refusal.ts';

/** What every part of the gateway is started with. */
export interface StartContext {
  readonly data: string;
  readonly folders: OwnFolders;
  readonly report: (line: string) => void;
  /** Aborted when the operator wants the gateway to end. */
  readonly stop: AbortSignal;
  /** How long the service and Envoy may leave questions without an answer; 0: for ever. */
  readonly silenceMs: number;
}

/** Takes a part over as soon as it is started, to stop it at the end. */
type Own = (supervised: Supervised) => void;

/** The programs of the gateway: the name at the beginning of a message, the name in the record of processes, and the log. */
const parts = {
  demoEngine: { name: 'The demo engine', recordedAs: 'the demo engine', log: 'demo-engine.log' },
  envoy: { name: 'Envoy', recordedAs: 'Envoy', log: 'envoy.log' },
  service: { name: 'The service', recordedAs: 'the service', log: 'service.log' },
} as const;

/** Starts the demo engine and resolves to the folder of its manifests. */
export async function startDemoEngine(context: StartContext, own: Own): Promise<string> {
  let port = 0;
  await startPart(context, parts.demoEngine, {
    own,
    // A restarted engine listens where the manifests say.
    launch: (logPath) =>
      launchDemoEngine({
        port,
        logPath,
        onPort: (bound) => {
          port = bound;
        },
      }),
  });
  const manifests = join(context.data, 'manifests-demo');
  copyDemoManifests(manifests, port);
  return manifests;
}

const pollMs = 30;

/** Starts Envoy. Resolves when it accepts connections. */
export async function startEnvoy(
  context: StartContext,
  envoy: { readonly command: Command; readonly files: RunFolder; readonly admin: EnvoyAdmin },
  own: Own,
): Promise<void> {
  const { command, files, admin } = envoy;
  await startPart(context, parts.envoy, {
    own,
    launch: (logPath, over) => {
      // Sockets that a killed Envoy left would stop the next one from listening.
      for (const socket of [files.adminSocket, files.egressSocket]) rmSync(socket, { force: true });
      const child = startChild({ ...command, logPath });
      const untilReady = async (): Promise<void> => {
        while (!over.aborted && !(await admin.isReady())) await pause(pollMs, over);
      };
      return { child, isUp: untilReady(), isAnswering: admin.isAnswering };
    },
  });
}

/** Starts the service on a catalog. Resolves, when it serves, to the ports it has. */
export async function startService(context: StartContext, catalog: CatalogPlace, own: Own): Promise<ServicePorts> {
  const { data, folders, report } = context;
  let ports: ServicePorts = { ops: 9090, admin: 9091 };
  await startPart(context, parts.service, {
    own,
    launch: (logPath) =>
      launchService({
        data,
        run: folders.run,
        catalog,
        // A restarted service keeps the ports that were printed.
        ports,
        logPath,
        report,
        onPorts: (bound) => {
          ports = bound;
        },
      }),
  });
  return ports;
}

/** Supervises one part from its first start on. Resolves when it is up, or when the operator wants the gateway to end. */
async function startPart(
  { folders, report, stop, silenceMs }: StartContext,
  part: (typeof parts)[keyof typeof parts],
  { own, launch }: { readonly own: Own; readonly launch: (logPath: string, over: AbortSignal) => Launched },
): Promise<void> {
  const supervised = supervise({
    name: part.name,
    launch: (over) => launch(join(folders.logs, part.log), over),
    onPid: (pid) => folders.record.note(part.recordedAs, pid),
    report,
    silenceMs,
    clock: systemClock,
  });
  own(supervised);
  await waitUntilUp(supervised, stop);
}

const patienceMs = 120_000;

/** Throws StartRefusal when the part never came up, and returns early when the operator wants the gateway to end. */
async function waitUntilUp({ up }: Supervised, stop: AbortSignal): Promise<void> {
  const startedAt = systemClock.elapsed();
  const over = new AbortController();
  const reason = await Promise.race([
    up,
    pause(patienceMs, AbortSignal.any([stop, over.signal])).then(() =>
      stop.aborted ? undefined : `It was not ready after ${Math.round((systemClock.elapsed() - startedAt) / 1000)} s.`,
    ),
  ]);
  over.abort();
  if (reason !== undefined && !stop.aborted) throw new StartRefusal(reason);
}
