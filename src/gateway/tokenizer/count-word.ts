import { compileBytePairs } from './byte-pairs.ts';
import { FieldFault, type ModelFile } from './tokenizer-folder.ts';
import { compileUnigram } from './unigram.ts';
import { compileWordPieces } from './word-pieces.ts';

/** A word without a break that is too long to be cut into tokens in reasonable time and memory. */
export class WordTooLong extends Error {
  override readonly name = 'WordTooLong';
}

/**
 * Longest word that is cut into tokens, UTF-16 units. It takes about half a second and 100 MB. No language or format has longer words,
 * but an attack may.
 */
const maxWordLength = 2_000_000;
/** Most words whose counts are remembered. Prompts repeat their words, so most counts are looked up. About 20 MB when full. */
const rememberedWords = 100_000;
const maxRememberedLength = 48;

/**
 * Compiles `model` of `tokenizer.json`. Returns a function from a word to its number of tokens, which throws a `WordTooLong` above
 * `maxWordLength`, except for WordPiece. Throws a `FieldFault` when the model contradicts itself.
 */
export function compileModel(model: ModelFile, byteLevel: boolean): (word: string) => number {
  const count = compileKind(model, byteLevel);
  const remembered = new Map<string, number>();
  // WordPiece does not look into long words.
  const maxLength = model.type === 'WordPiece' ? Infinity : maxWordLength;
  return (word) => {
    if (word.length > maxLength) throw new WordTooLong();
    if (word.length > maxRememberedLength) return count(word);
    const known = remembered.get(word);
    if (known !== undefined) return known;
    const tokens = count(word);
    if (remembered.size >= rememberedWords) remembered.clear();
    remembered.set(detached(word), tokens);
    return tokens;
  };
}

function compileKind(model: ModelFile, byteLevel: boolean): (word: string) => number {
  if (model.type === 'BPE') return compileBytePairs(model, byteLevel);
  if (byteLevel)
    throw new FieldFault('pre_tokenizer', `expected one without ByteLevel for a model of type ${model.type}`);
  return model.type === 'WordPiece' ? compileWordPieces(model) : compileUnigram(model);
}

/** Copies a word, so that it does not keep in memory the prompt from which it was cut. V8 shares the memory of longer slices. */
function detached(word: string): string {
  return word.length < 13 ? word : ` ${word}`.slice(1);
}
