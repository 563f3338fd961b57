import { join } from 'node:path';
import { rmSync } from 'node:fs';
import type { EnvoyAdmin } from '../../envoy/runtime/admin.ts';
import { pause, systemClock } from '../../process/clock.ts';
import { type Launched, supervise, type Supervised } from '../../process/supervise.ts';
import type { Command } from '../../process/tied-command.ts';
import type { RunFolder } from '../../envoy/config/run-folder.ts';
import { copyDemoManifests, launchDemoEngine } from './demo-engine.ts';
import { type CatalogPlace, launchService, type ServicePorts } from './launch-service.ts';
import type { OwnFolders } from './own-folders.ts';
import { StartRefusal } from './refusal.ts';
import { startChild } from '../../process/child.ts';

const pollMs = 30;

/** Starts Envoy. `isUp` resolves when it is live: its listeners accept. */
function launchEnvoy(
  command: Command,
  options: {
    readonly logPath: string;
    readonly admin: EnvoyAdmin;
    /** Sockets that Envoy binds; what a killed one left of them is removed first. */
    readonly sockets: readonly string[];
    readonly over: AbortSignal;
  },
): Launched {
  for (const socket of options.sockets) rmSync(socket, { force: true });
  const child = startChild({ ...command, logPath: options.logPath });
  const watch = async (): Promise<void> => {
    while (!options.over.aborted && !(await options.admin.isReady())) await pause(pollMs, options.over);
  };
  return { child, isUp: watch(), isAnswering: options.admin.isAnswering };
}

/** What every part of the gateway is started with. */
export interface Surroundings {
  readonly data: string;
  readonly folders: OwnFolders;
  readonly report: (line: string) => void;
  /** Aborted when the operator wants it to end. */
  readonly stop: AbortSignal;
  /** How long the service and Envoy may leave questions without an answer; 0: for ever. */
  readonly silenceMs: number;
}

const patienceMs = 120_000;

/** Starts the demo engine and resolves to the folder of its manifests. */
export async function startDemoEngine(
  { data, folders, report, stop, silenceMs }: Surroundings,
  own: (supervised: Supervised) => void,
): Promise<string> {
  let port = 0;
  const engine = supervise({
    name: 'The demo engine',
    // A later life listens where the manifests say.
    launch: () =>
      launchDemoEngine({
        port,
        logPath: join(folders.logs, 'demo-engine.log'),
        onPort: (taken) => {
          port = taken;
        },
      }),
    onPid: (pid) => folders.record.note('the demo engine', pid),
    report,
    silenceMs,
    clock: systemClock,
  });
  own(engine);
  await waitUntilUp(engine, stop);
  const manifests = join(data, 'manifests-demo');
  copyDemoManifests(manifests, port);
  return manifests;
}

/** Starts Envoy. Resolves when it accepts connections. */
export async function startEnvoy(
  { folders, report, stop, silenceMs }: Surroundings,
  envoy: { readonly command: Command; readonly files: RunFolder; readonly admin: EnvoyAdmin },
  own: (supervised: Supervised) => void,
): Promise<void> {
  const { command, files, admin } = envoy;
  const supervised = supervise({
    name: 'Envoy',
    launch: (over) =>
      launchEnvoy(command, {
        logPath: join(folders.logs, 'envoy.log'),
        admin,
        sockets: [files.adminSocket, files.egressSocket],
        over,
      }),
    onPid: (pid) => folders.record.note('Envoy', pid),
    report,
    silenceMs,
    clock: systemClock,
  });
  own(supervised);
  await waitUntilUp(supervised, stop);
}

/** Starts the service on a catalog. Resolves, when it serves, to the ports it has. */
export async function startService(
  { data, folders, report, stop, silenceMs }: Surroundings,
  catalog: CatalogPlace,
  own: (supervised: Supervised) => void,
): Promise<ServicePorts> {
  let ports: ServicePorts = { ops: 9090, admin: 9091 };
  const supervised = supervise({
    name: 'The service',
    launch: () =>
      launchService({
        data,
        run: folders.run,
        catalog,
        // A later life keeps the ports that were printed.
        ports,
        logPath: join(folders.logs, 'service.log'),
        report,
        onPorts: (taken) => {
          ports = taken;
        },
      }),
    onPid: (pid) => folders.record.note('the service', pid),
    report,
    silenceMs,
    clock: systemClock,
  });
  own(supervised);
  await waitUntilUp(supervised, stop);
  return ports;
}

/** Throws StartRefusal when it never came up, and returns early when the operator wants it to end. */
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
