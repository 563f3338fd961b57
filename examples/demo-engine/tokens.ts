/** Pieces of up to eight characters of a word, each with the space before it. */
export function tokensOf(text: string): readonly string[] {
  return text.match(/\s?\S{1,8}|\s/gu) ?? [];
}
