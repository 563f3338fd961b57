import type { Fault } from '../core/event.ts';

/**
 * What a fault says about its route. `nothing`: any route would have answered so, or the route's form is at fault and is
 * judged by itself. `full`: it has had enough for now. `broken`: a failure.
 */
export function blameOf({ kind, engineError, status, retryAfterSeconds }: Fault): 'nothing' | 'full' | 'broken' {
  // Not of the right form, or not going on where another broke off: the engine answered, and how is for others to judge.
  if (kind === 'structure' || kind === 'disjoint') return 'nothing';
  switch (engineError ?? 'other') {
    case 'context-length':
    case 'bad-request':
    case 'content-policy':
      return 'nothing';
    case 'rate-limit':
      return 'full';
    case 'overloaded':
      // A 503 without a date may as well be what stands in front of a dead engine: that wants probes.
      return retryAfterSeconds !== undefined || status === 429 ? 'full' : 'broken';
    case 'account':
    case 'not-found':
    case 'other':
      return status === 429 ? 'full' : 'broken';
  }
}
