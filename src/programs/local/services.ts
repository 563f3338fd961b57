import { join } from 'node:path';
import { every } from '../../core/clock.ts';
import type { LogLevel } from '../../core/log-level.ts';
import type { ProblemReport } from '../../control/core/problem.ts';
import type { EnvoyAdmin } from '../../control/envoy/runtime/admin.ts';
import { createLoadShedder, shedAtEnvoy } from '../../control/envoy/runtime/load-shedder.ts';
import { systemClock } from '../../process/clock.ts';
import type { StartSettings } from '../../process/settings/settings.ts';
import type { CatalogPlace } from './catalog-place.ts';
import { type Own, type StartContext, supervisePart, waitUntilUp } from './gateway.ts';
import { createProblemLines } from './problem-lines.ts';
import type { HeldProgram } from './launch-program.ts';
import { holdService, launchService, type ServicePlace } from './launch-service.ts';

interface ServicesOptions {
  readonly catalog: CatalogPlace;
  readonly count: number;
  /** Whether a portal shows the prices that a service records. */
  readonly hasPortal: boolean;
  /** The programs of the services, by `holdServices`. */
  readonly held: readonly HeldProgram[];
  readonly admin: EnvoyAdmin;
  /**
   * Called once, when Envoy can ask each service for endpoints. Envoy logs a warning for every service that it cannot
   * reach.
   */
  readonly onListening: () => void;
  /** Called once, when the ops port of each service listens. In the order of the services' numbers. */
  readonly onOps: (ports: readonly number[]) => void;
}

/** The place of a service; undefined: the service has its own Envoy. */
const placeOf = (number: number, of: number): ServicePlace | undefined => (of === 1 ? undefined : { number, of });

/** The names of a service: in messages, in the record of processes, and of its log file. */
const namesOf = (place: ServicePlace | undefined) =>
  place === undefined
    ? { name: 'The service', recordedAs: 'the service', log: 'service.log' }
    : {
        name: `Service ${place.number}`,
        recordedAs: `service ${place.number}`,
        log: `service-${place.number}.log`,
      };

/** Starts the programs of the services, which wait for `startServices`. */
export function holdServices({ data, folders }: StartContext, count: number): readonly HeldProgram[] {
  return Array.from({ length: count }, (_, index) => {
    const place = placeOf(index + 1, count);
    return holdService({ data, run: folders.run, place, logPath: join(folders.logs, namesOf(place).log) });
  });
}

const stepMs = 100;
const lookMs = 1_000;

/**
 * Starts the services on a catalog, each of which is started again when it ends. Resolves when all of them serve, or
 * when the operator wants the gateway to end.
 */
export async function startServices(context: StartContext, options: ServicesOptions, own: Own): Promise<void> {
  const { count, admin } = options;
  const percents = new Map<number, number>();
  const problems = createProblemLines({ print: context.report, clock: systemClock });
  const services = Array.from({ length: count }, (_, index) => {
    const number = index + 1;
    return startService(context, options, {
      place: placeOf(number, count),
      onEnded: () => percents.delete(number),
      onShed: (percent) => percents.set(number, percent),
      onProblems: (report) => problems.take(number, report),
    });
  });
  const stops: (() => void | Promise<void>)[] = [];
  if (count > 1) {
    // Envoy refuses a request only if all services would refuse it.
    const shedder = createLoadShedder({
      shed: shedAtEnvoy(admin),
      clock: systemClock,
      stepMs,
      next: () => (percents.size === 0 ? 1 : 1 - Math.min(...percents.values()) / 100),
    });
    stops.push(every(systemClock, lookMs, problems.look), shedder.close);
  }
  own({
    stop: async (graceMs) => {
      for (const stop of stops) await stop();
      await Promise.all(services.map(({ supervised }) => supervised.stop(graceMs)));
    },
  });
  void Promise.all(services.map(({ isListening }) => isListening)).then(options.onListening);
  void Promise.all(services.map(({ opsPort }) => opsPort)).then(options.onOps);
  await Promise.all(services.map(({ supervised }) => waitUntilUp(supervised, context.stop)));
}

interface ServiceRole {
  readonly place: ServicePlace | undefined;
  readonly onEnded: () => void;
  readonly onShed: (percent: number) => void;
  /** Receives the service's problems whenever they change. */
  readonly onProblems: (report: ProblemReport) => void;
}

/** The ops port for a service, or 0. Further services use the ports after the first one's, without the portal's. */
function wantedOpsPort(settings: StartSettings, number: number): number {
  const { WEIR_OPS_PORT: first, WEIR_ADMIN_PORT: portal } = settings;
  if (first === 0) return 0;
  const next = first + number - 1;
  const port = first < portal && portal <= next ? next + 1 : next;
  return port <= maxPort ? port : 0;
}

const maxPort = 65_535;

function startService(
  context: StartContext,
  { catalog, held, hasPortal }: ServicesOptions,
  { place, onEnded, onShed, onProblems }: ServiceRole,
) {
  const number = place?.number ?? 1;
  let opsPort = wantedOpsPort(context.settings, number);
  let logLevel: LogLevel | undefined;
  const listening = Promise.withResolvers<void>();
  const ops = Promise.withResolvers<number>();
  const supervised = supervisePart(context, namesOf(place), (logPath) => {
    const launched = launchService({
      data: context.data,
      run: context.folders.run,
      catalog,
      // A restarted service keeps the port that was printed, and the level that its log was set to.
      opsPort,
      logLevel,
      place,
      recordsPrices: hasPortal && number === 1,
      responses: context.settings.WEIR_RESPONSES,
      logPath,
      held: held[number - 1],
      onLogLevel: (level) => {
        logLevel = level;
      },
      onOpsPort: (bound) => {
        if (opsPort !== 0 && bound !== opsPort)
          context.report(`Port ${opsPort} is taken by another program; the ops port is ${bound}.`);
        opsPort = bound;
        ops.resolve(bound);
      },
      onShed,
      onProblems,
    });
    void launched.isListening.then(listening.resolve);
    void launched.child.ended.then(onEnded);
    return launched;
  });
  return {
    supervised,
    /** Resolves when the service listens for Envoy for the first time. */
    isListening: listening.promise,
    /** Resolves when the ops port listens for the first time. A restarted service keeps the port. */
    opsPort: ops.promise,
  };
}
