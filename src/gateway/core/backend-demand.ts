/**
 * What requests ask of the endpoints of each Backend, as one replica sees it, for programs that scale engines. Replicas share it through
 * Valkey, and the ops port has it as metrics. Names, counts and times; nothing of a request.
 */
import * as z from 'zod';

const count = z.number().int().min(0);
const amount = z.number().min(0);

export const backendDemandSchema = z.object({
  backend: z.string(),
  /** Those that may get requests. */
  endpoints: count,
  /** Prompt tokens that wait, and those that come within the objective if as many come as lately. Of this replica alone. */
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

export type BackendDemand = Readonly<z.infer<typeof backendDemandSchema>>;

/** Refused requests at most double the endpoints, because a caller that tries again is refused again, and counts each time. */
const maxForRefused = 1;
/** Where there is no endpoint, this much: one endpoint, whatever share of its time it should be busy. */
const forRefusedAlone = 0.5;

/**
 * How many endpoints would be busy all the time with the requests of some replicas to one Backend, the refused ones included.
 * `times`: how many times their requests all replicas have, as far as is known.
 */
export function neededEndpoints(demands: readonly BackendDemand[], times = 1): number {
  const sum = (of: (demand: BackendDemand) => number): number => times * demands.reduce((all, one) => all + of(one), 0);
  const present = demands.reduce((most, { endpoints }) => Math.max(most, endpoints), 0);
  const served = sum(({ work_tokens: tokens, endpoint_tokens: each }) => tokens / each);
  const filled = sum(({ filled_endpoints: endpoints }) => endpoints);
  const refused = sum(({ refused_tokens: tokens, endpoint_tokens: each }) => tokens / each);
  return Math.max(served, filled) + Math.min(refused, present === 0 ? forRefusedAlone : present * maxForRefused);
}

/** Requests keep their Backend active for so long, so that an autoscaler that reads it only now and then sees them. */
const activeMs = 60_000;

/** Whether a request is in flight, or came lately, also a refused one. */
export const isActive = ({ under_way: underWay, quiet_ms: quietMs }: BackendDemand): boolean =>
  underWay > 0 || (quietMs !== null && quietMs < activeMs);
