import { maxCitedText } from '../core/web-search.ts';
import { sentences } from './sentences.ts';

const wordsOf = (text: string): readonly string[] => text.toLowerCase().match(/[\p{L}\p{N}]{3,}|\p{N}+/gu) ?? [];

/** Cuts a text to what a citation may hold, between words where it can, and never inside a character. */
function cut(text: string): string {
  if (text.length <= maxCitedText) return text;
  const most = text.slice(0, maxCitedText).replace(/[\uD800-\uDBFF]$/, '');
  const blank = most.lastIndexOf(' ');
  return blank > maxCitedText / 2 ? most.slice(0, blank) : most;
}

/** How much words tell: long ones are rare, and figures are what people look up. */
function weigh(words: ReadonlySet<string>): number {
  let sum = 0;
  for (const word of words) sum += /^\p{N}/u.test(word) ? word.length * 2 : word.length;
  return sum;
}

/** The sentence of a source that shares the most with what was said of it; the first of them where several do. */
export function quote(source: string, said: string): string {
  const wanted = new Set(wordsOf(said));
  let best = '';
  let most = -1;
  for (const sentence of sentences(source)) {
    const trimmed = sentence.trim();
    if (trimmed === '') continue;
    const shared = weigh(new Set(wordsOf(trimmed)).intersection(wanted));
    if (shared > most) {
      most = shared;
      best = trimmed;
    }
  }
  return cut(best);
}
