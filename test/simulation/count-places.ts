import type { Route } from '../../src/core/catalog.ts';
import type { AttemptRecord, Health } from '../../src/gateway/core/health.ts';

/** Calls `tooMany` when an endpoint gets an attempt beside as many others as it has places, whatever the product has counted. */
export function watchPlaces<Watched extends Pick<Health, 'begin'>>(
  health: Watched,
  places: number,
  tooMany: (text: string, tightened?: string) => void,
): Watched {
  const running = new Map<string, number>();
  return {
    ...health,
    begin: (route, options) => {
      const record = health.begin(route, options);
      if (record === undefined) return undefined;
      const { name } = record.endpoint;
      const count = (by: 1 | -1): number => {
        const now = (running.get(name) ?? 0) + by;
        running.set(name, now);
        return now;
      };
      const now = count(1);
      // One place fewer is what `--tight` promises.
      if (now >= places) tooMany(`${now} attempts at once on ${name}`, now > places ? undefined : 'an attempt fewer');
      let isOver = false;
      return {
        ...record,
        ended: (end) => {
          if (!isOver) count(-1);
          isOver = true;
          record.ended(end);
        },
      };
    },
  };
}

/**
 * Which endpoints have more free places than they have places at all: attempts were taken from a count that they were not in.
 * Takes all places that are free, and gives them back.
 */
export function tooManyPlaces(
  health: Pick<Health, 'begin'>,
  routes: readonly Route[],
  places: number,
): readonly string[] {
  const taken: AttemptRecord[] = [];
  for (const route of routes) {
    for (;;) {
      const record = health.begin(route, { stream: true, isLastResort: true });
      if (record === undefined) break;
      taken.push(record);
      if (taken.length > 20 * places) break;
    }
  }
  const names = taken.map(({ endpoint }) => endpoint.name);
  for (const record of taken) record.ended({ kind: 'aborted' });
  return [...new Set(names)].filter((name) => names.filter((other) => other === name).length > places);
}
