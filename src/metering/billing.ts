import type { OutcomeKind } from '../core/account.ts';

/**
 * How a request ended, as far as the bill goes. A request that was never dispatched costs nothing, whoever gave it up; nor does
 * one whose caller left while nothing showed that an engine had it (`unheard`).
 */
export type Ending = OutcomeKind | 'not-dispatched' | 'unheard';

interface BillingRow {
  readonly input: 'billed' | 'free';
  /** All that the engine reports, what was delivered of it, or nothing. */
  readonly output: 'reported' | 'delivered' | 'free';
  /** Searches of the web whose results were delivered. */
  readonly searches: 'billed' | 'free';
}

/**
 * What is billed (docs/reference/api.md §1, §7.3, §7.5; docs/reference/architecture.md §4.1). Whatever else was tried, lost hedges and failed or
 * rejected attempts, is not in the count to begin with.
 */
export const billing: Readonly<Record<Ending, BillingRow>> = {
  // A refusal by the model is an ordinary answer (docs/reference/api.md §7.4).
  completed: { input: 'billed', output: 'reported', searches: 'billed' },
  // Before the first byte, in mid-stream, or after the last delta but before the usage: leaving early saves nothing that was made.
  cancelled: { input: 'billed', output: 'delivered', searches: 'billed' },
  // `stream_interrupted`: only delivered tokens bill.
  interrupted: { input: 'free', output: 'delivered', searches: 'free' },
  // The same, with the fault on our side: nothing beyond what was delivered.
  'service-lost': { input: 'free', output: 'delivered', searches: 'free' },
  // `upstream_incomplete`: nothing was delivered.
  incomplete: { input: 'free', output: 'free', searches: 'free' },
  // 502 and 503. Every 4xx is refused before there is anything to settle.
  failed: { input: 'free', output: 'free', searches: 'free' },
  unheard: { input: 'free', output: 'free', searches: 'free' },
  'not-dispatched': { input: 'free', output: 'free', searches: 'free' },
};
