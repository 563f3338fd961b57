import { byteOfCharacter } from './byte-alphabet.ts';
import type { ModelFile } from './tokenizer-file.ts';

const encoder = new TextEncoder();
const chunkUnits = 1 << 16;
const replacement = encoder.encode('\uFFFD');

/** The bytes a token stands for, as far as it stands for any: `Ġthe` is ` the`. */
function bytesOf(token: string, byteLevel: boolean): readonly number[] {
  if (!byteLevel) return [...encoder.encode(token)];
  return Array.from(token).flatMap((character) => byteOfCharacter.get(character) ?? []);
}

/**
 * Fewest tokens of a word that is too long to be merged. No token holds a byte more often than some token of the vocabulary
 * does, so a word that holds it n times needs at least n divided by that. Only for vocabularies to which no byte is
 * unknown.
 */
export function compileByteBound(model: ModelFile, byteLevel: boolean): (word: string) => number {
  const most = new Uint32Array(256).fill(1);
  for (const token of Object.keys(model.vocab)) {
    const seen = new Map<number, number>();
    for (const byte of bytesOf(token, byteLevel)) seen.set(byte, (seen.get(byte) ?? 0) + 1);
    for (const [byte, times] of seen) most[byte] = Math.max(most[byte] ?? 1, times);
  }
  return (word) => {
    const counts = new Float64Array(256);
    const bytes = new Uint8Array(chunkUnits * 3);
    for (let at = 0; at < word.length; at += chunkUnits) {
      const { written } = encoder.encodeInto(word.slice(at, at + chunkUnits), bytes);
      for (let index = 0; index < written; index += 1) {
        const byte = bytes[index] ?? 0;
        counts[byte] = (counts[byte] ?? 0) + 1;
      }
    }
    // A character cut in two by a chunk's end is written as U+FFFD, twice: bytes that may not be there at all.
    for (const byte of replacement) counts[byte] = 0;
    return counts.reduce((least, count, byte) => Math.max(least, Math.ceil(count / (most[byte] ?? 1))), 0);
  };
}
