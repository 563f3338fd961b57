import { expect } from 'vitest';
import type { Weir } from '../../../support/weir.ts';

/** Resolves when no request, stream or call of a gateway is under way any more; rejects when one stays. */
export async function expectNothingLeft(
  weir: Weir,
  engines: Iterable<{ readonly openRequests: () => number }> = [],
): Promise<void> {
  await weir.settled();
  await expect.poll(() => weir.metric('weir_ext_proc_streams')).toBe(0);
  await expect.poll(weir.activeUpstream).toEqual([]);
  await expect.poll(() => [...engines].map((engine) => engine.openRequests()).filter((open) => open > 0)).toEqual([]);
}
