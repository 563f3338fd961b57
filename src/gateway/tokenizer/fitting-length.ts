import type { Counting, TextCounter } from './text-counter.ts';

/** Most counts of one text. Four are usual: texts have about the same number of characters to a token from end to end. */
const maxCounts = 12;
/** First guess of the characters of a token, low, so that the first count is a true one. */
const firstGuess = 2;
/** Part of the limit that may stay unused. */
const slack = 1 / 64;

/**
 * The length of the beginning of a text that has at most `limit` tokens, UTF-16 units: the whole length, or at most a 64th fewer tokens
 * than the limit. Undefined: a part of the text cannot be counted. It is searched for with counts of beginnings, because a tokenizer may
 * change a text before it cuts it, so that its words have no places in the original one.
 */
export function* fittingLength(
  { count, sizes }: Pick<TextCounter, 'count' | 'sizes'>,
  text: string,
  limit: number,
): Counting<number | undefined> {
  const { tokensPerByte = Infinity } = sizes;
  if (Buffer.byteLength(text) * tokensPerByte + 1 <= limit) return text.length;
  const whole = yield* count(text, limit);
  if (whole.kind !== 'over') return whole.kind === 'counted' ? text.length : undefined;
  const found = { fits: 0, over: text.length };
  let guess = Math.min(text.length - 1, limit * firstGuess);
  for (let counts = 0; counts < maxCounts && found.over - found.fits > 1; counts += 1) {
    const end = wholeCharacter(text, guess);
    const counted = yield* count(text.slice(0, end), limit);
    if (counted.kind === 'unknown') return undefined;
    if (counted.kind === 'over') {
      found.over = end;
      guess = found.fits + Math.max(1, (end - found.fits) >> 1);
      continue;
    }
    found.fits = end;
    if (limit - counted.tokens <= limit * slack) break;
    const ahead = Math.max(1, Math.floor((end * (limit - counted.tokens)) / Math.max(1, counted.tokens)));
    guess = Math.min(end + ahead, found.over - 1);
  }
  return found.fits;
}

/** The two halves of a surrogate pair stay together. */
function wholeCharacter(text: string, end: number): number {
  const last = text.charCodeAt(end - 1);
  return last >= 0xd800 && last <= 0xdbff ? end - 1 : end;
}
