import type { CatalogObject, CatalogProblem } from '../core/catalog.ts';
import { problemIn, type Read } from './read-object.ts';

interface Named {
  readonly metadata: { readonly creationTimestamp?: string | null | undefined };
}

interface UniqueOptions<Item> {
  readonly nameOf: (item: Item) => string;
  /** The field that must be unique. */
  readonly path: readonly PropertyKey[];
  readonly report: (object: CatalogObject, problems: readonly CatalogProblem[]) => void;
}

/**
 * Keeps one object per name: the one created first, and without that knowledge the first in order. Nobody can take
 * over a name that is in use. The others are reported.
 */
export function unique<Item extends Read<Named>>(
  items: readonly Item[],
  options: UniqueOptions<Item>,
): ReadonlyMap<string, Item> {
  const kept = new Map<string, Item>();
  const dated = items.map((item) => ({ item, createdAt: createdAt(item) }));
  for (const { item } of dated.sort((a, b) => a.createdAt - b.createdAt)) {
    const name = options.nameOf(item);
    const first = kept.get(name);
    if (first === undefined) kept.set(name, item);
    else {
      const message = `expected a name of its own, "${name}" is already taken by ${first.object.where}`;
      options.report(item.object, [problemIn(item.object, { path: options.path, message })]);
    }
  }
  return kept;
}

function createdAt(item: Read<Named>): number {
  const created = item.value.metadata.creationTimestamp;
  return created ? Date.parse(created) : 0;
}
