import { type BackendDemand, demandPath, demandReportSchema } from '../core/backend-demand.ts';
import type { Clock } from '../core/clock.ts';
import type { LookUp } from '../core/address.ts';
import { parseAnswer, reasonOf, serviceOrigins, textOf, withTimeout } from '../core/call-service.ts';

/** The demand that the services of a gateway report. */
export interface DemandOfServices {
  /** How many services there are. Addresses that refuse connections are none. */
  readonly asked: number;
  /** Of those that answered: at least one. */
  readonly reports: readonly (readonly BackendDemand[])[];
}

export interface ServicesDemandOptions {
  /** Ops ports, `http://host:port`. A host name means each of its addresses. */
  readonly origins: readonly string[];
  readonly lookUp: LookUp;
  readonly clock: Pick<Clock, 'after' | 'elapsed'>;
  /** Called with each service that does not answer, and the reason. */
  readonly onProblem: (service: string, problem: string) => void;
  /** Called with the number of services, and how many of them answered. */
  readonly onAsked?: (asked: number, answered: number) => void;
}

/** A headless Service has an address for each pod. */
const mostServices = 256;
/** KEDA gives up after three seconds. */
const timeoutMs = 2_000;
/** One answer serves all questions of a moment: KEDA asks for each trigger, twice. */
const rememberedMs = 1_000;
/** A report of ten thousand Backends has three megabytes. */
const mostBytes = 16 * 1024 * 1024;

/** Asks all services, at most once a second. Rejects with a sentence if none of them answers. */
export function createServicesDemand(options: ServicesDemandOptions): () => Promise<DemandOfServices> {
  const { clock } = options;
  let last: { readonly at: number; readonly answer: Promise<DemandOfServices> } | undefined;
  return () => {
    const now = clock.elapsed();
    if (last === undefined || now - last.at >= rememberedMs) last = { at: now, answer: askAll(options) };
    return last.answer;
  };
}

async function askAll(options: ServicesDemandOptions): Promise<DemandOfServices> {
  const { origins, lookUp, clock, onProblem, onAsked } = options;
  const problems: string[] = [];
  const failed = (service: string) => (error: unknown) => {
    const problem = reasonOf(error);
    problems.push(`${service}: ${problem}`);
    onProblem(service, problem);
    return undefined;
  };
  const found = await Promise.all(
    origins.map((origin) => serviceOrigins(origin, { lookUp, clock, timeoutMs }).catch(failed(origin))),
  );
  const services = [...new Set(found.flatMap((addresses) => addresses ?? []))].slice(0, mostServices);
  let asked = services.length;
  const answers = await Promise.all(
    services.map((service) =>
      ask(service, options).catch((error: unknown) => {
        // A service that starts, or starts again and again, serves no requests, and its address is known all the same.
        if (isRefused(error)) asked -= 1;
        return failed(service)(error);
      }),
    ),
  );
  const reports = answers.flatMap((report) => (report === undefined ? [] : [report]));
  onAsked?.(services.length, reports.length);
  if (reports.length === 0) throw new Error(`no service of the gateway answers: ${problems.join('; ')}`);
  return { asked, reports };
}

function isRefused(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && 'code' in cause && cause.code === 'ECONNREFUSED';
}

function ask(service: string, { clock }: ServicesDemandOptions): Promise<readonly BackendDemand[]> {
  return withTimeout({ clock, timeoutMs }, async (signal) => {
    const response = await fetch(`${service}${demandPath}`, { signal, redirect: 'error' });
    if (response.status !== 200) {
      await response.body?.cancel();
      throw new Error(response.status === 404 ? 'its version reports no demand' : `it answers with ${response.status}`);
    }
    return parseAnswer(demandReportSchema, await textOf(response, mostBytes)).backends;
  });
}
