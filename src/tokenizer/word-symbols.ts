import { byteCharacters } from './byte-alphabet.ts';
import { FieldFault } from './broken-tokenizer.ts';
import type { ModelFile } from './tokenizer-file.ts';

/** Writes the smallest tokens of a word into `into`, which has room for 3 per UTF-16 unit, and returns how many. */
export type SymbolWriter = (word: string, into: Int32Array) => number;

/** The tokens of the single bytes, when all of them are there: nothing is then unknown to the vocabulary. */
function byteTokens(vocab: ReadonlyMap<string, number>, nameOf: (byte: number) => string): Int32Array | undefined {
  const ids = Array.from({ length: 256 }, (_, byte) => vocab.get(nameOf(byte)));
  const known = ids.filter((id) => id !== undefined);
  return known.length === 256 ? Int32Array.from(known) : undefined;
}

const fallbackName = (byte: number): string => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`;
const byteLevelName = (byte: number): string => byteCharacters[byte] ?? '';

const encoder = new TextEncoder();

/** For byte-level vocabularies. They hold every byte; one that does not is refused. */
export function byteLevelSymbols(vocab: ReadonlyMap<string, number>): SymbolWriter {
  const ids = byteTokens(vocab, byteLevelName);
  if (ids === undefined) throw new FieldFault('model.vocab', 'expected a token for each of the 256 bytes');
  let bytes = new Uint8Array(4096);
  return (word, into) => {
    if (bytes.length < word.length * 3) bytes = new Uint8Array(word.length * 3);
    const { written } = encoder.encodeInto(word, bytes);
    for (let at = 0; at < written; at += 1) into[at] = ids[bytes[at] ?? 0] ?? 0;
    return written;
  };
}

/** For vocabularies of characters, where an unknown one becomes its bytes or the unknown token (`BPE::merge_word`). */
export function characterSymbols(model: ModelFile, vocab: ReadonlyMap<string, number>): SymbolWriter {
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
