import { isObject, type JsonObject } from './json.ts';

/** A reference to a definition of the same schema. Definitions lie beside each other, so each is walked once. */
const definition = /^#\/(?:\$defs|definitions)\/(?<name>[^/~%]+)$/;

/** The name of the definition that a reference leads to. */
export const definitionName = (reference: string): string | undefined => definition.exec(reference)?.groups?.['name'];

/** The definitions of this name: a schema may have both places for them. */
export function definitionsOf(root: JsonObject, name: string): readonly unknown[] {
  return [root['$defs'], root['definitions']].flatMap((place) =>
    isObject(place) && Object.hasOwn(place, name) ? [place[name]] : [],
  );
}

/** The names of the definitions that a value refers to. The value must not be nested deeply. */
function namesIn(value: unknown, names = new Set<string>()): ReadonlySet<string> {
  if (typeof value !== 'object' || value === null) return names;
  for (const [key, inner] of Object.entries(value)) {
    const name = key === '$ref' && typeof inner === 'string' ? definitionName(inner) : undefined;
    if (name === undefined) namesIn(inner, names);
    else names.add(name);
  }
  return names;
}

/**
 * Whether no chain of references from definition to definition is longer than `max`. Whoever follows the references of
 * a schema goes as deep as its longest chain: the service, and the engines that make a grammar of it. Circles are no
 * chains. The schema must not be nested deeply itself.
 */
export function hasShortChains({ $defs, definitions, ...rest }: JsonObject, max: number): boolean {
  const root = { $defs, definitions };
  /** Length of the longest chain that begins at a definition. Undefined while it is being walked. */
  const lengths = new Map<string, number | undefined>();
  const starts = [
    ...namesIn(rest),
    ...Object.keys(isObject($defs) ? $defs : {}),
    ...Object.keys(isObject(definitions) ? definitions : {}),
  ];
  for (const start of starts) {
    if (lengths.has(start)) continue;
    const path = [walk(root, start)];
    lengths.set(start, undefined);
    for (let last = path.at(-1); last !== undefined; last = path.at(-1)) {
      if (path.length > max) return false;
      const next = last.names.next();
      if (next.done === true) {
        path.pop();
        lengths.set(last.name, last.longest + 1);
        const before = path.at(-1);
        if (before !== undefined) before.longest = Math.max(before.longest, last.longest + 1);
      } else if (lengths.has(next.value)) last.longest = Math.max(last.longest, lengths.get(next.value) ?? 0);
      else {
        lengths.set(next.value, undefined);
        path.push(walk(root, next.value));
      }
      if (last.longest >= max) return false;
    }
  }
  return true;
}

function walk(root: JsonObject, name: string) {
  return { name, names: namesIn(definitionsOf(root, name)).values(), longest: 0 };
}
