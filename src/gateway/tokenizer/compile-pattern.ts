import { Tokenizer } from '@huggingface/tokenizers';
import { FieldFault, type Pattern } from './tokenizer-folder.ts';

/** One blank, as Rust's `char::is_whitespace` says. */
export const blank = /^\p{White_Space}$/u;

export const escapePattern = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\/]/gu, '\\$&');

/**
 * A pattern of `tokenizer.json` as a global regular expression. The patterns are written for Oniguruma. The package
 * `@huggingface/tokenizers` translates the parts that differ in JavaScript. Throws a `FieldFault` when a pattern cannot
 * be written in JavaScript.
 */
export function compilePattern(pattern: Pattern, field: string): RegExp {
  try {
    return 'String' in pattern ? new RegExp(escapePattern(pattern.String), 'gu') : translate(pattern.Regex);
  } catch (cause) {
    throw new FieldFault(field, 'expected a regular expression that can be written in JavaScript', { cause });
  }
}

/** The package translates patterns only as part of a tokenizer, so this is the smallest tokenizer around a pattern. */
function translate(regex: string): RegExp {
  const parts = { normalizer: null, post_processor: null, decoder: null, added_tokens: [] };
  const split = { type: 'Split', pattern: { Regex: regex }, behavior: 'Isolated', invert: false };
  const { pre_tokenizer: made } = new Tokenizer(
    { ...parts, model: { type: 'BPE', vocab: {}, merges: [] }, pre_tokenizer: split },
    {},
  );
  const compiled: unknown = made?.pattern;
  if (!(compiled instanceof RegExp)) throw new Error('the package made no pattern');
  return compiled;
}
