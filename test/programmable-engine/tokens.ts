/**
 * The programmable engine's tokenizer: one token per piece of a word. A piece is at most eight ASCII letters with the space
 * before them, or at most three digits, or any other single code point.
 *
 * It reads strictly left to right and never looks back, so a text cut at any token boundary has exactly as many tokens as
 * its two halves together. Mid-stream failover is billed on that identity, and the tests of it need it exact.
 */
export function tokenEnd(text: string, from: number): number {
  const first = text.charCodeAt(from);
  if (isDigit(first)) return runEnd(text, from, { limit: from + 3, belongs: isDigit });
  const letters = first === SPACE ? from + 1 : from;
  const end = runEnd(text, letters, { limit: letters + 8, belongs: isLetter });
  if (end > letters) return end;
  const isPair = first >= 0xd800 && first < 0xdc00 && isLowSurrogate(text.charCodeAt(from + 1));
  return from + (isPair ? 2 : 1);
}

/** How many tokens the text has. Linear and without allocation: a 32 MiB prompt takes a fraction of a second. */
export function countTokens(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at = tokenEnd(text, at)) count += 1;
  return count;
}

/** The end of the first `tokens` tokens, or the text's length when it has fewer. */
export function offsetOfTokens(text: string, tokens: number): number {
  let at = 0;
  for (let left = tokens; left > 0 && at < text.length; left -= 1) at = tokenEnd(text, at);
  return at;
}

const SPACE = 0x20;
const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;
const isLetter = (code: number): boolean => (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a);
const isLowSurrogate = (code: number): boolean => code >= 0xdc00 && code < 0xe000;

function runEnd(
  text: string,
  from: number,
  run: { readonly limit: number; readonly belongs: (code: number) => boolean },
): number {
  let end = from;
  while (end < run.limit && run.belongs(text.charCodeAt(end))) end += 1;
  return end;
}
