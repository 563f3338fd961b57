import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { derivedKey, hashKey, keptPrefix, keyText, looksLikeKey, newKey } from './key-text.ts';

const randomBytes = fc.uint8Array({ minLength: 32, maxLength: 32 });
const printable = fc.integer({ min: 0, max: 0x24f }).map((code) => String.fromCodePoint(code));

describe('the text of a key', () => {
  it('has the one shape that secret scanners look for, whatever the bits', () => {
    const shape = /^sk-weir-[0-9A-Za-z]{49}$/;
    fc.assert(fc.property(randomBytes, (bytes) => shape.test(keyText(bytes))));
    expect(keyText(new Uint8Array(32))).toMatch(shape);
    expect(keyText(new Uint8Array(32).fill(255))).toMatch(shape);
  });

  it('carries all 256 bits: the digits read back to the bytes they were made of', () => {
    const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
    fc.assert(
      fc.property(randomBytes, (bytes) => {
        const body = keyText(bytes).slice(8, 51);
        const value = Array.from(body).reduce((total, digit) => total * 62n + BigInt(digits.indexOf(digit)), 0n);
        expect(value.toString(16).padStart(64, '0')).toBe(Buffer.from(bytes).toString('hex'));
      }),
    );
  });

  it('ends in the CRC-32 that everyone else computes', () => {
    const text = keyText(Uint8Array.from({ length: 32 }, (_, index) => index * 7));
    const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
    const written = Array.from(text.slice(51)).reduce((total, digit) => total * 62 + digits.indexOf(digit), 0);
    expect(written).toBe(crc32(text.slice(8, 51)));
  });

  it('is made of 32 bytes, no more and no fewer', () => {
    expect(() => keyText(new Uint8Array(31))).toThrow(new RangeError('A key needs 32 random bytes.'));
    expect(() => keyText(new Uint8Array(33))).toThrow(RangeError);
  });
});

describe('looksLikeKey', () => {
  it('knows every key that was made', () => {
    fc.assert(fc.property(randomBytes, (bytes) => looksLikeKey(keyText(bytes))));
  });

  it('refuses a key with any one character changed', () => {
    fc.assert(
      fc.property(randomBytes, fc.nat(56), printable, (bytes, index, character) => {
        const text = keyText(bytes);
        fc.pre(text[index] !== character);
        return !looksLikeKey(text.slice(0, index) + character + text.slice(index + 1));
      }),
      { numRuns: 5_000 },
    );
  });

  it('refuses a key with two neighbours swapped', () => {
    fc.assert(
      fc.property(randomBytes, fc.nat(55), (bytes, index) => {
        const text = keyText(bytes);
        const [first = '', second = ''] = [text[index], text[index + 1]];
        fc.pre(first !== second);
        return !looksLikeKey(text.slice(0, index) + second + first + text.slice(index + 2));
      }),
    );
  });

  it('refuses a key cut short, made longer, or wrapped in spaces', () => {
    const text = keyText(new Uint8Array(32).fill(9));
    const wrong = [
      '',
      'sk-weir-',
      text.slice(0, -1),
      `${text}0`,
      ` ${text}`,
      `${text}\n`,
      text.toUpperCase(),
      text.slice(8),
    ];
    for (const candidate of wrong) expect(looksLikeKey(candidate), candidate).toBe(false);
  });

  it('refuses a character that is no digit, also with the right checksum', () => {
    const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
    for (const character of ['-', 'é', '\u{2603}']) {
      const body = keyText(new Uint8Array(32).fill(9)).slice(8, 50) + character;
      let checksum = '';
      for (let rest = crc32(body); checksum.length < 6; rest = Math.floor(rest / 62))
        checksum = digits.charAt(rest % 62) + checksum;
      expect(looksLikeKey(`sk-weir-${body}${checksum}`)).toBe(false);
    }
  });

  it('refuses any other text', () => {
    fc.assert(fc.property(fc.string(), (text) => !looksLikeKey(text)));
    fc.assert(fc.property(fc.string({ minLength: 49, maxLength: 49 }), (text) => !looksLikeKey(`sk-weir-${text}`)));
  });
});

describe('newKey', () => {
  it('never makes the same key twice, and every one holds its checksum', () => {
    const texts = Array.from({ length: 500 }, () => newKey());
    expect(new Set(texts).size).toBe(texts.length);
    expect(texts.every(looksLikeKey)).toBe(true);
  });
});

describe('keptPrefix', () => {
  it('has four of the random characters', () => {
    const text = newKey();
    expect([text.slice(0, 12), text.slice(0, 8)]).toEqual([keptPrefix(text), 'sk-weir-']);
  });
});

describe('derivedKey', () => {
  it('is the same key for the same subject and secret, and another one for any other', () => {
    const text = derivedKey('a', 'secret');
    expect(derivedKey('a', 'secret')).toBe(text);
    expect(looksLikeKey(text)).toBe(true);
    expect(new Set([text, derivedKey('b', 'secret'), derivedKey('a', 'other')]).size).toBe(3);
  });
});

describe('hashKey', () => {
  it('is SHA-256 in lowercase hex', () => {
    expect(hashKey('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  });
});
