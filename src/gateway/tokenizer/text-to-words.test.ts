import { expect, it } from 'vitest';
import { splitText } from './text-to-words.ts';
import type { Behaviour } from './tokenizer-folder.ts';

// The example of the reference's documentation (`SplitDelimiterBehavior`).
it.each<readonly [Behaviour, readonly string[]]>([
  ['Removed', ['the', 'final', 'countdown']],
  ['Isolated', ['the', '-', 'final', '-', '-', 'countdown']],
  ['MergedWithPrevious', ['the-', 'final-', '-', 'countdown']],
  ['MergedWithNext', ['the', '-final', '-', '-countdown']],
  ['Contiguous', ['the', '-', 'final', '--', 'countdown']],
])('cuts "the-final--countdown" with %s', (behaviour, pieces) => {
  expect([...splitText('the-final--countdown', { pattern: /-/gu, behaviour })]).toEqual(pieces);
});

it('keeps the matches alone when it is inverted and removes', () => {
  expect([...splitText(' ab  cd', { pattern: /\w+/gu, behaviour: 'Removed', inverted: true })]).toEqual(['ab', 'cd']);
});

it('gives nothing for an empty text', () => {
  expect([...splitText('', { pattern: /x*/gu, behaviour: 'Isolated' })]).toEqual([]);
});
