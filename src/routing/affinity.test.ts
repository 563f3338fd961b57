import { describe, expect, it } from 'vitest';
import { createAffinity } from './affinity.ts';
import { keyedDigest } from './keyed-digest.ts';
import { routeKey } from './route-key.ts';
import { routeOf } from '../../test/support/route-of.ts';

const [a, b] = [routeOf('a'), routeOf('b')];

describe('prefix affinity', () => {
  it('knows who served the longest beginning', () => {
    const affinity = createAffinity({ secret: () => 's' });
    affinity.served([1, 2, 3], a);
    affinity.served([1, 5], b);
    expect(affinity.servedBy([1, 2, 3, 4])).toBe(routeKey(a));
    expect(affinity.servedBy([1, 5, 6, 7])).toBe(routeKey(b));
    // Another conversation with the same system prompt goes where the last one went.
    expect(affinity.servedBy([1, 9])).toBe(routeKey(b));
    expect(affinity.servedBy([8, 9])).toBeUndefined();
    expect(affinity.servedBy([])).toBeUndefined();
  });

  it('forgets what was not asked for longest', () => {
    const affinity = createAffinity({ secret: () => 's', most: 2 });
    affinity.served([1], a);
    affinity.served([2], a);
    affinity.servedBy([1]);
    affinity.served([3], a);
    expect([1, 2, 3].map((prefix) => affinity.servedBy([prefix]))).toEqual([routeKey(a), undefined, routeKey(a)]);
  });

  it('remembers nothing of prompts too short to matter', () => {
    const affinity = createAffinity({ secret: () => 's' });
    affinity.served([], a);
    expect([affinity.servedBy([]), affinity.digest(undefined)]).toEqual([undefined, undefined]);
  });

  it('names a conversation by its digest and the secret', () => {
    const affinity = createAffinity({ secret: () => 's' });
    const digest = affinity.digest(1);
    expect(digest).toMatch(/^[0-9a-f]{16}$/);
    expect(affinity.digest(2)).not.toBe(digest);
    expect(createAffinity({ secret: () => 's' }).digest(1)).toBe(digest);
    expect(createAffinity({ secret: () => 't' }).digest(1)).not.toBe(digest);
  });

  it('takes the secret of all replicas as soon as it is known', () => {
    let secret = 'its own';
    const affinity = createAffinity({ secret: () => secret });
    affinity.served([1], a);
    secret = 'of all';
    expect(affinity.digest(1)).toBe(createAffinity({ secret: () => 'of all' }).digest(1));
    // What served a beginning is no question of the secret.
    expect(affinity.servedBy([1])).toBe(routeKey(a));
  });
});

describe('the keyed digest', () => {
  it('tells whole numbers of 53 bits apart', () => {
    const values = [0, 1, 2 ** 31, 2 ** 32, 2 ** 32 + 1, 2 ** 52, 2 ** 53 - 1];
    expect(new Set(values.map((value) => keyedDigest('key', value))).size).toBe(values.length);
  });
});
