import type { CatalogObject, CatalogProblem } from '../core/catalog.ts';
import type { ManifestEntry } from './parse.ts';

/** Says what is wrong with one object by itself, references to others aside. */
export type CheckObject = (object: CatalogObject) => readonly CatalogProblem[];

export interface SettledFile {
  /** What the file gives to the catalog now. */
  readonly objects: readonly CatalogObject[];
  /** The part of it to fall back on when the file breaks. */
  readonly good: readonly CatalogObject[];
  readonly problems: readonly CatalogProblem[];
}

/**
 * Settles what a changed file gives. Good objects count at once. As long as the file has a broken one, its last good
 * objects stay wherever the new text has no good one of the same name: nobody knows yet which of them the broken text
 * was to replace. A broken object that replaces nothing is passed on, for the parts of it that are good.
 */
export function settleFile(
  entries: readonly ManifestEntry[],
  { last, check }: { readonly last: readonly CatalogObject[]; readonly check: CheckObject },
): SettledFile {
  const parsed = entries.flatMap((entry) => (entry.kind === 'object' ? [entry.object] : []));
  const syntax = entries.flatMap((entry) => (entry.kind === 'broken' ? [entry.problem] : []));
  const judged = parsed.map((object) => ({ object, problems: check(object) }));
  const good = judged.flatMap(({ object, problems }) => (problems.length === 0 ? [object] : []));
  const bad = judged.filter(({ problems }) => problems.length > 0);
  if (bad.length + syntax.length === 0) return { objects: good, good, problems: [] };

  const names = new Set(good.map(nameOf));
  const kept = last.filter((object) => !names.has(nameOf(object)));
  const keptNames = new Set(kept.map(nameOf));
  const passed = bad.filter(({ object }) => isPassedOn(nameOf(object), { kept, keptNames }));
  const isPassed = new Set(passed);
  const held = bad.filter((entry) => !isPassed.has(entry));
  return {
    objects: [...good, ...kept, ...passed.map(({ object }) => object)],
    good: [...good, ...kept],
    // The problems of what is passed on are found, and reported, when the catalog is compiled.
    problems: [...syntax, ...held.flatMap(({ problems }) => problems)],
  };
}

function isPassedOn(
  name: string | undefined,
  { kept, keptNames }: { readonly kept: readonly CatalogObject[]; readonly keptNames: ReadonlySet<string | undefined> },
): boolean {
  return kept.length === 0 || (name !== undefined && !keptNames.has(name));
}

/** Kind and name; undefined when the object does not say them. */
function nameOf({ value }: CatalogObject): string | undefined {
  const kind = fieldOf(value, 'kind');
  const name = fieldOf(fieldOf(value, 'metadata'), 'name');
  return typeof kind === 'string' && typeof name === 'string' ? `${kind}/${name}` : undefined;
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}
