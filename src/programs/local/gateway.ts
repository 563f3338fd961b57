import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { RunFolder } from '../../control/envoy/config/run-folder.ts';
import type { EnvoyAdmin } from '../../control/envoy/runtime/admin.ts';
import { type Command, startChild } from './child.ts';
import { pause, systemClock } from '../../process/clock.ts';
import { type Launched, supervise, type Supervised } from './supervise.ts';
import { copyDemoManifests, launchDemoEngine } from './demo-engine.ts';
import type { OwnFolders } from './own-folders.ts';
import type { StartSettings } from '../../process/settings/settings.ts';
import { refusal } from '../../books/core/operator-refusals.ts';

/** The context in which every part of the gateway is started. */
export interface StartContext {
  readonly data: string;
  readonly folders: OwnFolders;
  readonly report: (line: string) => void;
  /** Aborted when the operator wants the gateway to end. */
  readonly stop: AbortSignal;
  readonly settings: StartSettings;
  /** How long the service and Envoy may leave questions without an answer; 0: no limit. */
  readonly silenceMs: number;
}

/** Registers a part as soon as it is started, so that it is stopped at the end. */
export type Own = (supervised: Pick<Supervised, 'stop'>) => void;

/** The names of one program of the gateway: in messages, in the record of processes, and of its log file. */
interface PartNames {
  readonly name: string;
  readonly recordedAs: string;
  readonly log: string;
}

const parts = {
  demoEngine: { name: 'The demo engine', recordedAs: 'the demo engine', log: 'demo-engine.log' },
  envoy: { name: 'Envoy', recordedAs: 'Envoy', log: 'envoy.log' },
} as const;

/** Starts the demo engine and resolves to the folder of its manifests. */
export async function startDemoEngine(context: StartContext, own: Own): Promise<string> {
  let port = 0;
  await startPart(context, parts.demoEngine, {
    own,
    // A restarted engine listens on the port that the manifests name.
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

/** Supervises one part from its first start on. Resolves when it is up, or when the operator wants the gateway to end. */
async function startPart(
  context: StartContext,
  part: PartNames,
  { own, launch }: { readonly own: Own; readonly launch: (logPath: string, over: AbortSignal) => Launched },
): Promise<void> {
  const supervised = supervisePart(context, part, launch);
  own(supervised);
  await waitUntilUp(supervised, context.stop);
}

/** Starts a part, and starts it again whenever it ends by itself. */
export function supervisePart(
  { folders, report, silenceMs }: StartContext,
  { name, recordedAs, log }: PartNames,
  launch: (logPath: string, over: AbortSignal) => Launched,
): Supervised {
  return supervise({
    name,
    launch: (over) => launch(join(folders.logs, log), over),
    onPid: (pid) => folders.record.note(recordedAs, pid),
    report,
    silenceMs,
    clock: systemClock,
  });
}

const timeoutMs = 120_000;

/** Throws a Refusal if the part never came up. Returns early when the operator ends the gateway. */
export async function waitUntilUp({ up }: Supervised, stop: AbortSignal): Promise<void> {
  const startedAt = systemClock.elapsed();
  const over = new AbortController();
  const reason = await Promise.race([
    up,
    pause(timeoutMs, AbortSignal.any([stop, over.signal])).then(() =>
      stop.aborted ? undefined : `It was not ready after ${Math.round((systemClock.elapsed() - startedAt) / 1000)} s.`,
    ),
  ]);
  over.abort();
  if (reason !== undefined && !stop.aborted) throw refusal('part_not_ready', { reason });
}
