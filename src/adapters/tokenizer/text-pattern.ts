import { SplitPreTokenizer } from '@huggingface/tokenizers';
import { FieldFault } from './broken-tokenizer.ts';
import type { Pattern } from './tokenizer-file.ts';

/**
 * A pattern of `tokenizer.json` as a global regular expression. They are written for Oniguruma; the package knows where
 * that differs from JavaScript. Throws a `FieldFault` when it cannot be said in JavaScript.
 */
export function compilePattern(pattern: Pattern, field: string): RegExp {
  try {
    if ('String' in pattern) return new RegExp(pattern.String.replaceAll(/[.*+?^${}()|[\]\\/]/gu, '\\$&'), 'gu');
    const { pattern: compiled } = new SplitPreTokenizer({
      ...{ type: 'Split', pattern: { Regex: pattern.Regex }, behavior: 'Isolated', invert: false },
    });
    if (compiled === null) throw new Error('no pattern');
    return compiled;
  } catch (cause) {
    throw new FieldFault(field, 'expected a regular expression that can be written in JavaScript', { cause });
  }
}
