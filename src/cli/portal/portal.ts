import { parseArgs } from 'node:util';
import { messageOf } from '../../core/failure.ts';
import { type LogStream, logToStandardOutput } from '../../process/log-stream.ts';
import { type PortalSettings, portalSettingsSchema, readPortalSettings } from '../../settings.ts';
import { startPortal } from './running-portal.ts';

/** How long the last records of the log are waited for. */
const lastLogMs = 500;

/** Runs `weir portal` until it is told to stop. Resolves with the exit code. */
export async function run(argv: readonly string[]): Promise<number> {
  const stop = Promise.withResolvers<number>();
  // Output that nobody reads any more is no error.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  let output: LogStream | undefined;
  let code: number;
  try {
    const settings = settingsFrom(argv);
    if (settings === undefined) return 0;
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop.resolve(0));
    // Without its supervisor nothing would ever stop this process.
    process.once('disconnect', () => stop.resolve(0));
    process.on('message', (message) => {
      if (message === 'ping') announce({ type: 'alive' });
    });
    output = logToStandardOutput();
    const portal = await startPortal(settings, output);
    announce({ type: 'ready', port: portal.port });
    if (process.send === undefined) process.stdout.write(`ready ${addressOf(settings.WEIR_ADMIN_HOST, portal.port)}\n`);
    code = await stop.promise;
    await portal.close();
    // An open channel would keep the process alive.
    if (process.connected) process.disconnect?.();
  } catch (error) {
    const message = messageOf(error);
    announce({ type: 'fatal', message });
    process.stderr.write(`weir portal: ${message}\n`);
    code = 1;
  }
  // A write that nobody reads would keep the process alive.
  if ((await output?.close(lastLogMs)) === false) process.exit(code);
  return code;
}

function addressOf(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Tells the supervisor, where there is one. */
function announce(message: Readonly<Record<string, unknown>>): void {
  process.send?.(message, undefined, undefined, () => undefined);
}

const help = (): string =>
  [
    'Usage: weir portal [--data DIR] [--port N]',
    '',
    'Serves the portal and its admin API (docs/portal.md). Each setting is an environment variable; a flag wins over it.',
    '',
    ...Object.entries(portalSettingsSchema.shape).map(
      ([name, schema]) => `  ${name.padEnd(24)} ${schema.description ?? ''}`,
    ),
    '',
  ].join('\n');

/** The settings, flags before the environment. Undefined after printing the help, when that was asked for. Throws as `readSettings`. */
function settingsFrom(argv: readonly string[]): PortalSettings | undefined {
  const { values } = parseArgs({
    args: [...argv],
    options: { data: { type: 'string' }, port: { type: 'string' }, help: { type: 'boolean', short: 'h' } },
  });
  if (values.help === true) {
    process.stdout.write(help());
    return undefined;
  }
  const given = { WEIR_DATA: values.data, WEIR_ADMIN_PORT: values.port };
  const flags = Object.entries(given).filter(([, value]) => value !== undefined);
  return readPortalSettings({ ...process.env, ...Object.fromEntries(flags) });
}
