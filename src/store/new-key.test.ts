import { describe, expect, it } from 'vitest';
import { hashKey, looksLikeKey, newKey } from './new-key.ts';

describe('newKey', () => {
  it('never makes the same key twice, and every one holds its checksum', () => {
    const texts = Array.from({ length: 500 }, () => newKey().text);
    expect(new Set(texts).size).toBe(texts.length);
    expect(texts.every(looksLikeKey)).toBe(true);
  });

  it('gives the hash by which the key is found', () => {
    const { text, hash } = newKey();
    expect(hashKey(text)).toBe(hash);
    expect(hash).toMatch(/^[0-9a-f]{64}$/);
  });
});

describe('hashKey', () => {
  it('is SHA-256', () => {
    expect(hashKey('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  });
});
