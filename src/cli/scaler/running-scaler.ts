/** The scaler for KEDA: the only place that creates its parts. */
import { boundsWithin, portBounds } from '../../core/port-bounds.ts';
import { systemClock } from '../../process/clock.ts';
import { openFilesLimit } from '../../process/machine.ts';
import { createSlices } from '../../process/turns.ts';
import { systemLookUp } from '../../resolver/system-look-up.ts';
import type { ScalerSettings } from '../../scaler-settings.ts';
import { listenScaler } from '../../scaler/scaler-server.ts';
import { createServicesDemand } from '../../scaler/services-demand.ts';
import { limitRepeats } from '../../telemetry/ops/repeat-limit.ts';
import { createScalerMetrics } from '../../telemetry/ops/scaler-metrics.ts';
import { startOps } from '../../telemetry/ops/server.ts';
import type { ProgramLog } from '../program-log.ts';
import type { RunningProgram } from '../run-program.ts';
import { readTlsFiles } from '../tls-files.ts';

interface RunningScaler extends RunningProgram {
  readonly port: number;
}

/** Starts everything. Rejects with a sentence when a setting is wrong, or when it cannot listen. */
export async function startScaler(
  settings: ScalerSettings,
  { programLog }: { readonly programLog: Pick<ProgramLog, 'log'> },
): Promise<RunningScaler> {
  const tls = readTlsFiles(settings);
  const maxOpenFiles = openFilesLimit();
  const log = limitRepeats(programLog.log, systemClock);
  const metrics = createScalerMetrics({ streams: () => server.streams(), inSlices: createSlices() });
  const server = await listenScaler({
    ...{ host: settings.WEIR_SCALER_HOST, port: settings.WEIR_SCALER_PORT, tls, clock: systemClock },
    bounds: boundsWithin(portBounds.scaler, maxOpenFiles),
    demand: createServicesDemand({
      origins: settings.WEIR_SERVICES.map(({ origin }) => origin),
      lookUp: systemLookUp,
      clock: systemClock,
      onProblem: (service, problem) => log.warn({ service, problem }, 'a service of the gateway does not answer'),
      onAsked: metrics.asked,
    }),
    onAnswered: metrics.answered,
    onUnanswered: (scaledObject, { kind, message }) =>
      log.warn({ scaledObject, kind, problem: message }, 'a question of KEDA cannot be answered'),
  });
  let isClosing = false;
  const ops = await startOps({
    ...{ host: settings.WEIR_OPS_HOST, port: settings.WEIR_OPS_PORT, clock: systemClock, metrics: metrics.render },
    bounds: boundsWithin(portBounds.ops, maxOpenFiles),
    unready: () => (isClosing ? 'it is about to end' : undefined),
  });
  log.info({ port: server.port, opsPort: ops.port, tls: tls !== undefined }, 'ready');
  return {
    port: server.port,
    close: async () => {
      isClosing = true;
      await server.close();
      await ops.close();
    },
  };
}
