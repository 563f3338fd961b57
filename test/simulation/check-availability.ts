import { enginesOf } from './catalog.ts';
import type { RequestEvent } from './events.ts';

/** What is read of a request: when it came, and what it tells which engines. */
export type AskedRequest = Pick<RequestEvent, 'at' | 'directive'>;

/** An endpoint that says several times that it is full is left alone for so long (src/gateway/routing/health/cooling.ts). */
const mostCoolMs = 10_000;

/**
 * Whether an endpoint could have served a request, although some engines fail for it. No engine is asked if all of them said shortly before
 * that they are full. `isRefused`: no engine was asked. `until`: the end of the request.
 */
export function couldBeServed(
  request: AskedRequest,
  {
    requests,
    until,
    isRefused,
  }: { readonly requests: readonly AskedRequest[]; readonly until: number; readonly isRefused: boolean },
): boolean {
  const lost = new Set(request.directive?.on ?? []);
  if (!isRefused) return enginesOf.some(({ name }) => !lost.has(name));
  for (const { at, directive } of requests) {
    if (directive?.status !== 429 || at < request.at - mostCoolMs || at > until) continue;
    for (const engine of directive.on ?? []) lost.add(engine);
  }
  return enginesOf.some(({ name }) => !lost.has(name));
}
