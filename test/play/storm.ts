import { expect } from 'vitest';
import type { Played } from './play.ts';

/** What a storm is there for: a kind of end that never occurred proves nothing. */
const wanted = [
  ...(['whole', 'error', 'left', 'broken', 'continued', 'searched', 'several attempts'] as const),
  ...(['vectors', 'vectors in pieces', 'ranks', 'ranks in pieces'] as const),
  ...(['completed', 'cancelled', 'interrupted', 'failed', 'incomplete'] as const),
  ...(['status 200', 'status 400', 'status 401', 'status 402', 'status 403', 'status 429', 'status 502'] as const),
] as const;

/**
 * Requests that a storm is drawn from, and the time that it may take. `WEIR_STORM_REQUESTS=8300` makes a long one: with the requests for
 * vectors and ranks that come to them, there are ten thousand.
 */
export const stormRequests = (usual: number): number => Number(process.env['WEIR_STORM_REQUESTS'] ?? usual);
export const stormMs = (usual: number): number => 600_000 * Math.max(1, stormRequests(usual) / usual / 2);

/** What is printed of a storm. */
export function stormReport(name: string, { seen, rows, told, billed, seconds }: Played): string {
  const counts = [...seen].toSorted(([, one], [, other]) => other - one).map(([what, count]) => `${count} ${what}`);
  return `money storm on ${name}: ${seconds.toFixed(0)} s, ${rows.length} rows, told ${told}, billed ${billed}; ${counts.join(', ')}`;
}

/** Expects that every promise was kept, and that everything was in the storm that it is made of. */
export function expectStorm({ wrong, seen, told, billed }: Played): void {
  expect(wrong.slice(0, 20), `${wrong.length} in all`).toEqual([]);
  expect(told).toBe(billed);
  expect(told).toBeGreaterThan(0n);
  expect(wanted.filter((what) => !seen.has(what))).toEqual([]);
}
