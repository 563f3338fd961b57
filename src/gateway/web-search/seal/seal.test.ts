import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Source } from '../../../core/web-search.ts';
import { ensureKeyFile, openKeyRing, parseKeys } from './key-ring.ts';
import { createSeal } from './seal.ts';

const newKey = () => randomBytes(32).toString('base64');
const sealWith = (...lines: readonly string[]) => createSeal(() => parseKeys(lines.join('\n')));

const sources: fc.Arbitrary<Source> = fc
  .record({
    number: fc.integer({ min: 1, max: 1e6 }),
    ...{
      url: fc.webUrl(),
      title: fc.string({ unit: 'grapheme' }),
      text: fc.string({ unit: 'grapheme', maxLength: 4000 }),
    },
    pageAge: fc.option(fc.string(), { nil: undefined }),
  })
  .map(({ pageAge, ...source }) => ({ ...source, ...(pageAge === undefined ? {} : { pageAge }) }));

const source: Source = { number: 3, url: 'https://a.example/', title: 'A', text: 'What it says.' };

describe('a token', () => {
  const seal = sealWith(newKey());

  it('opens to its content', () => {
    fc.assert(
      fc.property(sources, (one) => {
        expect(seal.openSource(seal.sealSource(one))).toEqual(one);
      }),
    );
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 4000 }), (text) => {
        expect(seal.openTrace(seal.sealTrace(text))).toBe(text);
      }),
    );
    fc.assert(
      fc.property(fc.integer({ min: 1 }), (n) => {
        expect(seal.openNumber(seal.sealNumber(n))).toBe(n);
      }),
    );
  });

  it('shows nothing of its content, and is never the same twice', () => {
    const [one, other] = [seal.sealSource(source), seal.sealSource(source)];
    expect(one).not.toBe(other);
    expect(Buffer.from(one, 'base64url').toString('latin1')).not.toMatch(/says|example/);
  });

  it('does not open when any character of it was changed, left out or put in', () => {
    const token = seal.sealSource(source);
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    fc.assert(
      fc.property(fc.nat(token.length - 1), fc.constantFrom(...alphabet.split('')), (at, other) => {
        if (token[at] !== other)
          expect(seal.openSource(token.slice(0, at) + other + token.slice(at + 1))).toBeUndefined();
        expect(seal.openSource(token.slice(0, at) + token.slice(at + 1))).toBeUndefined();
        expect(seal.openSource(token.slice(0, at) + other + token.slice(at))).toBeUndefined();
      }),
      { numRuns: 500 },
    );
  });

  it('does not open under another key, or for another purpose', () => {
    expect(sealWith(newKey()).openSource(seal.sealSource(source))).toBeUndefined();
    expect(seal.openSource(seal.sealNumber(3))).toBeUndefined();
    expect(seal.openNumber(seal.sealSource(source))).toBeUndefined();
  });

  it('does not open when it is anything else', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(seal.openSource(text)).toBeUndefined();
      }),
    );
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(seal.openSource(Buffer.from(bytes).toString('base64url'))).toBeUndefined();
      }),
    );
    expect(seal.openSource('A'.repeat(1e6))).toBeUndefined();
  });
});

describe('the keys', () => {
  it('rotate: the first seals, all of them open, and a removed one opens nothing', () => {
    const [old, fresh] = [newKey(), newKey()];
    const before = sealWith(old).sealSource(source);
    const during = sealWith(`# since today`, fresh, '', old);
    expect(during.openSource(before)).toEqual(source);
    expect(sealWith(fresh).openSource(during.sealSource(source))).toEqual(source);
    expect(sealWith(fresh).openSource(before)).toBeUndefined();
  });

  it.each([
    ['nothing', '\n# no key\n', 'expected a key: 32 random bytes in base64 or hex'],
    ['a short one', `${newKey()}\nc2hvcnQ=`, 'line 2: expected 32 random bytes in base64 or hex'],
    ['words', 'correct horse battery staple, and then some more', 'line 1: expected 32 random bytes in base64 or hex'],
  ])('are refused when there is %s, by line and without quoting it', (_, text, message) => {
    expect(() => parseKeys(text)).toThrow(message);
  });

  it('are refused when one is there twice', () => {
    const key = newKey();
    const hex = Buffer.from(key, 'base64').toString('hex');
    expect(() => parseKeys(`${key}\n${hex}`)).toThrow('a key is in it twice');
  });
});

describe('the key file', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'weir-seal-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('is read again when it changes, and the last keys remain while it is invalid', async () => {
    const path = join(folder, 'seal.key');
    let now = 0;
    const [old, fresh] = [newKey(), newKey()];
    await writeFile(path, old);
    const seal = createSeal(openKeyRing(path, () => now));
    const sealedBefore = seal.sealSource(source);

    await writeFile(path, 'a half-written fi');
    now += 1000;
    expect(seal.openSource(sealedBefore)).toEqual(source);

    await writeFile(path, `${fresh}\n${old}\n`);
    now += 1000;
    expect(seal.openSource(sealedBefore)).toEqual(source);
    expect(sealWith(fresh).openSource(seal.sealSource(source))).toEqual(source);
  });

  it('is created once, for its owner only', async () => {
    const path = join(folder, 'deeper', 'seal.key');
    ensureKeyFile(path);
    const token = createSeal(openKeyRing(path, () => 0)).sealSource(source);
    ensureKeyFile(path);
    expect(createSeal(openKeyRing(path, () => 0)).openSource(token)).toEqual(source);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  it('must exist at first', () => {
    expect(() => openKeyRing(join(folder, 'none'), () => 0)).toThrow('ENOENT');
  });
});
