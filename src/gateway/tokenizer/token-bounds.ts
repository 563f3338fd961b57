import { byteOfCharacter } from './byte-pairs.ts';
import { type CharMap, compileCharMap } from './char-map.ts';
import { compilePattern } from './compile-pattern.ts';
import { normalizerSteps } from './normalize-text.ts';
import { isByteLevel, preTokenizerSteps } from './text-to-words.ts';
import {
  type AddedTokenFile,
  type ModelFile,
  type PlainNormalizer,
  type TokenizerFile,
  tokensIn,
  type UnicodeForm,
} from './tokenizer-folder.ts';

/** Bounds that hold for every text that a tokenizer can get. */
export interface TokenSizes {
  /** Maximum bytes of a normalized word that one token stands for. Infinite: there is no such bound. */
  readonly maxTokenBytes: number;
  /** The same for bytes of a text that is not normalized yet. */
  readonly maxTextBytes: number;
  /** Most tokens per byte of text; undefined when there is no such bound. */
  readonly tokensPerByte: number | undefined;
  /** The same for bytes of JSON text without any byte above 127, where other characters are escaped in six bytes. */
  readonly tokensPerAsciiByte: number | undefined;
}

/** Finds how long a tokenizer's tokens are, and how many a text can become at most. */
export function measureTokens(file: TokenizerFile, added: readonly AddedTokenFile[]): TokenSizes {
  const byteLevel = isByteLevel(file.pre_tokenizer);
  const spelling = spellingOf(file.model, byteLevel);
  const factors = normalizerSteps(file.normalizer).reduce<Factors>((now, [step]) => after(now, step, spelling), {
    bytes: 1,
    tokens: 1,
    escapedTokens: 1,
    shrink: 1,
  });
  const maxTokenBytes = longestToken(file, added, byteLevel);
  const prefix = prefixesWords(file, added) ? 1 : 0;
  return {
    maxTokenBytes,
    maxTextBytes: dropsText(file) ? Number.POSITIVE_INFINITY : maxTokenBytes * factors.shrink,
    tokensPerByte: Number.isFinite(factors.tokens) ? factors.tokens + prefix : undefined,
    tokensPerAsciiByte: Number.isFinite(factors.escapedTokens) ? factors.escapedTokens + prefix : undefined,
  };
}

interface Growth {
  /** Most bytes that one byte of UTF-8 text can become. */
  readonly bytes: number;
  /** Most bytes that one byte of escaped JSON text can become. */
  readonly escaped: number;
  /** Most bytes that can become one byte. */
  readonly shrink: number;
}

/**
 * Unicode Standard Annex #15, table 5 ("maximum expansion factor"). An escaped character has six bytes (twice six above
 * U+FFFF), which is more than NFC makes of any. Composing joins at most three characters of two bytes into one of two.
 * The compatibility forms have no useful bound.
 */
const unicodeGrowth: Readonly<Record<UnicodeForm, Growth>> = {
  NFC: { bytes: 3, escaped: 1, shrink: 3 },
  NFD: { bytes: 3, escaped: 1.5, shrink: 3 },
  NFKC: { bytes: 11, escaped: 5.5, shrink: Number.POSITIVE_INFINITY },
  NFKD: { bytes: 11, escaped: 5.5, shrink: Number.POSITIVE_INFINITY },
  Lowercase: { bytes: 2, escaped: 1, shrink: 3 },
};

const bytesOf = (text: string): number => Buffer.byteLength(text);

interface Factors {
  readonly bytes: number;
  readonly tokens: number;
  readonly escapedTokens: number;
  readonly shrink: number;
}

const unbounded: Factors = {
  bytes: Number.POSITIVE_INFINITY,
  tokens: Number.POSITIVE_INFINITY,
  escapedTokens: Number.POSITIVE_INFINITY,
  shrink: Number.POSITIVE_INFINITY,
};

/** How a model writes a text that it has no longer tokens for. `isByCharacter`: no character is more than one token. */
type Spelling = ReturnType<typeof spellingOf>;

function spellingOf(model: ModelFile, byteLevel: boolean) {
  const isByCharacter = model.type === 'WordPiece' || (model.type === 'Unigram' && model.byte_fallback !== true);
  const known = new Set(byteLevel ? [] : tokensIn(model));
  const tokensOf = (text: string): number =>
    Array.from(text).reduce(
      (sum, character) => sum + (isByCharacter || known.has(character) ? 1 : bytesOf(character)),
      0,
    );
  return { isByCharacter, tokensOf };
}

/**
 * Adds the worst case of a step to the factors. A text never has more tokens than bytes, nor more tokens than the sum of `tokensOf`
 * over its characters.
 */
function after(factors: Factors, step: PlainNormalizer, { isByCharacter, tokensOf }: Spelling): Factors {
  const grown = ({ bytes, characters }: CharMap['growth']): Factors => {
    const tokens = factors.bytes * (isByCharacter ? characters : bytes);
    return { bytes: factors.bytes * bytes, tokens, escapedTokens: tokens, shrink: Infinity };
  };
  switch (step.type) {
    case 'NFC':
    case 'NFD':
    case 'NFKC':
    case 'NFKD':
    case 'Lowercase': {
      const { bytes, escaped, shrink } = unicodeGrowth[step.type];
      return {
        bytes: factors.bytes * bytes,
        tokens: factors.bytes * bytes,
        escapedTokens: factors.bytes * escaped,
        shrink: factors.shrink * shrink,
      };
    }
    case 'Prepend':
      return factors;
    case 'Strip':
    case 'StripAccents':
      return { ...factors, shrink: Infinity };
    // Hangul becomes three characters of three bytes each, an ideograph gets two blanks.
    case 'BertNormalizer':
      return grown({ bytes: 3, characters: 1 });
    case 'Precompiled':
      return grown(compileCharMap(step.precompiled_charsmap, 'normalizer').growth);
    case 'Replace': {
      if ('Regex' in step.pattern) return replacedAnywhere(factors, step, tokensOf);
      const from = step.pattern.String;
      const tokens = Math.max(1, tokensOf(step.content) / tokensOf(from));
      return {
        bytes: factors.bytes * Math.max(1, bytesOf(step.content) / bytesOf(from)),
        tokens: factors.tokens * tokens,
        escapedTokens: factors.escapedTokens * tokens,
        shrink: factors.shrink * Math.max(1, bytesOf(from) / bytesOf(step.content)),
      };
    }
  }
}

/** A pattern of any length can match before and behind each character, unless it matches an empty text, which has none. */
function replacedAnywhere(
  factors: Factors,
  { pattern, content }: Extract<PlainNormalizer, { readonly type: 'Replace' }>,
  tokensOf: Spelling['tokensOf'],
): Factors {
  if (''.match(compilePattern(pattern, 'normalizer')) !== null) return unbounded;
  const [bytes, tokens] = [1 + 2 * bytesOf(content), 1 + 2 * tokensOf(content)];
  const { bytes: from, tokens: fromTokens, escapedTokens } = factors;
  return { bytes: from * bytes, tokens: fromTokens * tokens, escapedTokens: escapedTokens * tokens, shrink: Infinity };
}

function longestToken(file: TokenizerFile, added: readonly AddedTokenFile[], byteLevel: boolean): number {
  const { model } = file;
  // Without a way to write every byte, runs of unknown characters become one token or none at all.
  if (model.type === 'WordPiece' || (model.type === 'Unigram' && model.byte_fallback !== true)) return Infinity;
  if (model.type === 'BPE' && !byteLevel && model.byte_fallback !== true) {
    if (typeof model.unk_token !== 'string' || model.fuse_unk === true) return Infinity;
  }
  // An added token with `lstrip` or `rstrip` includes all the blanks beside it.
  if (added.some(({ lstrip, rstrip }) => lstrip || rstrip)) return Number.POSITIVE_INFINITY;
  let longest = 4;
  for (const token of tokensIn(model)) {
    longest = Math.max(longest, byteLevel ? token.length : bytesOf(token));
  }
  return added.reduce((most, { content }) => Math.max(most, bytesOf(content)), longest);
}

/** Whether the tokenizer may put blanks before more than the first word, so that the bounds need room for them. */
function prefixesWords(file: TokenizerFile, added: readonly AddedTokenFile[]): boolean {
  const steps = preTokenizerSteps(file.pre_tokenizer);
  const place = steps.findIndex(
    (step) =>
      (step.type === 'ByteLevel' && step.add_prefix_space) ||
      (step.type === 'Metaspace' && step.prepend_scheme !== 'never'),
  );
  const prepends = normalizerSteps(file.normalizer).some(([step]) => step.type === 'Prepend');
  if (place > 0) return true;
  // Pieces lie between added tokens. An added token of two bytes or more leaves room in the bound for the blank after it.
  return (place === 0 || prepends) && added.some(({ content }) => bytesOf(content) < 2);
}

function dropsText(file: TokenizerFile): boolean {
  return preTokenizerSteps(file.pre_tokenizer).some((step) => {
    switch (step.type) {
      case 'Split':
      case 'Punctuation':
        return step.behavior === 'Removed';
      case 'Whitespace':
      case 'WhitespaceSplit':
      case 'BertPreTokenizer':
        return true;
      case 'ByteLevel':
      case 'Metaspace':
      case 'Digits':
        return false;
    }
  });
}

const encoder = new TextEncoder();
const chunkUnits = 1 << 16;
const replacement = encoder.encode('\uFFFD');

/**
 * Bounds from below the number of tokens of a word that is too long to be merged. If no token of the vocabulary has a byte more
 * than m times, a word that has the byte n times needs at least n / m tokens. Only for vocabularies that know every byte.
 */
export function compileByteBound(model: ModelFile, byteLevel: boolean): (word: string) => number {
  const most = new Uint32Array(256).fill(1);
  for (const token of tokensIn(model)) {
    const seen = new Map<number, number>();
    for (const byte of tokenBytes(token, byteLevel)) seen.set(byte, (seen.get(byte) ?? 0) + 1);
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
    // If the end of a chunk cuts a character in two, U+FFFD is written twice. Its bytes may not be in the text at all.
    for (const byte of replacement) counts[byte] = 0;
    return counts.reduce((least, count, byte) => Math.max(least, Math.ceil(count / (most[byte] ?? 1))), 0);
  };
}

/** The bytes that a token stands for, if any: `Ġthe` is ` the`. */
function tokenBytes(token: string, byteLevel: boolean): readonly number[] {
  if (!byteLevel) return [...encoder.encode(token)];
  return Array.from(token).flatMap((character) => byteOfCharacter.get(character) ?? []);
}
