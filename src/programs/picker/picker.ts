import { readPickerSettings } from '../../process/settings/read-settings.ts';
import { type PickerSettings, pickerSettingsSchema } from '../../process/settings/settings.ts';
import { settingsHelp } from '../../process/settings/settings-help.ts';
import { readFlags, withFlags } from '../command-line/flags.ts';
import { runProgram } from '../command-line/run-program.ts';
import { startPicker } from './running-picker.ts';
import { print } from '../command-line/print.ts';

/** Runs `weir picker` until a signal stops it. Resolves with the exit code. */
export function run(argv: readonly string[]): Promise<number> {
  return runProgram(
    'picker',
    () => settingsFrom(argv),
    async (settings, surroundings) => {
      const picker = await startPicker(settings, surroundings);
      surroundings.announce({ type: 'ready', port: picker.port });
      return picker;
    },
  );
}

const help = (): string =>
  [
    'Usage: weir picker --pool NAMESPACE/NAME | --endpoint IP:PORT… [--port N] [--ops-port N]',
    '',
    'Answers the endpoint-picker protocol of the Gateway API Inference Extension (docs/how-to/picker.md): another gateway requests',
    'the endpoint of each request and forwards the request itself. Each setting is an environment variable; a flag wins',
    'over it.',
    '',
    settingsHelp(pickerSettingsSchema),
    '',
  ].join('\n');

/** The flags of `weir picker`. */
export const flags = {
  pool: { type: 'string' },
  endpoint: { type: 'string', multiple: true },
  port: { type: 'string' },
  'ops-port': { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const;

/** The settings; flags override the environment. Undefined after it printed the help. Throws like `readSettings`. */
function settingsFrom(argv: readonly string[]): PickerSettings | undefined {
  const values = readFlags('picker', argv, flags);
  if (values.help === true) {
    print(help());
    return undefined;
  }
  return readPickerSettings(
    withFlags({
      WEIR_PICKER_POOL: values.pool,
      WEIR_PICKER_ENDPOINTS: values.endpoint?.join(','),
      WEIR_PICKER_PORT: values.port,
      WEIR_OPS_PORT: values['ops-port'],
    }),
  );
}
