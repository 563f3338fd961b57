import { type Document, isAlias, isCollection, isPair, isScalar, type Node, type Pair, type Range, visit } from 'yaml';

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

/** The name of a field as text. */
export function keyOf(pair: Pair): string {
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
