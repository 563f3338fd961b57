import { countsSince } from './spells.ts';
import type { Spell } from './world-view.ts';

/** A catalog that the operator has made, as far as bills and refusals depend on it. */
export interface MadeCatalog {
  readonly atMs: number;
  /** Of the prices. */
  readonly factor: number;
  /** Tokens of prompt and answer together. */
  readonly window: number;
}

/** A service that runs has a new catalog within this time: its watch takes up to 400 ms, and a step of its own. */
export const catalogDelayMs = 401;

/**
 * The catalogs that may have been in force for a request: those that were made up to its end, but not those which every
 * service had replaced before it came. `pauses`: when services did not run, and learned nothing.
 */
export function catalogsInForce(
  catalogs: readonly MadeCatalog[],
  { startedAt, endedAt }: { readonly startedAt: number; readonly endedAt: number },
  pauses: readonly Spell[],
): readonly MadeCatalog[] {
  const from = countsSince(endedAt, [[startedAt, endedAt], ...pauses], { delayMs: catalogDelayMs });
  // A request that its caller has left may go on when a pause ends.
  const until = pauses.reduce((latest, [begin, end]) => (begin <= endedAt ? Math.max(latest, end) : latest), endedAt);
  return catalogs.filter(({ atMs }, index) => atMs <= until && (catalogs[index + 1]?.atMs ?? Infinity) > from);
}
