import {
  type Document,
  isAlias,
  isCollection,
  isMap,
  isPair,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  type Range,
  visit,
} from 'yaml';

/** Lines of a document's fields, by their path as text. Plain data: it goes from one thread to another. */
export type LineTable = ReadonlyMap<string, number>;

/** Deepest path that has a line of its own: no field of the catalog's kinds is deeper. */
const maxDepth = 8;
/** Names count up to this length: thousands of paths through one long name would take much memory. */
const maxNameLength = 64;

const pathText = (path: readonly PropertyKey[]): string =>
  path.map((part) => String(part).slice(0, maxNameLength)).join('\0');

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

/** The line of a field. For a missing field, the line of the closest group around its place. */
export function lineIn(lines: LineTable, path: readonly PropertyKey[]): number {
  for (let length = path.length; length >= 0; length -= 1) {
    const line = lines.get(pathText(path.slice(0, length)));
    if (line !== undefined) return line;
  }
  return 1;
}

/** The path of the field that contains an offset, or of the last field before it: the place of a syntax error. */
export function pathAt(document: Document, offset: number): readonly PropertyKey[] {
  const path: PropertyKey[] = [];
  let node: unknown = document.contents;
  while (isCollection(node)) {
    const items: readonly unknown[] = node.items;
    const index = items.findLastIndex((item) => (startOf(isPair(item) ? item.key : item) ?? Infinity) <= offset);
    const item = items[index];
    if (item === undefined) return path;
    path.push(isPair(item) ? keyOf(item) : index);
    node = isPair(item) ? item.value : item;
    if (isAlias(node) || (startOf(node) ?? Infinity) > offset) return path;
  }
  return path;
}

/** Offset of the first alias without an anchor before it. */
export function unresolvedAlias(document: Document): number | undefined {
  const anchors = new Set<string>();
  let found: number | undefined;
  visit(document, {
    Node: (_key, node) => {
      if (!isAlias(node)) {
        if (node.anchor !== undefined) anchors.add(node.anchor);
        return undefined;
      }
      if (anchors.has(node.source)) return undefined;
      found = startOf(node);
      return visit.BREAK;
    },
  });
  return found;
}

/** The name of a field as text. */
function keyOf(pair: Pair): string {
  return isScalar(pair.key) ? String(pair.key.value) : '';
}

/** Offset of the first character of a node. */
export function startOf(node: unknown): number | undefined {
  const range: Range | null | undefined = isNodeWithRange(node) ? node.range : undefined;
  return range?.[0];
}

function isNodeWithRange(node: unknown): node is Node {
  return typeof node === 'object' && node !== null && 'range' in node;
}
