import type { CatalogObject, CatalogProblem } from '../core/catalog.ts';
import { readObject } from './read-object.ts';

/** What is wrong with one object by itself. References to other objects are for compile. Never throws. */
export function checkObject(object: CatalogObject): readonly CatalogProblem[] {
  return readObject(object).problems;
}
