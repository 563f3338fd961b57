import type { CatalogObject } from '../core/catalog.ts';
import { isFields } from './is-fields.ts';
import { referredSecrets } from './referred-secrets.ts';
import type { Verdicts } from './verdict.ts';

/**
 * The objects to keep for a start without their source: each as it last was good. What an earlier good version of a
 * Backend refers to stays with it.
 */
export function keepObjects(verdicts: Verdicts, before: readonly CatalogObject[]): readonly CatalogObject[] {
  const earlier = new Map(before.map((object) => [object.where, object]));
  const kept = new Map<string, CatalogObject>();
  const old: CatalogObject[] = [];
  for (const [object, { stand }] of verdicts) {
    if (stand === 'taken') kept.set(object.where, object);
    const last = stand === 'kept' ? earlier.get(object.where) : undefined;
    if (last === undefined) continue;
    kept.set(object.where, last);
    old.push(last);
  }
  for (const name of referredSecrets(old).keys()) {
    const where = `Secret/${name}`;
    const secret = earlier.get(where);
    if (secret !== undefined && !kept.has(where)) kept.set(where, secret);
  }
  return [...kept.values()].filter(({ value }) => isFields(value));
}
