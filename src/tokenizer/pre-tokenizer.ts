import { splitText, type SplitOptions } from './split-text.ts';
import { compilePattern } from './text-pattern.ts';
import type { PlainPreTokenizer, PreTokenizerFile } from './tokenizer-file.ts';

/** Cuts a piece into words that no token spans. `isFirst`: nothing of the prompt comes before the piece. */
export type PreTokenizer = (text: string, isFirst: boolean) => Iterable<string>;

type Step = (text: string, isFirst: boolean) => Iterable<string>;

// Node follows Unicode's newest version, the reference one or two before: characters assigned in between may be cut
// otherwise. For `Punctuation` the reference follows Unicode 8.
const whitespace = /\p{White_Space}/gu;
const numeric = /\p{N}/gu;
const asciiPunctuation = '!-\\/:-@\\[-`\\{-~';
const punctuation = new RegExp(`[${asciiPunctuation}\\p{P}]`, 'gu');
// Rust's \w (Unicode Technical Standard #18, Annex C).
const rustWord = '\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}';
const wordOrSymbols = new RegExp(`[${rustWord}]+|[^${rustWord}\\p{White_Space}]+`, 'gu');
/** Of GPT-2, built into the `ByteLevel` pre-tokenizer; `\s` as Oniguruma reads it. */
const byteLevelWords =
  /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\p{White_Space}\p{L}\p{N}]+|\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+/gu;

function splitter(options: SplitOptions): Step {
  return (text) => splitText(text, options);
}

function compilePlain(file: PlainPreTokenizer, field: string): readonly Step[] {
  switch (file.type) {
    case 'Split': {
      const pattern = compilePattern(file.pattern, `${field}.pattern`);
      return [splitter({ pattern, behaviour: file.behavior, inverted: file.invert })];
    }
    case 'ByteLevel': {
      const prefix: Step = (text) => [text.startsWith(' ') ? text : ` ${text}`];
      return [
        ...(file.add_prefix_space ? [prefix] : []),
        ...(file.use_regex ? [splitter({ pattern: byteLevelWords, behaviour: 'Isolated' })] : []),
      ];
    }
    case 'Metaspace': {
      const { replacement, prepend_scheme: scheme } = file;
      const prepend: Step = (text, isFirst) => {
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

function* then(pieces: Iterable<string>, step: Step, isFirst: boolean): Generator<string> {
  let first = isFirst;
  for (const piece of pieces) {
    yield* step(piece, first);
    first = false;
  }
}

/** The steps that `pre_tokenizer` of `tokenizer.json` consists of. */
export function plainsOf(file: PreTokenizerFile | null | undefined): readonly PlainPreTokenizer[] {
  if (file === null || file === undefined) return [];
  return file.type === 'Sequence' ? file.pretokenizers : [file];
}

/** Whether words are looked up as bytes rather than as characters. */
export function isByteLevel(file: PreTokenizerFile | null | undefined): boolean {
  return plainsOf(file).some(({ type }) => type === 'ByteLevel');
}

/** How `tokenizer.json` cuts a normalized piece into words. */
export function compilePreTokenizer(file: PreTokenizerFile | null | undefined): PreTokenizer {
  const steps = plainsOf(file).flatMap((plain, index) =>
    compilePlain(plain, file?.type === 'Sequence' ? `pre_tokenizer.pretokenizers[${index}]` : 'pre_tokenizer'),
  );
  const [first, ...rest] = steps;
  if (first === undefined) return (text) => [text];
  return (text, isFirst) =>
    rest.reduce<Iterable<string>>((pieces, step) => then(pieces, step, isFirst), first(text, isFirst));
}
