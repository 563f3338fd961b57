import { textOfToken } from './byte-alphabet.ts';
import { FieldFault } from './broken-tokenizer.ts';
import { createMergeTable, type Merge } from './merge-table.ts';
import { mergeSymbols } from './merge-symbols.ts';
import type { ModelFile } from './tokenizer-file.ts';
import { byteLevelSymbols, characterSymbols } from './word-symbols.ts';

/** Counts the tokens of words. */
export interface WordCounter {
  /** Throws a `WordTooLong` above `longestWord` UTF-16 units. */
  readonly count: (word: string) => number;
}

/** A word without a break that is too long to be merged in reasonable time and memory. */
export class WordTooLong extends Error {
  override readonly name = 'WordTooLong';
}

/** About half a second and 100 MB. No language or format has such words; an attack does. */
const longestWord = 2_000_000;
/** Prompts repeat their words, so most are looked up. About 20 MB when full. */
const rememberedWords = 100_000;
const longestRemembered = 48;

function readMerges(model: ModelFile, vocab: ReadonlyMap<string, number>): readonly Merge[] {
  return model.merges.map((merge, index) => {
    const [left = '', right = ''] = typeof merge === 'string' ? merge.split(' ', 2) : merge;
    const ids = [vocab.get(left), vocab.get(right), vocab.get(left + right)] as const;
    if (ids[0] === undefined || ids[1] === undefined || ids[2] === undefined) {
      throw new FieldFault(`model.merges[${index}]`, 'expected two tokens of model.vocab that make a third');
    }
    return { left: ids[0], right: ids[1], merged: ids[2] };
  });
}

/** A copy that does not keep alive the prompt it was cut from: engines share the memory of longer slices. */
function detached(word: string): string {
  return word.length < 13 ? word : ` ${word}`.slice(1);
}

/**
 * Byte-pair encoding as `model` of `tokenizer.json` describes it, down to the number of tokens. Throws a `FieldFault`
 * when vocabulary and merges do not fit together.
 */
export function compileBytePairs(model: ModelFile, byteLevel: boolean): WordCounter {
  const vocab = new Map(Object.entries(model.vocab));
  const table = createMergeTable(readMerges(model, vocab));
  const write = byteLevel ? byteLevelSymbols(vocab) : characterSymbols(model, vocab);
  // Words that are tokens as they are, whether or not merges lead there.
  const whole = new Set(
    model.ignore_merges === true
      ? [...vocab.keys()].flatMap((token) => (byteLevel ? (textOfToken(token) ?? []) : token))
      : [],
  );
  const remembered = new Map<string, number>();
  let symbols = new Int32Array(3 * 4096);

  function merge(word: string): number {
    if (whole.has(word)) return 1;
    if (word.length > longestWord) throw new WordTooLong();
    if (symbols.length < word.length * 3) symbols = new Int32Array(word.length * 3);
    const count = mergeSymbols(symbols, write(word, symbols), table);
    if (symbols.length > 1_000_000) symbols = new Int32Array(3 * 4096);
    return count;
  }

  return {
    count: (word) => {
      if (word.length > longestRemembered) return merge(word);
      const known = remembered.get(word);
      if (known !== undefined) return known;
      const count = merge(word);
      if (remembered.size >= rememberedWords) remembered.clear();
      remembered.set(detached(word), count);
      return count;
    },
  };
}
