import { vi } from 'vitest';
import { stuckAfterMs } from './stuck-after.ts';

/**
 * Calls the check until it no longer throws, and returns its value. For hooks, which have no `expect.poll`, and for checks of more than
 * one value. A test that is stuck fails with the last error.
 */
export function untilHolds<Value>(check: () => Value | Promise<Value>, intervalMs = 20): Promise<Value> {
  return vi.waitFor(check, { timeout: stuckAfterMs, interval: intervalMs });
}
