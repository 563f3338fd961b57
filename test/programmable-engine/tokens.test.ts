import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { countTokens, offsetOfTokens, tokenEnd } from './tokens.ts';

/** Every class of character that the tokenizer tells apart, and pairs that it must keep together. */
const pieces = fc
  .array(
    fc.constantFrom('a', 'Zq', 'understanding', ' ', '\n', '7', '2026', '.', '"', 'é', '水', '🌊', '👍🏽', 'e\u0301'),
    { maxLength: 40 },
  )
  .map((parts) => parts.join(''));

describe('the toy tokenizer', () => {
  test.each([
    ['', 0],
    ['Hello', 1],
    [' Hello', 1],
    ['Hello there', 2],
    ['understanding', 2],
    ['12345', 2],
    ['  two spaces', 3],
    ['水の', 2],
    ['👍🏽', 2],
    ['\ud83d', 1],
  ])('counts %j as %i', (text, tokens) => {
    expect(countTokens(text)).toBe(tokens);
  });

  test('a text cut at any token boundary has as many tokens as its halves together', () => {
    fc.assert(
      fc.property(pieces, fc.nat(30), (text, tokens) => {
        const at = offsetOfTokens(text, tokens);
        return countTokens(text.slice(0, at)) + countTokens(text.slice(at)) === countTokens(text);
      }),
    );
  });

  test('every token moves on, and never splits a surrogate pair', () => {
    fc.assert(
      fc.property(pieces, (text) => {
        for (let at = 0; at < text.length;) {
          const end = tokenEnd(text, at);
          expect(end).toBeGreaterThan(at);
          expect(text.slice(at, end).isWellFormed()).toBe(true);
          at = end;
        }
      }),
    );
  });
});
