import type { AttemptRecord, Health } from '../../src/gateway/core/health.ts';
import { endpointOf } from './route-of.ts';

/** Begins an attempt on the one endpoint that a route has. */
export function steadyBegin(
  ended: AttemptRecord['ended'],
  ...[{ backend }, { avoid }]: Parameters<Health['begin']>
): AttemptRecord | undefined {
  const endpoint = endpointOf(backend.name);
  if (avoid?.has(endpoint.name) === true) return undefined;
  return { endpoint, ended, output: () => undefined, movedTo: () => undefined };
}

/** Health that finds every route well and never hedges, except for what a test sets. */
export function steadyHealth(fields: Partial<Health> = {}): Health {
  return {
    isAnswering: () => false,
    begin: (...to) => steadyBegin(() => undefined, ...to),
    endpointsLeft: ({ route, avoid }) => (avoid?.has(endpointOf(route.backend.name).name) ? 0 : 1),
    failedOn: () => 0,
    firstTokenWait: () => undefined,
    hedge: () => undefined,
    soonest: () => undefined,
    isOut: () => false,
    isProbed: () => false,
    structure: () => undefined,
    ...fields,
  };
}
