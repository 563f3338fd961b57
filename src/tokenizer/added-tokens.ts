import type { AddedTokenFile } from './tokenizer-file.ts';

/** A stretch of a prompt: a token that is written out, or text between such tokens. */
export type Section =
  | { readonly kind: 'token' }
  | { readonly kind: 'text'; readonly text: string; /** Where it starts. */ readonly at: number };

export type SectionSplitter = (text: string) => Iterable<Section>;

// Rust's \w (Unicode Technical Standard #18, Annex C).
const wordEnd = /[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]$/u;
const wordStart = /^[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]/u;
const blank = /\p{White_Space}/u;

const escape = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\/-]/gu, '\\$&');

function isWhole(text: string, start: number, end: number): boolean {
  return !wordEnd.test(text.slice(Math.max(0, start - 2), start)) && !wordStart.test(text.slice(end, end + 2));
}

/**
 * Finds tokens that stand in a text as they are, special tokens in a user's text included: leftmost first, then longest,
 * as the reference does (`AddedVocabulary::find_matches`).
 */
export function compileSections(tokens: ReadonlyMap<string, AddedTokenFile>): SectionSplitter {
  if (tokens.size === 0) return (text) => (text === '' ? [] : [{ kind: 'text', text, at: 0 }]);
  const longestFirst = [...tokens.keys()].toSorted((a, b) => b.length - a.length);
  const pattern = new RegExp(longestFirst.map(escape).join('|'), 'gu');

  return function* sections(text) {
    let last = 0;
    for (const found of text.matchAll(pattern)) {
      const token = tokens.get(found[0]);
      let start = found.index;
      let end = start + found[0].length;
      if (token === undefined || (token.single_word && !isWhole(text, start, end))) continue;
      // A token that swallowed the blanks after it may have swallowed the start of the next one.
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
