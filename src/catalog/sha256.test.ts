import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { sha256 } from './sha256.ts';

function reference(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

test('agrees with the platform on every length around the block borders', () => {
  for (let length = 0; length <= 200; length++) expect(sha256('a'.repeat(length))).toBe(reference('a'.repeat(length)));
});

test('agrees with the platform on any text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 130 }), (text) => {
      expect(sha256(text)).toBe(reference(text));
    }),
  );
});
