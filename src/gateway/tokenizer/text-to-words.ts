/**
 * Cuts a text into the words that are counted. Tokens that are written out are found first. The text between them is
 * normalized, and the result is cut into words that no token spans. Every step follows the reference implementation,
 * the Rust crate `tokenizers`.
 */
import { blank, compilePattern, escapePattern } from './compile-pattern.ts';
import type { AddedTokenFile, Behaviour, PlainPreTokenizer, PreTokenizerFile } from './tokenizer-folder.ts';

// Rust's \w (Unicode Technical Standard #18, Annex C).
const rustWord = '\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}';
const wordEnd = new RegExp(`[${rustWord}]$`, 'u');
const wordStart = new RegExp(`^[${rustWord}]`, 'u');

/** A stretch of a prompt: a token that is written out, or the text between such tokens. */
export type Section =
  | { readonly kind: 'token' }
  | { readonly kind: 'text'; readonly text: string; /** Where it starts. */ readonly at: number };

export type SectionSplitter = (text: string) => Iterable<Section>;

function isWholeWord(text: string, start: number, end: number): boolean {
  return !wordEnd.test(text.slice(Math.max(0, start - 2), start)) && !wordStart.test(text.slice(end, end + 2));
}

/**
 * Finds the added tokens that are written out in a text, also special tokens in a user's text. Like the reference,
 * prefers the leftmost token, then the longest (`AddedVocabulary::find_matches`).
 */
export function compileSections(tokens: ReadonlyMap<string, AddedTokenFile>): SectionSplitter {
  if (tokens.size === 0) return (text) => (text === '' ? [] : [{ kind: 'text', text, at: 0 }]);
  const longestFirst = [...tokens.keys()].toSorted((a, b) => b.length - a.length);
  const pattern = new RegExp(longestFirst.map(escapePattern).join('|'), 'gu');

  return function* sections(text) {
    let last = 0;
    for (const found of text.matchAll(pattern)) {
      const token = tokens.get(found[0]);
      let start = found.index;
      let end = start + found[0].length;
      if (token === undefined || (token.single_word && !isWholeWord(text, start, end))) continue;
      // A token that includes the blanks after it may have included the start of this one.
      if (start < last) continue;
      if (token.lstrip) while (start > last && blank.test(text[start - 1] ?? '')) start -= 1;
      if (token.rstrip) while (end < text.length && blank.test(text[end] ?? '')) end += 1;
      if (start > last) yield { kind: 'text', text: text.slice(last, start), at: last };
      yield { kind: 'token' };
      last = end;
    }
    if (last < text.length) yield { kind: 'text', text: text.slice(last), at: last };
  };
}

/** Cuts a piece of text into words that no token spans. `isFirst`: nothing of the prompt comes before the piece. */
type PreTokenizer = (text: string, isFirst: boolean) => Iterable<string>;

// Node follows the newest version of Unicode, the reference a version that is one or two older. So characters that were
// assigned in between may be cut differently. For `Punctuation` the reference follows Unicode 8.
const whitespace = /\p{White_Space}/gu;
const numeric = /\p{N}/gu;
const asciiPunctuation = '!-\\/:-@\\[-`\\{-~';
const punctuation = new RegExp(`[${asciiPunctuation}\\p{P}]`, 'gu');
const wordOrSymbols = new RegExp(`[${rustWord}]+|[^${rustWord}\\p{White_Space}]+`, 'gu');
/**
 * GPT-2's pattern for words, which is built into the `ByteLevel` pre-tokenizer. `\s` is written out as Oniguruma reads
 * it.
 */
const byteLevelWords =
  /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\p{White_Space}\p{L}\p{N}]+|\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+/gu;

/** The steps that `pre_tokenizer` of `tokenizer.json` consists of. */
export function preTokenizerSteps(file: PreTokenizerFile | null | undefined): readonly PlainPreTokenizer[] {
  if (file === null || file === undefined) return [];
  return file.type === 'Sequence' ? file.pretokenizers : [file];
}

/** Whether words are looked up as bytes and not as characters. */
export function isByteLevel(file: PreTokenizerFile | null | undefined): boolean {
  return preTokenizerSteps(file).some(({ type }) => type === 'ByteLevel');
}

/** How `tokenizer.json` cuts a normalized piece into words. Throws a `FieldFault`. */
export function compilePreTokenizer(file: PreTokenizerFile | null | undefined): PreTokenizer {
  const steps = preTokenizerSteps(file).flatMap((plain, index) =>
    compilePreTokenizerStep(
      plain,
      file?.type === 'Sequence' ? `pre_tokenizer.pretokenizers[${index}]` : 'pre_tokenizer',
    ),
  );
  const [first, ...rest] = steps;
  if (first === undefined) return (text) => [text];
  return (text, isFirst) =>
    rest.reduce<Iterable<string>>((pieces, step) => eachThrough(pieces, step, isFirst), first(text, isFirst));
}

function* eachThrough(pieces: Iterable<string>, step: PreTokenizer, isFirst: boolean): Generator<string> {
  let first = isFirst;
  for (const piece of pieces) {
    yield* step(piece, first);
    first = false;
  }
}

function compilePreTokenizerStep(file: PlainPreTokenizer, field: string): readonly PreTokenizer[] {
  const splitter = (options: SplitOptions): PreTokenizer => {
    return (text) => splitText(text, options);
  };
  switch (file.type) {
    case 'Split': {
      const pattern = compilePattern(file.pattern, `${field}.pattern`);
      return [splitter({ pattern, behaviour: file.behavior, inverted: file.invert })];
    }
    case 'ByteLevel': {
      const prefix: PreTokenizer = (text) => [text.startsWith(' ') ? text : ` ${text}`];
      return [
        ...(file.add_prefix_space ? [prefix] : []),
        ...(file.use_regex ? [splitter({ pattern: byteLevelWords, behaviour: 'Isolated' })] : []),
      ];
    }
    case 'Metaspace': {
      const { replacement, prepend_scheme: scheme } = file;
      const prepend: PreTokenizer = (text, isFirst) => {
        const replaced = text.replaceAll(' ', replacement);
        const wanted = scheme === 'always' || (scheme === 'first' && isFirst);
        return [wanted && !replaced.startsWith(replacement) ? replacement + replaced : replaced];
      };
      const pattern = compilePattern({ String: replacement }, field);
      return [prepend, ...(file.split ? [splitter({ pattern, behaviour: 'MergedWithNext' })] : [])];
    }
    case 'Digits':
      return [splitter({ pattern: numeric, behaviour: file.individual_digits ? 'Isolated' : 'Contiguous' })];
    case 'Punctuation':
      return [splitter({ pattern: punctuation, behaviour: file.behavior })];
    case 'Whitespace':
      return [splitter({ pattern: wordOrSymbols, behaviour: 'Removed', inverted: true })];
    case 'WhitespaceSplit':
      return [splitter({ pattern: whitespace, behaviour: 'Removed' })];
    case 'BertPreTokenizer':
      return [
        splitter({ pattern: whitespace, behaviour: 'Removed' }),
        splitter({ pattern: punctuation, behaviour: 'Isolated' }),
      ];
  }
}

interface SplitOptions {
  readonly pattern: RegExp;
  readonly behaviour: Behaviour;
  /** Treats the text between matches as the matches. */
  readonly inverted?: boolean;
}

/**
 * Cuts a text at a pattern, lazily and from left to right, like Rust's `NormalizedString::split`. Pieces are never
 * empty.
 */
export function* splitText(text: string, { pattern, behaviour, inverted = false }: SplitOptions): Generator<string> {
  let open: Span | undefined;
  let isJoined = false;
  for (const span of spansOf(text, pattern, inverted)) {
    if (behaviour === 'Removed' && span.match) continue;
    // A piece has at most one match. Only with `Contiguous` may it have several matches in a row.
    if (open !== undefined && joins(behaviour, open, span) && (behaviour === 'Contiguous' || !isJoined)) {
      open.end = span.end;
      isJoined = true;
      continue;
    }
    if (open !== undefined) yield text.slice(open.start, open.end);
    open = span;
    isJoined = false;
  }
  if (open !== undefined) yield text.slice(open.start, open.end);
}

interface Span {
  start: number;
  end: number;
  readonly match: boolean;
}

function* spansOf(text: string, pattern: RegExp, inverted: boolean): Generator<Span> {
  let last = 0;
  for (const found of text.matchAll(pattern)) {
    const end = found.index + found[0].length;
    if (found.index > last) yield { start: last, end: found.index, match: inverted };
    if (end > found.index) yield { start: found.index, end, match: !inverted };
    last = end;
  }
  if (last < text.length) yield { start: last, end: text.length, match: inverted };
}

/** Whether a span belongs to the piece of the previous span, which ends where this span starts. */
function joins(behaviour: Behaviour, before: Span, span: Span): boolean {
  switch (behaviour) {
    case 'Isolated':
    case 'Removed':
      return false;
    case 'Contiguous':
      return before.match === span.match;
    case 'MergedWithPrevious':
      return span.match && !before.match;
    case 'MergedWithNext':
      return before.match && !span.match;
  }
}
