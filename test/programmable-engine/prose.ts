import { pick, seededChance } from './chance.ts';

/** What a text is made of. The same ask gives the same text; a longer ask gives a text that begins with the shorter one. */
export interface ProseAsk {
  readonly seed: number;
  /** Words in front, taken from the prompt, so that a canary in the prompt can be looked for in the answer. */
  readonly opening: string;
  /** Words in all, the opening's included. */
  readonly words: number;
  /** Multi-byte words: two, three and four bytes in UTF-8, combining marks, right-to-left script. */
  readonly unicode: boolean;
}

/** Sentences of made-up prose with the exact number of words asked for. */
export function prose(ask: ProseAsk): string {
  const chance = seededChance(ask.seed);
  const vocabulary = ask.unicode ? unicodeWords : asciiWords;
  const opening = ask.opening === '' ? [] : ask.opening.split(' ');
  const words = opening.slice(0, ask.words);
  let sentence = 0;
  let left = 0;
  while (words.length < ask.words) {
    if (left === 0) {
      left = 5 + Math.floor(chance() * 9);
      sentence += 1;
      const separator = sentence % 4 === 0 ? '\n\n' : '';
      words.push(separator + capital(pick(vocabulary, chance)));
    } else {
      words.push(chance() < 0.04 ? String(Math.floor(chance() * 10_000)) : pick(vocabulary, chance));
    }
    left -= 1;
    if (left === 0) words.push(`${words.pop() ?? ''}.`);
  }
  return words.join(' ');
}

/** What the answer quotes of a prompt: all of it when short, else both ends. White space becomes single spaces. */
export function quoteOf(text: string): string {
  const ends = text.length <= 240 ? text : `${text.slice(0, 120)} … ${text.slice(-120)}`;
  return ends.split(/\s+/u).filter(Boolean).join(' ');
}

const capital = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

function wordList(words: string): readonly [string, ...string[]] {
  const [first = '', ...rest] = words.split(' ');
  return [first, ...rest];
}

const asciiWords = wordList(
  'the a water level rises when gates close and falls as soon they open river keeper measures every ' +
    'hour with care writes numbers into book nobody reads because current remembers by itself ' +
    'downstream mill turns slowly grain becomes flour bread travels upstream again fish wait under ' +
    'stones patiently winter ice spring flood summer drought autumn leaves each season its own ' +
    "measurement of what passes through engineering understanding responsibility isn't",
);

const unicodeWords = wordList(
  'café naïve Straße река вода 水 閘門 川の流れ 강물 שלום مياه नदी แม่น้ำ 🌊 🐟 👩‍👩‍👧 🏳️‍🌈 👍🏽 𝒲𝑒𝒾𝓇 𠜎 e\u0301 ' +
    'n\u0303 € ½ — “so” ﬁn Ω',
);
