import * as z from 'zod';
import type { LookUp } from '../core/address.ts';
import { reasonOf, serviceOrigins } from '../core/call-service.ts';
import { type Clock, every } from '../core/clock.ts';
import { diagnosesSchema, type DoctorQuestion } from '../core/diagnosis.ts';
import type { KeyBlock } from '../core/key-block.ts';
import { messageOf } from '../core/failure.ts';
import { type LiveCatalog, liveCatalogSchema } from '../control/core/live-catalog.ts';
import { type LogLevel, logLevelBodySchema } from '../core/log-level.ts';
import { type ProblemReport, problemReportSchema } from '../control/core/problem.ts';
import { foundStoriesSchema, type Story } from '../telemetry/core/story.ts';
import { type TrafficGroup, trafficReportSchema, type TrafficRow } from '../telemetry/core/traffic.ts';
import { type ServiceReply, createServiceCalls, type ServiceCallOptions } from './service-calls.ts';
import { fromBeginning, openServiceStream, type ServiceStream, type ServicesListener } from './service-stream.ts';

interface LiveServicesOptions extends Omit<ServiceCallOptions, 'timeoutMs'> {
  /** Ops ports, `http://host:port`. A host name means each of its addresses. The function is called again before each question. */
  readonly origins: () => readonly string[];
  /** Jitter between attempts to connect, from 0 to 1. */
  readonly random: () => number;
  readonly lookUp: LookUp;
  /** Default: 3 s. */
  readonly timeoutMs?: number;
}

/** Whether a service answered. */
export interface ServiceAnswer {
  /** Origin of the service, with its address. */
  readonly service: string;
  readonly answers: boolean;
  /** Why the service did not answer. Null: it answered. */
  readonly problem: string | null;
}

/** The answers of several services. Never rejects: a service that does not answer is listed with the reason. */
export interface Answers<Said> {
  readonly services: readonly ServiceAnswer[];
  readonly data: readonly { readonly service: string; readonly said: Said }[];
}

/** The services of a gateway, for the portal, `weir explain`, `weir problems` and `weir log-level`. */
export interface LiveServices {
  readonly catalog: () => Promise<Answers<LiveCatalog>>;
  /** The current problems of each service: `createProblemList` makes one list of them. While the services are followed, no service is asked. */
  readonly problems: () => Promise<Answers<ProblemReport>>;
  /** The request with exactly this id; if there is none, the requests with this correlation id, newest first. */
  readonly find: (
    id: string,
  ) => Promise<{ readonly services: readonly ServiceAnswer[]; readonly stories: readonly Story[] }>;
  /** The log level of each service. `change`: the level to set first. */
  readonly logLevel: (change: LogLevel | undefined) => Promise<Answers<LogLevel>>;
  /** What the first service that answers finds about its Backends. */
  readonly doctor: (question: DoctorQuestion) => Promise<Answers<z.output<typeof diagnosesSchema>>>;
  /** The requests of the last minute as each service counted them. */
  readonly top: (group: TrafficGroup) => Promise<Answers<readonly TrafficRow[]>>;
  /** Sets the status of a key in the memory of each service, for the time in which the database is down. */
  readonly blockKey: (block: KeyBlock) => Promise<Answers<object>>;
  /** Reads the event streams of all services. One caller at a time. */
  readonly follow: (listener: ServicesListener) => FollowedServices;
}

export interface FollowedServices {
  /** Resolves when each service has opened its stream or failed. From then on the listener gets every request that ends. */
  readonly begun: Promise<void>;
  readonly stop: () => void;
}

/** A headless Service has an address for each pod. */
const maxAddresses = 256;
const usualTimeoutMs = 3_000;
/** How often names are looked up while the services are followed. */
const lookUpEveryMs = 1_000;

export function createServices(options: LiveServicesOptions): LiveServices {
  const { clock, token, random, timeoutMs = usualTimeoutMs } = options;
  const calls = createServiceCalls({ token, clock, timeoutMs });
  const addresses = () => findServices(options, timeoutMs);
  /** Undefined unless the services are followed. */
  let followedProblems: (() => Answers<ProblemReport>) | undefined;

  async function ask<Said>(
    question: (service: string) => Promise<Said | undefined>,
    of?: readonly ServiceReply<never>[],
  ): Promise<Answers<Said>> {
    const answer = async (one: ServiceReply<Said>): Promise<ServiceReply<Said>> => {
      if (one.problem !== null) return one;
      try {
        return { ...one, said: await question(one.service) };
      } catch (error) {
        return { ...one, problem: reasonOf(error) };
      }
    };
    return answersOf(await Promise.all((of ?? (await addresses())).map(answer)));
  }

  function follow(listener: ServicesListener): FollowedServices {
    const over = new AbortController();
    const streams = new Map<string, ServiceStream>();
    let unknown: readonly ServiceReply<never>[] = [];

    /** Opens the streams of services that joined, and closes those of services that left. */
    async function look(lastEventId: string | undefined): Promise<void> {
      const found = await addresses();
      if (over.signal.aborted) return;
      unknown = found.filter(({ problem }) => problem !== null);
      const current = new Set(found.flatMap(({ service, problem }) => (problem === null ? [service] : [])));
      for (const service of current) {
        if (streams.has(service)) continue;
        const about = { service, lastEventId, listener };
        streams.set(service, openServiceStream({ ...about, calls, clock, random, timeoutMs }));
      }
      for (const [service, stream] of streams) {
        // While a name cannot be looked up, its services are not known to have left.
        if (current.has(service) || unknown.length > 0) continue;
        stream.close();
        streams.delete(service);
      }
    }

    async function begin(): Promise<void> {
      await look(undefined);
      await Promise.all([...streams.values()].map(({ opened }) => opened));
      if (over.signal.aborted) return;
      followedProblems = () => answersOf([...[...streams.values()].map(({ answer }) => answer()), ...unknown]);
      // If a service joins later, all requests that it remembers are new.
      const cancel = every(clock, lookUpEveryMs, () => look(fromBeginning));
      over.signal.addEventListener('abort', cancel);
    }

    return {
      begun: begin(),
      stop: () => {
        over.abort();
        followedProblems = undefined;
        for (const { close } of streams.values()) close();
      },
    };
  }

  return {
    catalog: () => ask((service) => calls.read(service, 'catalog', liveCatalogSchema)),
    problems: async () =>
      followedProblems?.() ?? ask((service) => calls.read(service, 'problems', problemReportSchema)),
    find: async (id) => {
      const { services, data } = await ask((service) =>
        calls.read(service, `requests/${encodeURIComponent(id)}`, foundStoriesSchema),
      );
      const found = data.flatMap(({ said }) => said.requests);
      const exact = found.find((story) => story.id === id);
      return { services, stories: exact === undefined ? found.sort(byNewest) : [exact] };
    },
    logLevel: (change) =>
      ask(async (service) => {
        const found = await calls.read(service, 'log-level', logLevelBodySchema, change && { level: change });
        if (found === undefined) throw new Error('it is of a version whose level cannot be changed');
        return found.level;
      }),
    doctor: async ({ backend = '', depth }) => {
      const silent: ServiceReply<never>[] = [];
      for (const one of await addresses()) {
        const path = `doctor/${encodeURIComponent(backend)}?depth=${depth}`;
        const { services, data } = await ask((service) => calls.read(service, path, diagnosesSchema), [one]);
        if (data.length > 0) return { services, data };
        silent.push({ ...one, problem: services[0]?.problem ?? 'it is of a version without a doctor' });
      }
      return answersOf(silent);
    },
    blockKey: (block) => ask((service) => calls.read(service, 'key-blocks', z.object({}), block)),
    top: (group) => ask(async (service) => (await calls.read(service, `top/${group}`, trafficReportSchema))?.rows),
    follow,
  };
}

/** The current services by their addresses, and each name that cannot be looked up, with the problem. */
async function findServices(
  { origins, lookUp, clock }: Pick<LiveServicesOptions, 'origins' | 'lookUp' | 'clock'>,
  timeoutMs: number,
): Promise<readonly ServiceReply<never>[]> {
  const found = await Promise.all(
    origins().map(async (origin): Promise<readonly ServiceReply<never>[]> => {
      try {
        const services = await serviceOrigins(origin, { lookUp, clock, timeoutMs });
        return services.map((service) => ({ service, problem: null, said: undefined }));
      } catch (error) {
        return [{ service: origin, problem: messageOf(error), said: undefined }];
      }
    }),
  );
  const each = new Map(found.flat().map((one) => [one.service, one]));
  return [...each.values()].slice(0, maxAddresses);
}

/** Keeps an answer for a second, or for a given time, so that one question serves many pages. */
export function rememberAnswer<Result>(
  ask: () => Promise<Result>,
  clock: Pick<Clock, 'elapsed'>,
  forMs = 1_000,
): () => Promise<Result> {
  let last: { readonly at: number; readonly answer: Promise<Result> } | undefined;
  return () => {
    if (last === undefined || clock.elapsed() - last.at >= forMs) last = { at: clock.elapsed(), answer: ask() };
    return last.answer;
  };
}

function answersOf<Said>(all: readonly ServiceReply<Said>[]): Answers<Said> {
  return {
    services: all.map(({ service, problem }) => ({ service, answers: problem === null, problem })),
    data: all.flatMap(({ service, said }) => (said === undefined ? [] : [{ service, said }])),
  };
}

const byNewest = (a: Story, b: Story): number =>
  a.started_at < b.started_at ? 1 : a.started_at > b.started_at ? -1 : 0;
