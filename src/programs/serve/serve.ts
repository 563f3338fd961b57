import { setFlagsFromString } from 'node:v8';
import { watchDependencies } from '../../core/dependency-cause.ts';
import type { CancelTimer } from '../../core/clock.ts';
import { backgroundClock } from '../../process/clock.ts';
import { makeDataFolder } from '../../process/data-folder.ts';
import { argumentsOf } from '../../process/held-start.ts';
import { startWorker } from '../../process/worker-thread.ts';
import { readSettings } from '../../process/settings/read-settings.ts';
import { type Settings, settingsSchema } from '../../process/settings/settings.ts';
import { settingsHelp } from '../../process/settings/settings-help.ts';
import type { OpenStore } from '../../books/store/connect-store.ts';
import { startStoreThread } from '../../books/store/open-store.ts';
import { readFlags, withFlags } from '../command-line/flags.ts';
import type { ProgramLog } from '../command-line/program-log.ts';
import { runProgram } from '../command-line/run-program.ts';
import type { openEvents } from './open-events.ts';
import type { startService } from './service.ts';
import type { ServiceSurroundings } from './service-figures.ts';
import { print } from '../command-line/print.ts';

/**
 * V8's flags for a service, set when it has started. On the command line they would change the key of V8's code caches, and Node would
 * compile its own modules at each start, for 40 ms. The measurements are in docs/decisions/0022 and 0114.
 */
export const flagsOfService = [
  // After some hundred long streams, V8 would put more and more objects of each request into the old generation.
  '--no-allocation-site-pretenuring',
  // By default V8 compiles a function with its best compiler after 3,000 calls. The code before that puts some functions into the old
  // generation, where they keep alive what else a request made.
  '--invocation-count-for-turbofan=1000',
  // By default V8 marks the whole heap whenever buffers have grown by 10 MB: for every eighth prompt of 400 KB
  // (docs/decisions/0114).
  '--external-memory-accounted-in-global-limit',
] as const;

/** Runs `weir serve` until it is asked to stop. Resolves with the exit code. */
export function run(argv: readonly string[]): Promise<number> {
  // Both threads load their modules while the arguments may not be known yet.
  const storeThread = startStoreThread(startWorker);
  const loading = Promise.all([import('./open-events.ts'), import('./service.ts')]);
  return runProgram(
    'serve',
    async () => settingsFrom(await argumentsOf(argv)),
    async ({ number, recordsPrices, ...settings }, surroundings) => {
      makeDataFolder(settings.WEIR_DATA);
      const [{ openEvents }, { startService }] = await loading;
      const dependencies = watchDependencies();
      let changes: OpenStore['changes'] = () => undefined;
      const events = await openEvents(settings, surroundings.programLog, {
        reportOf: dependencies.of,
        changes: () => changes(),
      });
      const service = await startService(settings, {
        ...{ ...surroundings, number, storeThread, dependencies, references: events.store },
        ...{ events: events.deliveries, avoidable: events.avoidable },
      });
      changes = service.changes;
      for (const flag of flagsOfService) setFlagsFromString(flag);
      const stopPrices = recordsPrices
        ? await recordPrices(service, { ...surroundings.programLog, ...events })
        : undefined;
      const close = async (): Promise<void> => {
        stopPrices?.();
        await Promise.all([events.close(), service.close()]);
      };
      return { ...service, close };
    },
  );
}

/** Records the prices of the catalog that is served, until the returned function is called. */
async function recordPrices(
  { models }: Awaited<ReturnType<typeof startService>>,
  { log, store }: Pick<ProgramLog, 'log'> & Pick<Awaited<ReturnType<typeof openEvents>>, 'store'>,
): Promise<CancelTimer> {
  const [{ followPrices }, { pricesOf }] = await Promise.all([
    import('../../books/accounts/follow-prices.ts'),
    import('../../control/reconcilers/live-catalog.ts'),
  ]);
  return followPrices({
    ...{ store, log, clock: backgroundClock },
    prices: async () => [...models()].map(([id, model]) => [id, pricesOf(model)] as const),
  });
}

const help = (): string =>
  [
    'Usage: weir serve [--data DIR] [--run DIR] [--manifests DIR] [--ops-port N]',
    '',
    'Runs the service that Envoy hands its requests to. Each setting is an environment variable; a flag wins over it.',
    '',
    settingsHelp(settingsSchema),
    '',
    "With OTEL_EXPORTER_OTLP_ENDPOINT requests are traced, as OpenTelemetry's variables say (docs/operate/tracing.md).",
    '',
  ].join('\n');

/** The flags of `weir serve`. */
export const flags = {
  data: { type: 'string' },
  run: { type: 'string' },
  manifests: { type: 'string' },
  'ops-port': { type: 'string' },
  // From `weir start --replicas`.
  service: { type: 'string' },
  // From `weir start`, whose portal may not run yet.
  'record-prices': { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h' },
} as const;

/**
 * The settings of `weir serve`; flags override the environment. Undefined after it printed the help. Throws like
 * `readSettings`.
 */
function settingsFrom(
  argv: readonly string[],
): (Settings & Pick<ServiceSurroundings, 'number'> & { readonly recordsPrices: boolean }) | undefined {
  const values = readFlags('serve', argv, flags);
  if (values.help === true) {
    print(help());
    return undefined;
  }
  const settings = readSettings(
    withFlags({
      WEIR_DATA: values.data,
      WEIR_RUN: values.run,
      WEIR_MANIFESTS: values.manifests,
      WEIR_OPS_PORT: values['ops-port'],
    }),
  );
  const number = values.service === undefined ? undefined : Number(values.service);
  return { ...settings, number, recordsPrices: values['record-prices'] };
}
