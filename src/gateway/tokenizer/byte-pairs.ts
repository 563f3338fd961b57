import { createMergeTable, type TokenMerge, mergeSymbols } from './merge-pairs.ts';
import { type BytePairsFile, FieldFault } from './tokenizer-folder.ts';

/**
 * Compiles byte-pair encoding, as `model` of `tokenizer.json` describes it. Returns a function from a word to its number of tokens.
 * Throws a `FieldFault` when vocabulary and merges do not fit together.
 */
export function compileBytePairs(model: BytePairsFile, byteLevel: boolean): (word: string) => number {
  const vocab = new Map(Object.entries(model.vocab));
  const table = createMergeTable(readMerges(model, vocab));
  const write = byteLevel ? byteLevelSymbols(vocab) : characterSymbols(model, vocab);
  // Words that are whole tokens, whether or not merges produce them.
  const whole = new Set(
    model.ignore_merges === true
      ? [...vocab.keys()].flatMap((token) => (byteLevel ? (textOfToken(token) ?? []) : token))
      : [],
  );
  let symbols = new Int32Array(3 * 4096);

  return (word) => {
    if (whole.has(word)) return 1;
    if (symbols.length < word.length * 3) symbols = new Int32Array(word.length * 3);
    const count = mergeSymbols(symbols, write(word, symbols), table);
    if (symbols.length > 1_000_000) symbols = new Int32Array(3 * 4096);
    return count;
  };
}

function readMerges(model: BytePairsFile, vocab: ReadonlyMap<string, number>): readonly TokenMerge[] {
  return model.merges.map((merge, index) => {
    const [left = '', right = ''] = typeof merge === 'string' ? merge.split(' ', 2) : merge;
    const ids = [vocab.get(left), vocab.get(right), vocab.get(left + right)] as const;
    if (ids[0] === undefined || ids[1] === undefined || ids[2] === undefined) {
      throw new FieldFault(`model.merges[${index}]`, 'expected two tokens of model.vocab that make a third');
    }
    return { left: ids[0], right: ids[1], merged: ids[2] };
  });
}

/** Writes the smallest tokens of a word into `into`, and returns how many. `into` has room for 3 tokens per UTF-16 unit. */
type SymbolWriter = (word: string, into: Int32Array) => number;

const encoder = new TextEncoder();

/** Makes the writer for a byte-level vocabulary, which must have every byte. */
function byteLevelSymbols(vocab: ReadonlyMap<string, number>): SymbolWriter {
  const ids = byteTokens(vocab, (byte) => byteCharacters[byte] ?? '');
  if (ids === undefined) throw new FieldFault('model.vocab', 'expected a token for each of the 256 bytes');
  let bytes = new Uint8Array(4096);
  return (word, into) => {
    if (bytes.length < word.length * 3) bytes = new Uint8Array(word.length * 3);
    const { written } = encoder.encodeInto(word, bytes);
    for (let at = 0; at < written; at += 1) into[at] = ids[bytes[at] ?? 0] ?? 0;
    return written;
  };
}

export const fallbackName = (byte: number): string => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`;

/**
 * Makes the writer for a vocabulary of characters. An unknown character becomes its bytes or the unknown token (`BPE::merge_word`).
 */
function characterSymbols(model: BytePairsFile, vocab: ReadonlyMap<string, number>): SymbolWriter {
  const unknown = typeof model.unk_token === 'string' ? vocab.get(model.unk_token) : undefined;
  if (typeof model.unk_token === 'string' && unknown === undefined) {
    throw new FieldFault('model.unk_token', 'expected a token of model.vocab');
  }
  const bytes = model.byte_fallback === true ? byteTokens(vocab, fallbackName) : undefined;
  if (model.byte_fallback === true && bytes === undefined) {
    throw new FieldFault('model.byte_fallback', 'expected <0x00> to <0xFF> in model.vocab');
  }
  const fused = model.fuse_unk === true;
  return (word, into) => {
    let count = 0;
    let afterUnknown = false;
    for (const character of word) {
      const id = vocab.get(character);
      if (id !== undefined) {
        into[count++] = id;
        afterUnknown = false;
      } else if (bytes !== undefined) {
        for (const byte of encoder.encode(character)) into[count++] = bytes[byte] ?? 0;
      } else if (unknown !== undefined && !(fused && afterUnknown)) {
        into[count++] = unknown;
        afterUnknown = true;
      }
    }
    return count;
  };
}

/** The tokens of the single bytes. Undefined unless the vocabulary has all of them. With all of them, it can encode every text. */
export function byteTokens(
  vocab: ReadonlyMap<string, number>,
  nameOf: (byte: number) => string,
): Int32Array | undefined {
  const ids = Array.from({ length: 256 }, (_, byte) => vocab.get(nameOf(byte)));
  const known = ids.filter((id) => id !== undefined);
  return known.length === 256 ? Int32Array.from(known) : undefined;
}

/**
 * GPT-2's alphabet, in which byte-level vocabularies write every byte as one printable character: bytes that print stand
 * for themselves, the others follow from U+0100 on.
 */
const isPrintable = (byte: number): boolean =>
  (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;

let others = 0;
const byteCharacters: readonly string[] = Array.from({ length: 256 }, (_, byte) =>
  String.fromCharCode(isPrintable(byte) ? byte : 0x100 + others++),
);

/** The byte of each character of that alphabet. */
export const byteOfCharacter: ReadonlyMap<string, number> = new Map(
  byteCharacters.map((character, byte) => [character, byte]),
);

/** The text that a token of a byte-level vocabulary stands for; undefined when its bytes are no whole characters. */
function textOfToken(token: string): string | undefined {
  const bytes: number[] = [];
  for (const character of token) {
    const byte = byteOfCharacter.get(character);
    if (byte === undefined) return undefined;
    bytes.push(byte);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Uint8Array.from(bytes));
  } catch {
    return undefined;
  }
}
