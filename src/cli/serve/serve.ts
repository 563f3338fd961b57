import { parseArgs } from 'node:util';
import { type LogStream, logToStandardOutput } from '../../process/log-stream.ts';
import { messageOf } from '../../core/failure.ts';
import { type RunningService, startService } from './service.ts';
import { readSettings, type Settings, settingsSchema } from '../../settings.ts';

/** How long the last records of the log are waited for. */
const lastLogMs = 500;

/** Runs `weir serve` until it is told to stop. Resolves with the exit code. */
export async function run(argv: readonly string[]): Promise<number> {
  const stop = Promise.withResolvers<number>();
  // Output that nobody reads any more is no error.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  let output: LogStream | undefined;
  let service: RunningService | undefined;
  let code: number;
  try {
    const settings = settingsFrom(argv);
    if (settings === undefined) return 0;
    // Before anything else: the first process of a container ignores a signal without a handler.
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop.resolve(0));
    // Without its supervisor nothing would ever stop this process.
    process.once('disconnect', () => stop.resolve(0));
    // The supervisor asks whether the event loop of this process still runs, and how busy it is.
    process.on('message', (message) => {
      if (message === 'ping') announce({ type: 'alive', ...service?.look() });
    });
    output = logToStandardOutput();
    service = await startService(settings, {
      output,
      announce,
      stopped: stop.promise,
      fatal: (error) => {
        announce({ type: 'fatal', message: error.message });
        stop.resolve(1);
      },
    });
    code = await stop.promise;
    await service.close();
    // An open channel would keep the process alive.
    if (process.connected) process.disconnect?.();
  } catch (error) {
    const message = messageOf(error);
    announce({ type: 'fatal', message });
    process.stderr.write(`weir serve: ${message}\n`);
    code = 1;
  }
  // A write that nobody reads would keep the process alive.
  if ((await output?.close(lastLogMs)) === false) process.exit(code);
  return code;
}

/** Tells the supervisor, where there is one. */
function announce(message: Readonly<Record<string, unknown>>): void {
  // A supervisor that is gone is no error.
  process.send?.(message, undefined, undefined, () => undefined);
}

const help = (): string =>
  [
    'Usage: weir serve [--data DIR] [--run DIR] [--manifests DIR] [--ops-port N]',
    '',
    'Runs the service that Envoy hands its requests to. Each setting is an environment variable; a flag wins over it.',
    '',
    ...Object.entries(settingsSchema.shape).map(([name, schema]) => `  ${name.padEnd(20)} ${schema.description ?? ''}`),
    '',
  ].join('\n');

/** The settings of `weir serve`, its flags before the environment. Undefined after printing the help, when that was asked for. Throws as `readSettings`. */
export function settingsFrom(argv: readonly string[]): Settings | undefined {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      data: { type: 'string' },
      run: { type: 'string' },
      manifests: { type: 'string' },
      'ops-port': { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help === true) {
    process.stdout.write(help());
    return undefined;
  }
  const given = {
    WEIR_DATA: values.data,
    WEIR_RUN: values.run,
    WEIR_MANIFESTS: values.manifests,
    WEIR_OPS_PORT: values['ops-port'],
  };
  const flags = Object.entries(given).filter(([, value]) => value !== undefined);
  return readSettings({ ...process.env, ...Object.fromEntries(flags) });
}
