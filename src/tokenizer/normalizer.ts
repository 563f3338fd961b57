import type { NormalizerFile, PlainNormalizer } from './tokenizer-file.ts';
import { compilePattern } from './text-pattern.ts';

export type Normalizer = (text: string) => string;

function compilePlain(file: PlainNormalizer, field: string): Normalizer {
  switch (file.type) {
    case 'NFC':
    case 'NFD':
    case 'NFKC':
    case 'NFKD':
      return (text) => text.normalize(file.type);
    case 'Lowercase':
      return (text) => text.toLowerCase();
    case 'Prepend':
      return (text) => (text === '' ? '' : file.prepend + text);
    case 'Replace': {
      const pattern = compilePattern(file.pattern, `${field}.pattern`);
      return (text) => text.replaceAll(pattern, () => file.content);
    }
    case 'Strip':
      return (text) => strip(text, file);
  }
}

const blank = /^\p{White_Space}$/u;

/** Not `trim`, which counts U+FEFF among the blanks and U+0085 not; not an anchored pattern, which is quadratic. */
function strip(text: string, sides: { readonly strip_left: boolean; readonly strip_right: boolean }): string {
  let start = 0;
  let end = text.length;
  while (sides.strip_left && start < end && blank.test(text[start] ?? '')) start += 1;
  while (sides.strip_right && end > start && blank.test(text[end - 1] ?? '')) end -= 1;
  return text.slice(start, end);
}

/** The steps that `normalizer` of `tokenizer.json` consists of, each with its path. */
export function normalizerSteps(
  file: NormalizerFile | null | undefined,
): readonly (readonly [PlainNormalizer, string])[] {
  if (file === null || file === undefined) return [];
  if (file.type !== 'Sequence') return [[file, 'normalizer']];
  return file.normalizers.map((plain, index) => [plain, `normalizer.normalizers[${index}]`]);
}

/** What `tokenizer.json` does to a text before it is split. */
export function compileNormalizer(file: NormalizerFile | null | undefined): Normalizer {
  const steps = normalizerSteps(file).map(([plain, field]) => compilePlain(plain, field));
  return (text) => steps.reduce((value, step) => step(value), text);
}
