// @suite apart
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { credentialOf } from '../../../test/support/credential-of.ts';
import { hashKey, keyText, looksLikeKey } from './key-text.ts';
import { createCredentialCache } from './credential-cache.ts';

// A key is found by its SHA-256: what is compared with what is stored is not what the stranger wrote, and nobody can
// choose how much of a hash is right. So a guess that is nearly right takes no longer than any other. That is shown
// exactly, by the hashes, and by the clock; and the clock is shown to see the harm of a comparison that does leak.

const tries = 100_000;
/** Different bytes for each name. */
const bytesOf = (name: string): Buffer => createHash('sha256').update(name).digest();

const secret = bytesOf('the secret');
const key = keyText(secret);
const cache = createCredentialCache(50_000);
const at = { now: 0, elapsed: 0 };
cache.put(hashKey(key), credentialOf(), at);

/** Guesses that share nearly all with the key, and some that share nothing but what all keys do; all of them well-formed. */
const near = Array.from({ length: 255 }, (_, index) =>
  keyText(Buffer.concat([secret.subarray(0, 31), Buffer.of(index)])),
)
  .filter((guess) => guess !== key)
  .slice(0, 250);
const far = Array.from({ length: 250 }, (_, index) => keyText(bytesOf(`stranger ${index}`)));

const sharedLength = (one: string, other: string): number => {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length += 1;
  return length;
};

// Once a stranger has tried a key it is known that there is none.
for (const guess of [...near, ...far]) cache.put(hashKey(guess), undefined, at);

/** As the service does it: the database, too, is asked by the hash alone. */
const lookUp = (guess: string): boolean =>
  looksLikeKey(guess) && cache.get(hashKey(guess), at)?.credential !== undefined;
/** As it must not be done. */
const compareText = (guess: string): boolean => sharedLength(guess, key) === key.length;

const median = (times: Float64Array): number => times.toSorted()[times.length >> 1] ?? 0;

/** How much longer a near guess takes than a far one, as a share: the medians of as many tries, taken by turns. */
function leak(look: (guess: string) => boolean): number {
  const times = { near: new Float64Array(tries / 2), far: new Float64Array(tries / 2) };
  for (let index = 0; index < tries / 2; index += 1) {
    // Neither of the two is always the first.
    const order = index % 2 === 0 ? (['near', 'far'] as const) : (['far', 'near'] as const);
    for (const which of order) {
      const guess = (which === 'near' ? near : far)[index % 250] ?? '';
      const begun = performance.now();
      const found = look(guess);
      times[which][index] = performance.now() - begun;
      expect(found).toBe(false);
    }
  }
  return median(times.near) / median(times.far) - 1;
}

describe('a guess at a key', () => {
  it('that is nearly right has a hash no more like the stored one than any other', () => {
    for (const guess of near) expect(sharedLength(guess, key)).toBeGreaterThan(45);
    const target = hashKey(key);
    const likeness = (guesses: readonly string[]): number =>
      Math.max(...guesses.map((guess) => sharedLength(hashKey(guess), target)));
    // Of 250 hashes one shares two digits on average, whatever was guessed.
    expect(likeness(near)).toBeLessThanOrEqual(4);
    expect(likeness(far)).toBeLessThanOrEqual(4);
  });

  it('takes as long as any other, over 100,000 tries', () => {
    expect(lookUp(key)).toBe(true);
    const measured = leak(lookUp);
    expect(Math.abs(measured)).toBeLessThan(0.1);
  }, 60_000);

  it('would be told by the clock if texts were compared', () => {
    const measured = leak(compareText);
    expect(measured).toBeGreaterThan(0.1);
  }, 60_000);
});
