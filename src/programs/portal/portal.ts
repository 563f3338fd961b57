import { hostInUrl } from '../../core/address.ts';
import { argumentsOf } from '../../process/held-start.ts';
import { lowerPriorityOfProcess } from '../../process/machine.ts';
import { readPortalSettings } from '../../process/settings/read-settings.ts';
import { type PortalSettings, portalSettingsSchema } from '../../process/settings/settings.ts';
import { settingsHelp } from '../../process/settings/settings-help.ts';
import { readFlags, withFlags } from '../command-line/flags.ts';
import { runProgram } from '../command-line/run-program.ts';
import { print } from '../command-line/print.ts';

/** Runs `weir portal` until a signal stops it. Resolves with the exit code. */
export function run(argv: readonly string[]): Promise<number> {
  // The modules load while the arguments may not be known yet.
  const loading = import('./running-portal.ts');
  return runProgram(
    'portal',
    async () => settingsFrom(await argumentsOf(argv)),
    async (settings, { programLog, announce }) => {
      const { startPortal } = await loading;
      const portal = await startPortal(settings, { ...programLog, isPortAsked: isPortAsked(argv) });
      // Streams are more important than pages on a shared machine. The start has normal priority: on a busy machine a
      // start at the lowest priority takes many seconds.
      lowerPriorityOfProcess();
      announce({ type: 'ready', port: portal.port });
      if (process.send === undefined) {
        print(`ready http://${hostInUrl(settings.WEIR_ADMIN_HOST)}:${portal.port}\n`);
      }
      return portal;
    },
  );
}

const help = (): string =>
  [
    'Usage: weir portal [--data DIR] [--port N]',
    '',
    'Serves the portal and its admin API (docs/how-to/portal.md). Each setting is an environment variable; a flag wins over it.',
    '',
    settingsHelp(portalSettingsSchema),
    '',
  ].join('\n');

/** The flags of `weir portal`. */
export const flags = {
  data: { type: 'string' },
  port: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const;

/** The settings; flags override the environment. Undefined after it printed the help. Throws like `readSettings`. */
function settingsFrom(argv: readonly string[]): PortalSettings | undefined {
  const values = readFlags('portal', argv, flags);
  if (values.help === true) {
    print(help());
    return undefined;
  }
  return readPortalSettings(withFlags({ WEIR_DATA: values.data, WEIR_ADMIN_PORT: values.port }));
}

/** Whether the operator named the port. `weir start` passes one on that it may have chosen itself. */
const isPortAsked = (argv: readonly string[]): boolean =>
  process.send === undefined &&
  (process.env['WEIR_ADMIN_PORT'] !== undefined || argv.some((word) => word.startsWith('--port')));
