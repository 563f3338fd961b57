import type { Cause } from './cause.ts';
import type { EngineError, Fault } from './event.ts';

/** Causes by Envoy's response flags, for calls without an answer of an engine, where Envoy says nothing further. */
const byFlags: Readonly<Record<string, Cause>> = {
  UH: 'fails-health-check',
  UC: 'breaks-off',
  UR: 'breaks-off',
  UT: 'silent',
  UO: 'full',
  UPE: 'unreadable',
  NC: 'not-in-envoy',
};

/** Envoy's response flags in the detail of a fault. */
export const envoyFlags = /^Envoy ([A-Z,]+)$/;

const byEngineError: Readonly<Record<EngineError, Cause>> = {
  'context-length': 'context-length',
  'rate-limit': 'rate-limited',
  overloaded: 'full',
  account: 'credential-refused',
  'not-found': 'no-such-path',
  'bad-request': 'refuses-request',
  'content-policy': 'content-policy',
  misconfigured: 'misconfigured',
  other: 'server-error',
};

/** The cause of a fault: what its reader has found, else what its kind and status say. */
export function causeOf({ cause, kind, status, detail, engineError }: Omit<Fault, 'about'>): Cause {
  if (cause !== undefined) return cause;
  switch (kind) {
    case 'connect':
      return byFlags[envoyFlags.exec(detail)?.[1] ?? ''] ?? (detail === 'PROTOCOL' ? 'unreadable' : 'connect-failed');
    case 'status':
    case 'engine-error':
      if (status !== undefined && status >= 300 && status < 400) return 'redirects';
      if (status === 402) return 'no-quota';
      return byEngineError[engineError ?? 'other'];
    case 'content-type':
      return 'not-an-api';
    case 'malformed':
    case 'too-large':
      return 'unreadable';
    case 'structure':
      return 'wrong-structure';
    case 'disjoint':
      return 'cannot-continue';
    case 'truncated':
    case 'reset':
      return 'breaks-off';
    case 'stalled':
      return 'silent';
  }
}

/**
 * A fault with the sentence of the last one, if the engine failed in the same way: sentences contain times and numbers, and the
 * condition of a Backend must not change with each request.
 */
export function withSteadySentence(fault: Fault, last: Fault | undefined): Fault {
  if (last?.said === undefined || last.status !== fault.status || causeOf(last) !== causeOf(fault)) return fault;
  return { ...fault, said: last.said };
}
