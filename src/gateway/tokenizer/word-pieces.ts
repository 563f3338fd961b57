import { FieldFault, type WordPiecesFile } from './tokenizer-folder.ts';

/**
 * Compiles WordPiece, as BERT and its relatives use it: the longest token that begins a word, then the longest one that continues it.
 * A word that cannot be written so, or that is too long, is one unknown token. Returns a function from a word to its number of tokens.
 * Throws a `FieldFault` when the unknown token is none of the vocabulary.
 */
export function compileWordPieces(model: WordPiecesFile): (word: string) => number {
  const {
    vocab,
    unk_token: unknown,
    continuing_subword_prefix: prefix,
    max_input_chars_per_word: maxCharacters,
  } = model;
  const tokens = Object.keys(vocab);
  const first = new Set(tokens);
  if (!first.has(unknown)) throw new FieldFault('model.unk_token', 'expected a token of model.vocab');
  const next = new Set(tokens.flatMap((token) => (token.startsWith(prefix) ? token.slice(prefix.length) : [])));
  const longest = tokens.reduce((most, { length }) => Math.max(most, length), 0);

  return (word) => {
    if (word.length > maxCharacters * 2 || Array.from(word).length > maxCharacters) return 1;
    let count = 0;
    for (let start = 0; start < word.length; count += 1) {
      const known = start === 0 ? first : next;
      let end = Math.min(word.length, start + longest);
      while (end > start && !known.has(word.slice(start, end))) end -= 1;
      if (end === start) return 1;
      start = end;
    }
    return count;
  };
}
