import { FieldFault } from './tokenizer-folder.ts';

/** A map of characters, as SentencePiece compiles it into its models. */
export interface CharMap {
  readonly normalize: (text: string) => string;
  /** The most that one byte of text can become. */
  readonly growth: { readonly bytes: number; readonly characters: number };
}

/** A grapheme of this size or more is mapped character by character (`Precompiled::normalize_string`). */
const largeGrapheme = 6;
/** Most parts of texts whose replacements are remembered. */
const rememberedParts = 20_000;

// Graphemes of several characters (Unicode Standard Annex #29), as far as they can be smaller than `largeGrapheme`: flags and most
// Indic syllables cannot. `Intl.Segmenter` takes microseconds for each.
const extend = String.raw`\p{M}\p{Emoji_Modifier}\u200C\u200D\u0E33\u0EB3\uFF9E\uFF9F\u{E0020}-\u{E007F}`;
const prepend = String.raw`\u0600-\u0605\u06DD\u070F\u08E2\u0D4E\u{110BD}\u{111C2}\u{111C3}\u{1193F}\u{11941}\u{11A3A}\u{11A84}-\u{11A89}\u{11D46}`;
const hangul = String.raw`[\u1100-\u115F]*(?:[\u1160-\u11A7]+|[\uAC00-\uD7A3])[\u1160-\u11FF]*`;
const pictures = String.raw`(?:\p{ExtPict}[${extend}]*\u200D)*\p{ExtPict}`;
const core = String.raw`(?:${hangul}|${pictures}|[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}])`;
const joined = String.raw`\r\n|[${prepend}]*${core}?[${extend}]+|[${prepend}]+${core}`;
/** Characters beyond ASCII that are graphemes of their own. In runs, because a call for each would take longer. */
const single = String.raw`(?:[^\0-\x7f${extend}${prepend}](?![${extend}])){1,1000}|[^\0-\x7f]`;
const encoder = new TextEncoder();

/**
 * Compiles `precompiled_charsmap`: the size of a trie, the trie (a double array, https://github.com/s-yata/darts-clone), and the
 * replacements, each ended by a zero byte. A leaf has the place of its replacement. Throws a `FieldFault`.
 */
export function compileCharMap(base64: string, field: string): CharMap {
  const bytes = Buffer.from(base64, 'base64');
  const size = bytes.length < 4 ? 0 : bytes.readUInt32LE(0);
  if (size < 4 || 4 + size > bytes.length) throw new FieldFault(field, 'expected a compiled map of characters');
  const units = Uint32Array.from({ length: size >> 2 }, (_, index) => bytes.readUInt32LE(4 + index * 4));
  const values = bytes.subarray(4 + size);
  const replacementAt = (value: number): string => values.toString('utf8', value, values.indexOf(0, value));

  /** The replacement of the shortest beginning of a part that has one: it stands for the whole part. */
  function lookUp(part: string): string | undefined {
    let at = offsetOf(units[0] ?? 0);
    for (const byte of encoder.encode(part)) {
      if (byte === 0) return undefined;
      at ^= byte;
      const unit = units[at] ?? 0;
      if (labelOf(unit) !== byte) return undefined;
      at ^= offsetOf(unit);
      if (hasLeaf(unit)) return replacementAt(valueOf(units[at] ?? 0));
    }
    return undefined;
  }

  const known = new Map<string, string | undefined>();
  const replacementOf = (part: string): string | undefined => {
    if (known.size >= rememberedParts) known.clear();
    return known.getOrInsertComputed(part, lookUp);
  };

  const eachCharacter = (text: string): string => {
    let mapped = '';
    for (const character of text) mapped += replacementOf(character) ?? character;
    return mapped;
  };
  const eachGrapheme = (text: string, grapheme: string | undefined): string =>
    (grapheme !== undefined && Buffer.byteLength(grapheme) < largeGrapheme ? replacementOf(grapheme) : undefined) ??
    eachCharacter(text);

  // Of a character of ASCII that is a grapheme, only whether it is changed matters.
  const ascii = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code));
  const changed = ascii.filter((character) => lookUp(character) !== undefined).map((one) => String.raw`|\x${hex(one)}`);
  const parts = new RegExp(`(${joined})|${single}${changed.join('')}`, 'gu');
  return {
    normalize: (text) => text.replaceAll(parts, eachGrapheme),
    growth: growthOf(units, replacementAt),
  };
}

const hex = (character: string): string => character.charCodeAt(0).toString(16).padStart(2, '0');
const offsetOf = (unit: number): number => (unit >>> 10) << ((unit & 0x200) >>> 6);
const labelOf = (unit: number): number => (unit & 0x8000_00ff) >>> 0;
const hasLeaf = (unit: number): boolean => (unit & 0x100) !== 0;
const valueOf = (unit: number): number => unit & 0x7fff_ffff;

/** Walks over all keys of the trie. */
function growthOf(units: Uint32Array, replacementAt: (value: number) => string): CharMap['growth'] {
  const most = { bytes: 1, characters: 1 };
  const waiting = [{ at: offsetOf(units[0] ?? 0), length: 0 }];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    for (let byte = 1; byte < 256; byte += 1) {
      const unit = units[node.at ^ byte] ?? 0;
      if (labelOf(unit) !== byte) continue;
      const next = { at: node.at ^ byte ^ offsetOf(unit), length: node.length + 1 };
      if (hasLeaf(unit)) {
        const replacement = replacementAt(valueOf(units[next.at] ?? 0));
        most.bytes = Math.max(most.bytes, Buffer.byteLength(replacement) / next.length);
        most.characters = Math.max(most.characters, Array.from(replacement).length / next.length);
      }
      waiting.push(next);
    }
  }
  return most;
}
