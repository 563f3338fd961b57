import type { NormalizerFile, PlainNormalizer } from './tokenizer-file.ts';
import { compilePattern } from './text-pattern.ts';

export interface Normalizer {
  readonly normalize: (text: string) => string;
  /** Most bytes that come of one byte, but for what `Prepend` adds once a piece; absent when it cannot be told. */
  readonly growth?: number;
}

const bytesOf = (text: string): number => Buffer.byteLength(text);

function compilePlain(file: PlainNormalizer, field: string): Normalizer {
  switch (file.type) {
    // Unicode Standard Annex #15, "growth": the worst case in UTF-8.
    case 'NFC':
    case 'NFD':
      return { normalize: (text) => text.normalize(file.type), growth: 3 };
    case 'NFKC':
    case 'NFKD':
      return { normalize: (text) => text.normalize(file.type), growth: 11 };
    case 'Lowercase':
      return { normalize: (text) => text.toLowerCase(), growth: 2 };
    case 'Prepend':
      return { normalize: (text) => (text === '' ? '' : file.prepend + text), growth: 1 };
    case 'Replace': {
      const pattern = compilePattern(file.pattern, `${field}.pattern`);
      const growth =
        'String' in file.pattern ? { growth: Math.max(1, bytesOf(file.content) / bytesOf(file.pattern.String)) } : {};
      return { normalize: (text) => text.replaceAll(pattern, () => file.content), ...growth };
    }
    case 'Strip': {
      const left = file.strip_left ? /^\p{White_Space}+/u : undefined;
      const right = file.strip_right ? /\p{White_Space}+$/u : undefined;
      return {
        normalize: (text) => {
          const start = left === undefined ? text : text.replace(left, '');
          return right === undefined ? start : start.replace(right, '');
        },
        growth: 1,
      };
    }
  }
}

/** What `tokenizer.json` does to a text before it is split. */
export function compileNormalizer(file: NormalizerFile | null | undefined): Normalizer {
  if (file === null || file === undefined) return { normalize: (text) => text, growth: 1 };
  if (file.type !== 'Sequence') return compilePlain(file, 'normalizer');
  const steps = file.normalizers.map((plain, index) => compilePlain(plain, `normalizer.normalizers[${index}]`));
  const growths = steps.map(({ growth }) => growth);
  const known = growths.filter((growth) => growth !== undefined);
  return {
    normalize: (text) => steps.reduce((value, { normalize }) => normalize(value), text),
    ...(known.length === growths.length && { growth: known.reduce((product, growth) => product * growth, 1) }),
  };
}
