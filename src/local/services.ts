import { join } from 'node:path';
import type { RunFolder } from '../envoy/config/run-folder.ts';
import { every } from '../core/clock.ts';
import type { LogLevel } from '../core/log-level.ts';
import type { ProblemReport } from '../core/problem.ts';
import type { ServiceState } from '../envoy/config/service-cluster.ts';
import type { EnvoyAdmin } from '../envoy/runtime/admin.ts';
import { createLoadShedder, shedAtEnvoy } from '../envoy/runtime/load-shedder.ts';
import { openServicesFile } from '../envoy/runtime/services-file.ts';
import { pause, systemClock } from '../process/clock.ts';
import type { StartSettings } from '../settings.ts';
import type { Supervised } from './supervise.ts';
import type { CatalogPlace } from './catalog-place.ts';
import { type Own, type StartContext, supervisePart, waitUntilUp } from './gateway.ts';
import { createNeededServices, type ServiceUse, withSpares } from './needed-services.ts';
import { createProblemLines } from './problem-lines.ts';
import type { HeldProgram } from './launch-program.ts';
import { holdService, type LaunchedService, launchService, type ServicePlace } from './launch-service.ts';

/** The services of a gateway that serves: one, or several behind one Envoy. */
export interface Services {
  /**
   * Replaces the services one by one: each gets no new requests, finishes its open requests, ends, and is started again
   * before the next one is replaced. Ends early, with a message, if a service does not come up again. Not for a single
   * service.
   */
  readonly replaceAll: () => Promise<void>;
}

interface ServicesOptions {
  readonly catalog: CatalogPlace;
  readonly count: number;
  /** The programs of the services, by `holdServices`. */
  readonly held: readonly HeldProgram[];
  readonly files: RunFolder;
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
/** Services are compared as often as each of them is asked (`src/local/supervise.ts`). */
const lookMs = 1_000;

/** Starts the services on a catalog. Resolves when all of them serve, or when the operator wants the gateway to end. */
export async function startServices(context: StartContext, options: ServicesOptions, own: Own): Promise<Services> {
  const { count, files, admin } = options;
  const percents = new Map<number, number>();
  const several = count === 1 ? undefined : openPlaces(options);
  const problems = createProblemLines({ print: context.report, clock: systemClock });
  const services = Array.from({ length: count }, (_, index) => {
    const number = index + 1;
    return startService(context, options, {
      place: placeOf(number, count),
      publish: (state) => {
        several?.set(number, state);
        if (state === 'away') percents.delete(number);
        else percents.set(number, percents.get(number) ?? 0);
      },
      onUse: (use) => several?.uses.set(number, use),
      onShed: (percent) => percents.set(number, percent),
      onProblems: (report) => problems.take(number, report),
    });
  });
  // Envoy refuses a request only if all services would refuse it.
  const shedder =
    several &&
    createLoadShedder({
      shed: shedAtEnvoy(admin),
      clock: systemClock,
      stepMs,
      next: () => (percents.size === 0 ? 1 : 1 - Math.min(...percents.values()) / 100),
    });
  const cancelLooks =
    several &&
    every(systemClock, lookMs, () => {
      several.look();
      problems.look();
    });
  own({
    stop: async (graceMs) => {
      cancelLooks?.();
      await shedder?.close();
      await Promise.all(services.map(({ supervised }) => supervised.stop(graceMs)));
    },
  });
  void Promise.all(services.map(({ isListening }) => isListening)).then(options.onListening);
  void Promise.all(services.map(({ opsPort }) => opsPort)).then(options.onOps);
  await Promise.all(services.map(({ supervised }) => waitUntilUp(supervised, context.stop)));
  return {
    replaceAll: async () => {
      if (several === undefined) return;
      for (const [index, service] of services.entries()) {
        if (context.stop.aborted) return;
        const isCovered = services.some((other) => other !== service && other.state() === 'serving');
        const name = `service ${index + 1}`;
        if (!isCovered) {
          context.report(`Not replacing ${name}: no other service takes requests. Ask again when one does.`);
          return;
        }
        context.report(`Replacing ${name} of ${count} …`);
        const reason = await service.replace(several.confirmed);
        if (context.stop.aborted) return;
        if (reason !== undefined) {
          context.report(`${reason} The services after it were not replaced.`);
          return;
        }
      }
      context.report(`All ${count} services were replaced.`);
    },
  };

  function openPlaces({ count: of }: ServicesOptions) {
    const states = Array.from({ length: of }, (): ServiceState => 'away');
    const file = openServicesFile({ files, admin, clock: systemClock, first: [...states] });
    const uses = new Map<number, ServiceUse>();
    const needed = createNeededServices(of);
    let serving = of;
    return {
      confirmed: file.confirmed,
      uses,
      set: (number: number, state: ServiceState) => {
        states[number - 1] = state;
        file.set(withSpares(states, serving));
      },
      look: () => {
        serving = needed([...uses].flatMap(([number, use]) => (states[number - 1] === 'serving' ? [use] : [])));
        file.set(withSpares(states, serving));
      },
    };
  }
}

interface StartedService {
  readonly supervised: Supervised;
  /** Resolves when the service listens for Envoy for the first time. */
  readonly isListening: Promise<void>;
  /** Resolves when the ops port listens for the first time. A restarted service keeps the port. */
  readonly opsPort: Promise<number>;
  readonly state: () => ServiceState;
  /** Resolves to undefined when the next run serves, or else to the reason why it does not. */
  readonly replace: (confirmed: () => Promise<boolean>) => Promise<string | undefined>;
}

interface ServiceRole {
  readonly place: ServicePlace | undefined;
  /** Receives every state of the service, also an unchanged one. */
  readonly publish: (state: ServiceState) => void;
  /** Receives how busy the service was, each time it is asked. */
  readonly onUse: (use: ServiceUse) => void;
  readonly onShed: (percent: number) => void;
  /** Receives the service's problems whenever they change. */
  readonly onProblems: (report: ProblemReport) => void;
}

/** A service that has not answered for so long gets requests only if no other service is better. */
const strainedAfterMs = 2_000;
/** How long `weir envoy drain` waits: the longest answers take minutes. */
const drainWithinMs = 600_000;
const drainPollMs = 100;
const replaceGraceMs = 10_000;

/** The ops port for a service, or 0. Further services use the ports after the first one's, without the portal's. */
function wantedOpsPort(settings: StartSettings, number: number): number {
  const { WEIR_OPS_PORT: first, WEIR_ADMIN_PORT: portal } = settings;
  if (first === 0) return 0;
  const next = first + number - 1;
  const port = first < portal && portal <= next ? next + 1 : next;
  return port <= highestPort ? port : 0;
}

const highestPort = 65_535;

/** Starts one service and publishes its state to Envoy. */
function startService(
  context: StartContext,
  { catalog, held }: ServicesOptions,
  { place, publish, onUse, onShed, onProblems }: ServiceRole,
): StartedService {
  const number = place?.number ?? 1;
  let opsPort = wantedOpsPort(context.settings, number);
  let phase: 'down' | 'up' | 'draining' = 'down';
  let isStrained = false;
  let logLevel: LogLevel | undefined;
  let current: LaunchedService | undefined;
  const listening = Promise.withResolvers<void>();
  const ops = Promise.withResolvers<number>();
  const state = (): ServiceState => {
    if (phase !== 'up') return 'away';
    return isStrained ? 'strained' : 'serving';
  };
  const enter = (next: typeof phase, strained = false): void => {
    phase = next;
    isStrained = strained;
    publish(state());
  };

  function launch(logPath: string, over: AbortSignal): LaunchedService {
    const launched = launchService({
      data: context.data,
      run: context.folders.run,
      catalog,
      // A restarted service keeps the port that was printed, and the level that its log was set to.
      opsPort,
      logLevel,
      place,
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
    current = launched;
    enter('down');
    void launched.isListening.then(listening.resolve);
    void launched.isUp.then(() => {
      if (!over.aborted) enter('up');
    });
    void launched.child.ended.then(() => enter('down'));
    return { ...launched, isAnswering: () => watched(launched) };
  }

  /**
   * Asks the service whether it responds. Takes the service out of rotation while it does not respond, or while it
   * refuses requests.
   */
  async function watched({ look, child }: LaunchedService): Promise<boolean> {
    let isLate = false;
    const cancel = systemClock.after(strainedAfterMs, () => {
      isLate = true;
      if (phase === 'up') enter('up', true);
    });
    const result = await Promise.race([look(), child.ended.then(() => undefined)]);
    cancel();
    if (result === undefined) return false;
    if (result.use !== undefined) onUse(result.use);
    // A service that was asleep measured its first report before it slept. So `isLate` counts, too, and the next report
    // is up to date.
    const strained = isLate || result.isOverloaded;
    if (phase === 'up' && strained !== isStrained) enter('up', strained);
    return true;
  }

  async function untilIdle(service: LaunchedService): Promise<void> {
    const deadline = systemClock.elapsed() + drainWithinMs;
    while (phase === 'draining' && !context.stop.aborted) {
      const result = await Promise.race([service.look(), service.child.ended.then(() => undefined)]);
      if (result === undefined || result.open === 0) return;
      if (systemClock.elapsed() >= deadline) {
        context.report(
          `Service ${number} still has ${result.open ?? 0} open request(s) after ten minutes; ending them.`,
        );
        return;
      }
      await pause(drainPollMs, context.stop);
    }
  }

  const supervised = supervisePart(context, namesOf(place), launch);
  return {
    supervised,
    isListening: listening.promise,
    opsPort: ops.promise,
    state,
    replace: async (confirmed) => {
      // A service that is down or has just come up has no requests to finish.
      if (phase === 'up' && current !== undefined) {
        enter('draining');
        await confirmed();
        await untilIdle(current);
      }
      return context.stop.aborted ? undefined : supervised.replace(replaceGraceMs);
    },
  };
}
