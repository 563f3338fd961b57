import { setFlagsFromString } from 'node:v8';
import { makeDataFolder } from '../../process/data-folder.ts';
import { argumentsOf } from '../../process/held-start.ts';
import { readSettings } from '../../read-settings.ts';
import { type Settings, settingsSchema } from '../../settings.ts';
import { settingsHelp } from '../../settings-help.ts';
import { startStoreThread } from '../../store/open-store.ts';
import { readFlags, withFlags } from '../flags.ts';
import { runProgram } from '../run-program.ts';
import { flagsOfService } from './v8-flags.ts';

/** Runs `weir serve` until it is asked to stop. Resolves with the exit code. */
export function run(argv: readonly string[]): Promise<number> {
  // The modules of the thread, those of this thread and the arguments are waited for side by side.
  const storeThread = startStoreThread();
  const loading = Promise.all([import('./open-alerts.ts'), import('./service.ts')]);
  return runProgram(
    'serve',
    async () => settingsFrom(await argumentsOf(argv)),
    async (settings, surroundings) => {
      makeDataFolder(settings.WEIR_DATA);
      const [{ openAlerts }, { startService }] = await loading;
      const alerts = await openAlerts(settings, surroundings.programLog);
      const service = await startService(settings, { ...surroundings, storeThread, webhooks: alerts.deliveries });
      for (const flag of flagsOfService) setFlagsFromString(flag);
      const close = async (): Promise<void> => {
        await Promise.all([alerts.close(), service.close()]);
      };
      return { ...service, close };
    },
  );
}

const help = (): string =>
  [
    'Usage: weir serve [--data DIR] [--run DIR] [--manifests DIR] [--ops-port N]',
    '',
    'Runs the service that Envoy hands its requests to. Each setting is an environment variable; a flag wins over it.',
    '',
    settingsHelp(settingsSchema),
    '',
    "With OTEL_EXPORTER_OTLP_ENDPOINT requests are traced, as OpenTelemetry's variables say (docs/tracing.md).",
    '',
  ].join('\n');

/**
 * The settings of `weir serve`; flags override the environment. Undefined after it printed the help. Throws like
 * `readSettings`.
 */
function settingsFrom(argv: readonly string[]): Settings | undefined {
  const values = readFlags('serve', argv, {
    data: { type: 'string' },
    run: { type: 'string' },
    manifests: { type: 'string' },
    'ops-port': { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  });
  if (values.help === true) {
    process.stdout.write(help());
    return undefined;
  }
  return readSettings(
    withFlags({
      WEIR_DATA: values.data,
      WEIR_RUN: values.run,
      WEIR_MANIFESTS: values.manifests,
      WEIR_OPS_PORT: values['ops-port'],
    }),
  );
}
