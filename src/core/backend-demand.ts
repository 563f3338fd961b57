/**
 * What requests ask of the endpoints of each Backend, as one service sees it, for programs that scale engines. Served on the ops port,
 * as JSON under `demandPath` and as metrics. Names, counts and times; nothing of a request.
 */
import * as z from 'zod';

/** Path on the ops port. Like the metrics, it needs no token. */
export const demandPath = '/demand';

const count = z.number().int().min(0);
const amount = z.number().min(0);

export const backendDemandSchema = z.object({
  backend: z.string(),
  /** Those that may get requests. */
  endpoints: count,
  /** Prompt tokens that wait, and those that come within the objective if as many come as lately. Of this service alone. */
  work_tokens: amount,
  /** The same of refused requests, of which some may be retries of others. */
  refused_tokens: amount,
  /** What one endpoint was learned to compute within the objective. */
  endpoint_tokens: z.number().positive(),
  /** How many endpoints the attempts under way fill, by `maxConcurrentRequestsPerEndpoint`. 0: it is not set. */
  filled_endpoints: amount,
  under_way: count,
  /** Since the start. */
  refused_requests: count,
  /** Time since the last request came, also a refused one; 0 while one is under way. Null: none has come. */
  quiet_ms: amount.nullable(),
  /** Expected time to the first token of a usual prompt. Null: no endpoint has answered. */
  first_token_ms: amount.nullable(),
});

/** The answer to `GET /demand`. */
export const demandReportSchema = z.object({ backends: z.array(backendDemandSchema) });

export type BackendDemand = Readonly<z.infer<typeof backendDemandSchema>>;

/** Refused requests at most double the endpoints, because a caller that tries again is refused again, and counts each time. */
const mostForRefused = 1;
/** Where there is no endpoint, this much: one endpoint, whatever share of its time it should be busy. */
const forRefusedAlone = 0.5;

/** How many endpoints would be busy all the time with the requests of some services to one Backend, the refused ones included. */
export function neededEndpoints(demands: readonly BackendDemand[]): number {
  const sum = (of: (demand: BackendDemand) => number): number => demands.reduce((all, one) => all + of(one), 0);
  const present = demands.reduce((most, { endpoints }) => Math.max(most, endpoints), 0);
  const served = sum(({ work_tokens: tokens, endpoint_tokens: each }) => tokens / each);
  const filled = sum(({ filled_endpoints: endpoints }) => endpoints);
  const refused = sum(({ refused_tokens: tokens, endpoint_tokens: each }) => tokens / each);
  return Math.max(served, filled) + Math.min(refused, present === 0 ? forRefusedAlone : present * mostForRefused);
}
