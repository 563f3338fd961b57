import { minTokensOf } from '../../core/prompt.ts';
import { compileModel, WordTooLong } from './count-word.ts';
import { compileNormalizer } from './normalize-text.ts';
import {
  compilePreTokenizer,
  compileSections,
  isByteLevel,
  type Section,
  type SectionSplitter,
} from './text-to-words.ts';
import { compileByteBound, measureTokens, type TokenSizes } from './token-bounds.ts';
import type { TextCounts } from './remembered-counts.ts';
import type { AddedTokenFile, BytePairsFile, TokenizerFile } from './tokenizer-folder.ts';

type TextCount =
  | { readonly kind: 'counted'; readonly tokens: number }
  | { readonly kind: 'over'; readonly atLeast: number }
  | { readonly kind: 'unknown' };

/** A count under way. It pauses every few hundred words, so that a long text can wait for short ones in between. */
export type Counting<Count> = Generator<void, Count, void>;

/** Counts to the end, or until `stop` returns true in a pause. Then it returns undefined. */
export function countUntil<Count>(counting: Counting<Count>, stop: () => boolean): Count | undefined {
  for (;;) {
    const { done, value } = counting.next();
    if (done === true) return value;
    if (stop()) return undefined;
  }
}

export interface TextCounter {
  /**
   * Counts the tokens of `text`, without special tokens around it. Ends as `over` once they are certain to be more than `limit`.
   * `remembered`: the counts of earlier texts, which make no difference to the result.
   */
  readonly count: (text: string, limit: number, remembered?: TextCounts) => Counting<TextCount>;
  readonly sizes: TokenSizes;
}

type TextSection = Extract<Section, { readonly kind: 'text' }>;

/** The tokens so far, and the words and UTF-16 units that were counted, which call for pauses. */
interface CountState {
  tokens: number;
  words: number;
  units: number;
}

const wordsPerStep = 256;
const unitsPerStep = 16_384;

/** Makes a counter from the contents of a tokenizer folder. Throws a `FieldFault` when it cannot count exactly. */
export function compileTextCounter(file: TokenizerFile, extraTokens: readonly AddedTokenFile[]): TextCounter {
  const byteLevel = isByteLevel(file.pre_tokenizer);
  const normalize = compileNormalizer(file.normalizer);
  const preTokenize = compilePreTokenizer(file.pre_tokenizer);
  const cut = byteLevel || file.model.type !== 'BPE' ? (text: string) => [text] : compileSafeCuts(file.model);
  const tokensOf = compileModel(file.model, byteLevel);

  // The same token may be in both files; the one read last wins (transformers, `added_tokens_decoder`).
  const added = new Map([...file.added_tokens, ...extraTokens].map((token) => [token.content, token]));
  const sizes = measureTokens(file, [...added.values()]);
  const isNormalized = (token: AddedTokenFile): boolean => token.normalized ?? !token.special;
  const written = compileSections(new Map([...added].filter(([, token]) => !isNormalized(token))));
  const normalized: SectionSplitter = compileSections(
    new Map([...added.values()].filter(isNormalized).map((token) => [normalize(token.content), token] as const)),
  );

  const byteBound = compileByteBound(file.model, byteLevel);
  const leastOf = (word: string): number => (Number.isFinite(sizes.maxTokenBytes) ? byteBound(word) : 0);

  /** The words of a text between two written tokens. Undefined: a token. */
  function* wordsOf({ text, at }: TextSection): Generator<string | undefined> {
    // For the reference, a text whose first character is removed does not begin at the beginning.
    const isFirst = at === 0 && normalize(String.fromCodePoint(text.codePointAt(0) ?? 0)) !== '';
    for (const piece of normalized(normalize(text))) {
      if (piece.kind === 'token') yield undefined;
      else for (const word of preTokenize(piece.text, isFirst && piece.at === 0)) yield* cut(word);
    }
  }

  /**
   * Like `countWords`. V8's regular expressions note each character of a repetition that may have two units, and have room for some
   * millions: a longer word is as one that takes too long to merge.
   */
  function* countSection(state: CountState, section: TextSection, limit: number): Counting<TextCount | undefined> {
    const { tokens } = state;
    try {
      return yield* countWords(state, section, limit);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      const atLeast = tokens + leastOf(section.text);
      return atLeast > limit ? { kind: 'over', atLeast } : { kind: 'unknown' };
    }
  }

  /** Adds the tokens of a text to the state. Returns why the count ends before the end of the text; undefined: it does not. */
  function* countWords(state: CountState, section: TextSection, limit: number): Counting<TextCount | undefined> {
    for (const word of wordsOf(section)) {
      if (word === undefined) state.tokens += 1;
      else {
        // A token stands for no more UTF-16 units than bytes, so a word whose length alone exceeds the limit need not be merged.
        const atLeast = state.tokens + minTokensOf(word.length, sizes.maxTokenBytes);
        if (atLeast > limit) return { kind: 'over', atLeast };
        try {
          state.tokens += tokensOf(word);
        } catch (error) {
          if (!(error instanceof WordTooLong)) throw error;
          const atLeast = state.tokens + leastOf(word);
          return atLeast > limit ? { kind: 'over', atLeast } : { kind: 'unknown' };
        }
        state.units += word.length;
      }
      if (state.tokens > limit) return { kind: 'over', atLeast: state.tokens };
      state.words += 1;
      if (state.words % wordsPerStep !== 0 && state.units <= unitsPerStep) continue;
      state.units = 0;
      yield;
    }
    return undefined;
  }

  function* count(text: string, limit: number, remembered?: TextCounts): Counting<TextCount> {
    const least = minTokensOf(Buffer.byteLength(text), sizes.maxTextBytes);
    if (least > limit) return { kind: 'over', atLeast: least };
    const state: CountState = { tokens: 0, words: 0, units: 0 };
    for (const section of written(text)) {
      if (section.kind === 'token') {
        state.tokens += 1;
        if (state.tokens > limit) return { kind: 'over', atLeast: state.tokens };
        continue;
      }
      const key = remembered?.keyOf(section.text, section.at === 0);
      const known = key && remembered?.get(key);
      const before = state.tokens;
      // Past the limit, the text is counted anew, up to the word that passes it.
      if (typeof known === 'number' && before + known <= limit) {
        state.tokens += known;
        yield;
        continue;
      }
      const end = yield* countSection(state, section, limit);
      if (end !== undefined) return end;
      if (key !== undefined) remembered?.set(key, state.tokens - before);
    }
    return { kind: 'counted', tokens: state.tokens };
  }

  return { count, sizes };
}

/** How vocabularies in the manner of SentencePiece write a blank. */
const mark = '▁';

/**
 * Cuts a text into parts that can be counted one by one, for vocabularies in the manner of SentencePiece, which have no
 * pre-tokenizer. A token spans a place only if it has the two characters that meet there. So a text may be cut between a character
 * and a mark if no token of the vocabulary has this character followed by the mark.
 */
function compileSafeCuts(model: BytePairsFile): (text: string) => Iterable<string> {
  const tokens = Object.keys(model.vocab);
  /** Characters that some token holds just before a mark. */
  const before = new Set<string>();
  for (const token of tokens) {
    const characters = Array.from(token);
    characters.forEach((character, index) => {
      if (character === mark && index > 0) before.add(characters[index - 1] ?? '');
    });
  }
  // An unknown character is counted as `<0x0A>` or `<unk>`: it would end in `>`.
  if (!(mark in model.vocab) || before.has('>')) return (text) => [text];

  return function* cut(text) {
    let start = 0;
    for (let at = text.indexOf(mark, 1); at !== -1; at = text.indexOf(mark, at + 1)) {
      const last = text.codePointAt(at - 1) ?? 0;
      const character =
        last >= 0xdc00 && last <= 0xdfff ? text.slice(Math.max(0, at - 2), at) : String.fromCharCode(last);
      if (before.has(character)) continue;
      yield text.slice(start, at);
      start = at;
    }
    if (start < text.length) yield text.slice(start);
  };
}
