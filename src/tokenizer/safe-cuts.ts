import type { ModelFile } from './tokenizer-file.ts';

const mark = '▁';

/**
 * Cuts a text that nothing else cuts (vocabularies in the manner of SentencePiece have no pre-tokenizer) into parts that
 * are counted on their own. A token can only span a place if it holds the two characters that meet there, so before a
 * blank's mark that no token has inside after that character, the parts merge apart as they do together.
 */
export function compileSafeCuts(model: ModelFile): (text: string) => Iterable<string> {
  const tokens = Object.keys(model.vocab);
  // The last character of what stands for an unknown one: `>` of `<0x0A>` and `<unk>`.
  const before = new Set<string>();
  for (const token of tokens) {
    const characters = Array.from(token);
    characters.forEach((character, index) => {
      if (character === mark && index > 0) before.add(characters[index - 1] ?? '');
    });
  }
  if (!(mark in model.vocab) || before.has('>')) return (text) => [text];

  return function* cut(text) {
    let start = 0;
    for (let at = text.indexOf(mark, 1); at !== -1; at = text.indexOf(mark, at + 1)) {
      const last = text.codePointAt(at - 1) ?? 0;
      const character =
        last >= 0xdc00 && last <= 0xdfff ? text.slice(Math.max(0, at - 2), at) : String.fromCharCode(last);
      if (before.has(character)) continue;
      yield text.slice(start, at);
      start = at;
    }
    if (start < text.length) yield text.slice(start);
  };
}
