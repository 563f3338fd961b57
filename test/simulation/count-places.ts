import type { Route } from '../../src/core/catalog.ts';
import type { AttemptRecord, Health } from '../../src/gateway/core/health.ts';
import { endpointPlaces } from './catalog.ts';

/**
 * Which endpoints have more free places than they have places at all: attempts were taken from a count that they were not in.
 * Takes all places that are free, and gives them back.
 */
export function tooManyPlaces(health: Pick<Health, 'begin'>, routes: readonly Route[]): readonly string[] {
  const taken: AttemptRecord[] = [];
  for (const route of routes) {
    for (;;) {
      const record = health.begin(route, { stream: true, isLastResort: true });
      if (record === undefined) break;
      taken.push(record);
      if (taken.length > 20 * endpointPlaces) break;
    }
  }
  const names = taken.map(({ endpoint }) => endpoint.name);
  for (const record of taken) record.ended({ kind: 'aborted' });
  return [...new Set(names)].filter((name) => names.filter((other) => other === name).length > endpointPlaces);
}
