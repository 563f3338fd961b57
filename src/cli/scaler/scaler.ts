import { readScalerSettings } from '../../read-settings.ts';
import { type ScalerSettings, scalerSettingsSchema } from '../../scaler-settings.ts';
import { settingsHelp } from '../../settings-help.ts';
import { readFlags, withFlags } from '../flags.ts';
import { runProgram } from '../run-program.ts';
import { startScaler } from './running-scaler.ts';
import { print } from '../print.ts';

/** Runs `weir scaler` until a signal stops it. Resolves with the exit code. */
export function run(argv: readonly string[]): Promise<number> {
  return runProgram(
    'scaler',
    () => settingsFrom(argv),
    async (settings, surroundings) => {
      const scaler = await startScaler(settings, surroundings);
      surroundings.announce({ type: 'ready', port: scaler.port });
      return scaler;
    },
  );
}

const help = (): string =>
  [
    'Usage: weir scaler [--services URL…] [--port N] [--ops-port N]',
    '',
    'Answers the protocol of external scalers of KEDA (docs/autoscaling.md): a ScaledObject names a Backend, and KEDA gives it',
    'as many endpoints as its requests need. Each setting is an environment variable; a flag wins over it.',
    '',
    settingsHelp(scalerSettingsSchema),
    '',
  ].join('\n');

/** The settings; flags override the environment. Undefined after it printed the help. Throws like `readSettings`. */
function settingsFrom(argv: readonly string[]): ScalerSettings | undefined {
  const values = readFlags('scaler', argv, {
    services: { type: 'string', multiple: true },
    port: { type: 'string' },
    'ops-port': { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  });
  if (values.help === true) {
    print(help());
    return undefined;
  }
  return readScalerSettings(
    withFlags({
      WEIR_SERVICES: values.services?.join(','),
      WEIR_SCALER_PORT: values.port,
      WEIR_OPS_PORT: values['ops-port'],
    }),
  );
}
