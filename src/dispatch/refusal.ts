import type { Feature } from '../core/capability.ts';
import type { EngineError, Fault, RefusedFor } from '../core/event.ts';

/** What the faults of a request's attempts say of the request itself. */
export interface Refusal {
  readonly refusedFor?: RefusedFor | undefined;
  /** The part of the request that the engines' errors name. */
  readonly about?: Feature | undefined;
}

/** Errors that the same request gets again, whenever it is sent to the same engine. */
const ofTheRequest: ReadonlySet<EngineError | undefined> = new Set([
  ...(['bad-request', 'context-length', 'content-policy'] as const),
]);

const isFault = ({ kind, engineError }: Fault): boolean => kind === 'structure' || ofTheRequest.has(engineError);

/**
 * Reads the faults of all attempts of a request that no route answered. One reason that they share is the reason. Several
 * that are all the request's own are a request that cannot be taken as it is. Where some routes found fault with the request
 * and others failed, nobody knows what the failed ones would have said.
 */
export function refusalOf(faults: readonly Fault[]): Refusal {
  const reasons = new Set(faults.map(({ kind, engineError }) => (kind === 'structure' ? kind : engineError)));
  const about = faults.find((fault) => fault.about !== undefined)?.about;
  const [reason] = reasons;
  if (reasons.size === 1) return { refusedFor: reason, about };
  if (faults.length > 0 && faults.every(({ engineError }) => ofTheRequest.has(engineError))) {
    return { refusedFor: 'bad-request', about };
  }
  return { refusedFor: faults.some(isFault) ? 'disputed' : undefined };
}
