import { type Document, isMap, isSeq } from 'yaml';
import { keyOf, startOf } from './place.ts';

/** Lines of a document's fields, by their path as text. Plain data: it goes from one thread to another. */
export type LineTable = ReadonlyMap<string, number>;

/** Deepest path that has a line of its own: no field of the catalog's kinds is deeper. */
const maxDepth = 8;
/** Longest part of a name that counts: thousands of paths through a long name would be long together. */
const longestName = 64;

const pathText = (path: readonly PropertyKey[]): string =>
  path.map((part) => String(part).slice(0, longestName)).join('\0');

export function lineTableOf(document: Document, lineAt: (offset: number) => number): LineTable {
  const lines = new Map<string, number>();
  const note = (path: readonly PropertyKey[], node: unknown): void => {
    const start = startOf(node);
    if (start !== undefined) lines.set(pathText(path), lineAt(start));
  };
  const enter = (node: unknown, path: readonly PropertyKey[]): void => {
    if (path.length >= maxDepth) return;
    if (isMap(node)) {
      for (const pair of node.items) {
        const inner = [...path, keyOf(pair)];
        note(inner, pair.key);
        enter(pair.value, inner);
      }
    } else if (isSeq(node)) {
      for (const [index, item] of node.items.entries()) {
        note([...path, index], item);
        enter(item, [...path, index]);
      }
    }
  };
  note([], document.contents);
  enter(document.contents, []);
  return lines;
}

/** The line of a field, or of the nearest thing around it that is there. */
export function lineIn(lines: LineTable, path: readonly PropertyKey[]): number {
  for (let length = path.length; length >= 0; length -= 1) {
    const line = lines.get(pathText(path.slice(0, length)));
    if (line !== undefined) return line;
  }
  return 1;
}
