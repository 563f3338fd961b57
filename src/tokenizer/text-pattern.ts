import { Tokenizer } from '@huggingface/tokenizers';
import { FieldFault } from './broken-tokenizer.ts';
import type { Pattern } from './tokenizer-file.ts';

/** The package translates patterns only as part of a tokenizer, so this is the least tokenizer around one. */
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

/**
 * A pattern of `tokenizer.json` as a global regular expression. They are written for Oniguruma; the package knows where
 * that differs from JavaScript. Throws a `FieldFault` when it cannot be said in JavaScript.
 */
export function compilePattern(pattern: Pattern, field: string): RegExp {
  try {
    if ('String' in pattern) return new RegExp(pattern.String.replaceAll(/[.*+?^${}()|[\]\\/]/gu, '\\$&'), 'gu');
    return translate(pattern.Regex);
  } catch (cause) {
    throw new FieldFault(field, 'expected a regular expression that can be written in JavaScript', { cause });
  }
}
