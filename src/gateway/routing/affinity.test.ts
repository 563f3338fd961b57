import { describe, expect, it } from 'vitest';
import { createAffinity, ownerOf } from './affinity.ts';
import { keyedDigest } from './keyed-digest.ts';

describe('the name of a conversation', () => {
  it('is made of its digest and the secret', () => {
    const affinityOf = createAffinity(() => 's');
    const name = affinityOf(1);
    expect(name).toMatch(/^[0-9a-f]{16}$/);
    expect(affinityOf(2)).not.toBe(name);
    expect(createAffinity(() => 's')(1)).toBe(name);
    expect(createAffinity(() => 't')(1)).not.toBe(name);
    expect(affinityOf(undefined)).toBeUndefined();
  });

  it('is that of all replicas as soon as their secret is known', () => {
    let secret = 'its own';
    const affinityOf = createAffinity(() => secret);
    secret = 'of all';
    expect(affinityOf(1)).toBe(createAffinity(() => 'of all')(1));
  });
});

describe('the pull on conversations', () => {
  const conversations = Array.from({ length: 10_000 }, (_, index) => `conversation ${index}`);
  const owners = (weights: Readonly<Record<string, number>>): readonly string[] => {
    const among = Object.entries(weights).map(([name, weight]) => ({ name, weight }));
    return conversations.map((conversation) => ownerOf(conversation, among)?.name ?? '');
  };
  const share = (all: readonly string[], name: string): number =>
    all.filter((owner) => owner === name).length / all.length;

  it('shares them out by weight', () => {
    const all = owners({ a: 1, b: 2, c: 5 });
    expect(share(all, 'a')).toBeCloseTo(1 / 8, 1);
    expect(share(all, 'b')).toBeCloseTo(2 / 8, 1);
    expect(share(all, 'c')).toBeCloseTo(5 / 8, 1);
  });

  it.each([
    ['one goes', { a: 1, b: 2 }],
    ['one comes', { a: 1, b: 2, c: 5, d: 3 }],
    ['one gets less', { a: 1, b: 2, c: 2.5 }],
  ])('moves only the conversations of the changed one when %s', (_, changed) => {
    const before = owners({ a: 1, b: 2, c: 5 });
    const moved = owners(changed).flatMap((now, index) => (now === before[index] ? [] : [[before[index], now]]));
    expect(moved.length).toBeGreaterThan(0);
    expect(moved.every((pair) => pair.includes('c') || pair.includes('d'))).toBe(true);
  });

  it('has no owner without weight', () => {
    expect(conversations.map((conversation) => ownerOf(conversation, [{ name: 'a', weight: 0 }]))).toEqual(
      conversations.map(() => undefined),
    );
  });
});

describe('the keyed digest', () => {
  it('tells whole numbers of 53 bits apart', () => {
    const values = [0, 1, 2 ** 31, 2 ** 32, 2 ** 32 + 1, 2 ** 52, 2 ** 53 - 1];
    expect(new Set(values.map((value) => keyedDigest('key', value))).size).toBe(values.length);
  });
});
