import { byteTokens, fallbackName } from './byte-pairs.ts';
import { createMergeTable, type TokenMerge } from './merge-pairs.ts';
import { FieldFault, type UnigramFile } from './tokenizer-folder.ts';

/** How much less likely an unknown character is than the least likely token (`K_UNK_PENALTY`). */
const unknownPenalty = 10;
/** Arrays for longer words are released after the word. */
const keptUnits = 16_384;

/**
 * Compiles a unigram model, as SentencePiece trains it: a word is cut into those tokens whose probabilities have the largest product.
 * The scores are logarithms of them. A run of unknown characters is one token, or its bytes if the vocabulary has them. Returns a
 * function from a word to its number of tokens. Throws a `FieldFault` when the vocabulary lacks what the model needs.
 */
export function compileUnigram(model: UnigramFile): (word: string) => number {
  const { vocab, unk_id: unknownId, byte_fallback: hasBytes } = model;
  if (unknownId >= vocab.length) throw new FieldFault('model.unk_id', 'expected a place in model.vocab');
  const ids = new Map(vocab.map(([token], id) => [token, id]));
  if (hasBytes === true && byteTokens(ids, fallbackName) === undefined)
    throw new FieldFault('model.byte_fallback', 'expected <0x00> to <0xFF> in model.vocab');
  const scores = vocab.map(([, score]) => score);
  const unknownScore = scores.reduce((least, score) => Math.min(least, score), Infinity) - unknownPenalty;
  const { table, tokens } = createTrie(ids);
  let path = createPath(keptUnits);

  /** Continues the best way to `start` with a token up to `end`, if this is the best way to `end` so far. */
  function offer(start: number, end: number, { id, added }: { readonly id: number; readonly added: number }): void {
    const score = (path.scores[start] ?? 0) + (id === unknownId ? unknownScore : (scores[id] ?? 0));
    if (score <= (path.scores[end] ?? 0)) return;
    path.scores[end] = score;
    path.counts[end] = (path.counts[start] ?? 0) + added;
    path.isUnknown[end] = id === unknownId ? 1 : 0;
  }

  return (word) => {
    if (word.length > keptUnits) path = createPath(word.length);
    path.scores.fill(-Infinity, 0, word.length + 1);
    for (const values of [path.scores, path.counts, path.isUnknown]) values[0] = 0;
    for (let start = 0; start < word.length;) {
      const first = word.codePointAt(start) ?? 0;
      const after = start + (first > 0xffff ? 2 : 1);
      let isKnown = false;
      let node = 0;
      for (let end = start + 1; end <= word.length; end += 1) {
        const entry = table.find(node, word.charCodeAt(end - 1));
        if (entry === -1) break;
        node = table.mergedAt(entry);
        const id = tokens[node] ?? -1;
        if (id === -1) continue;
        if (end === after) isKnown = true;
        offer(start, end, { id, added: 1 });
      }
      if (!isKnown) {
        const fused = path.isUnknown[start] === 1 ? 0 : 1;
        offer(start, after, { id: unknownId, added: hasBytes === true ? utf8Length(first) : fused });
      }
      start = after;
    }
    const count = path.counts[word.length] ?? 0;
    if (word.length > keptUnits) path = createPath(keptUnits);
    return count;
  };
}

/** The best way to each place of a word so far: its score, its number of tokens, and whether it ends in an unknown character. */
const createPath = (units: number) => ({
  scores: new Float64Array(units + 1),
  counts: new Int32Array(units + 1),
  isUnknown: new Uint8Array(units + 1),
});

const utf8Length = (code: number): number => (code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x1_0000 ? 3 : 4);

/** A trie of tokens by UTF-16 units: what a node and a unit lead to, and the token that ends at a node, or -1. */
function createTrie(ids: ReadonlyMap<string, number>) {
  const edges: TokenMerge[] = [];
  const tokenIds: number[] = [-1];
  /** The nodes of the token before, from the root. Sorted tokens share the beginning of the one before. */
  let nodes = [0];
  let before = '';
  for (const token of [...ids.keys()].toSorted()) {
    let shared = 0;
    while (shared < before.length && before.charCodeAt(shared) === token.charCodeAt(shared)) shared += 1;
    nodes = nodes.slice(0, shared + 1);
    for (let at = shared; at < token.length; at += 1) {
      edges.push({ left: nodes.at(-1) ?? 0, right: token.charCodeAt(at), merged: tokenIds.length });
      nodes.push(tokenIds.length);
      tokenIds.push(-1);
    }
    tokenIds[nodes.at(-1) ?? 0] = ids.get(token) ?? -1;
    before = token;
  }
  return { table: createMergeTable(edges), tokens: Int32Array.from(tokenIds) };
}
