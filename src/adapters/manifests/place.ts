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

/** Where a field stands in its file: the offset of its name, or of the nearest thing around it that is there. */
export function offsetOf(document: Document, path: readonly PropertyKey[]): number {
  let node: unknown = document.contents;
  let offset = startOf(node) ?? 0;
  for (const part of path) {
    if (isMap(node)) {
      const pair = node.items.find((item) => keyOf(item) === String(part));
      if (pair === undefined) return offset;
      offset = startOf(pair.key) ?? offset;
      node = pair.value;
    } else if (isSeq(node) && typeof part === 'number') {
      node = node.items[part];
      offset = startOf(node) ?? offset;
    } else return offset;
  }
  return offset;
}

/** The path of the field that an offset is in, or of the last one before it: where a syntax error is felt. */
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

/** Offset of the first alias whose anchor does not stand before it. */
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

function keyOf(pair: Pair): string {
  return isScalar(pair.key) ? String(pair.key.value) : '';
}

function startOf(node: unknown): number | undefined {
  const range: Range | null | undefined = isNodeWithRange(node) ? node.range : undefined;
  return range?.[0];
}

function isNodeWithRange(node: unknown): node is Node {
  return typeof node === 'object' && node !== null && 'range' in node;
}
