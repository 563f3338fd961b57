/**
 * Changes a text before it is cut into words, as `normalizer` of `tokenizer.json` says. Every step follows the reference
 * implementation, the Rust crate `tokenizers`. For control characters, accents and marks the reference knows Unicode 8 and Node a
 * newer version, so a text in a script that is younger than 2015 may be counted differently.
 */
import { compileCharMap } from './char-map.ts';
import { blank, compilePattern } from './compile-pattern.ts';
import type { NormalizerFile, PlainNormalizer } from './tokenizer-folder.ts';

type Normalizer = (text: string) => string;

/** The steps that `normalizer` of `tokenizer.json` consists of, each with its path in the file. */
export function normalizerSteps(
  file: NormalizerFile | null | undefined,
): readonly (readonly [PlainNormalizer, string])[] {
  if (file === null || file === undefined) return [];
  if (file.type !== 'Sequence') return [[file, 'normalizer']];
  return file.normalizers.map((plain, index) => [plain, `normalizer.normalizers[${index}]`]);
}

/** How `tokenizer.json` changes a text before it is cut into words. Throws a `FieldFault`. */
export function compileNormalizer(file: NormalizerFile | null | undefined): Normalizer {
  const steps = normalizerSteps(file).map(([plain, field]) => compileStep(plain, field));
  return (text) => steps.reduce((value, step) => step(value), text);
}

function compileStep(file: PlainNormalizer, field: string): Normalizer {
  switch (file.type) {
    case 'NFC':
    case 'NFD':
    case 'NFKC':
    case 'NFKD':
      return (text) => text.normalize(file.type);
    case 'Lowercase':
      return lowercase;
    case 'Prepend':
      return (text) => (text === '' ? '' : file.prepend + text);
    case 'Replace': {
      const pattern = compilePattern(file.pattern, `${field}.pattern`);
      return (text) => text.replaceAll(pattern, () => file.content);
    }
    case 'Strip':
      return (text) => strip(text, file);
    case 'StripAccents':
      return (text) => text.replaceAll(/\p{M}/gu, '');
    case 'BertNormalizer':
      return compileBert(file);
    case 'Precompiled':
      return compileCharMap(file.precompiled_charsmap, `${field}.precompiled_charsmap`).normalize;
  }
}

/** Rust lowers each character by itself. JavaScript looks around a sigma, and writes another one at the end of a word. */
const lowercase: Normalizer = (text) => text.replaceAll('Σ', 'σ').toLowerCase();

/**
 * Removes blanks at the ends. Does not use `trim`, which removes U+FEFF and keeps U+0085, nor an anchored pattern,
 * which takes quadratic time.
 */
function strip(text: string, sides: { readonly strip_left: boolean; readonly strip_right: boolean }): string {
  let start = 0;
  let end = text.length;
  while (sides.strip_left && start < end && blank.test(text[start] ?? '')) start += 1;
  while (sides.strip_right && end > start && blank.test(text[end - 1] ?? '')) end -= 1;
  return text.slice(start, end);
}

/** A lone surrogate is U+FFFD for the reference. */
const unprintable = /[\0\uFFFD\p{Co}\p{Cf}\p{Cs}]|(?![\t\n\r])\p{Cc}/gu;
const ideographs =
  /[\u3400-\u4DBF\u4E00-\u9FFF\uF900-\uFAFF\u{20000}-\u{2A6DF}\u{2A700}-\u{2B81F}\u{2B920}-\u{2CEAF}\u{2F800}-\u{2FA1F}]/gu;

function compileBert(file: Extract<PlainNormalizer, { readonly type: 'BertNormalizer' }>): Normalizer {
  const { clean_text, handle_chinese_chars, lowercase: isLowered, strip_accents } = file;
  const steps: Normalizer[] = [];
  if (clean_text) steps.push((text) => text.replaceAll(unprintable, '').replaceAll(/\p{White_Space}/gu, ' '));
  if (handle_chinese_chars) steps.push((text) => text.replaceAll(ideographs, ' $& '));
  if (strip_accents ?? isLowered) steps.push((text) => text.normalize('NFD').replaceAll(/\p{Mn}/gu, ''));
  if (isLowered) steps.push(lowercase);
  return (text) => steps.reduce((value, step) => step(value), text);
}
