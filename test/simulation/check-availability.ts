import { enginesOf } from './catalog.ts';
import type { RequestEvent } from './events.ts';

/** A request that has begun: what it tells which engines, and when. `endedAt`: undefined while it is open. */
export interface AskedRequest {
  readonly startedAt: number;
  readonly endedAt: number | undefined;
  readonly directive?: RequestEvent['directive'];
}

/** An endpoint that says several times that it is full is left alone for so long (src/gateway/routing/health/cooling.ts). */
const mostCoolMs = 10_000;

/**
 * Whether an endpoint could have served a request, although some engines fail for it. No engine is asked if all of them said shortly before
 * that they are full. `isRefused`: no engine was asked. `requests`: all that have begun before its end.
 */
export function couldBeServed(
  request: AskedRequest,
  { requests, isRefused }: { readonly requests: readonly AskedRequest[]; readonly isRefused: boolean },
): boolean {
  const lost = new Set(request.directive?.on ?? []);
  if (!isRefused) return enginesOf.some(({ name }) => !lost.has(name));
  // A request that searches may ask its engines long after its begin.
  for (const { endedAt = Infinity, directive } of requests) {
    if (directive?.status !== 429 || endedAt < request.startedAt - mostCoolMs) continue;
    for (const engine of directive.on ?? []) lost.add(engine);
  }
  return enginesOf.some(({ name }) => !lost.has(name));
}
