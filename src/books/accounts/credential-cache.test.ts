import { describe, expect, it } from 'vitest';
import type { Credential, Key } from '../../core/account.ts';
import { Failure } from '../../core/failure.ts';
import { createCredentialCache, createLookUps, type Moment } from './credential-cache.ts';

const midnight = Date.UTC(2026, 6, 2);
const noon = midnight - 12 * 3_600_000;
const at = (elapsed: number, now = noon): Moment => ({ elapsed, now });

function credential(name: string, { workspace = 'ws', budget }: { workspace?: string; budget?: Key['budget'] } = {}) {
  return {
    key: { id: `id-${name}`, workspaceId: workspace, status: 'active', rate: 1, burst: 1, ...(budget && { budget }) },
    workspace: { id: workspace, name: workspace, status: 'active', balance: 10n, maxInFlight: 1 },
    spent: budget === undefined ? 0n : 7n,
  } as const satisfies Credential;
}

const daily = { limit: 100n, period: 'day' } as const;

describe('the credential cache', () => {
  it('tells what it knows from what it knows to be absent and what it does not know', () => {
    const cache = createCredentialCache(10);
    cache.put('a', credential('a'), at(1));
    cache.put('b', undefined, at(2));
    const known = ['a', 'b', 'c'].map((hash) => cache.get(hash, at(3)));
    expect(known).toEqual([
      { credential: credential('a'), confirmedAt: 1, isDoubted: false },
      { credential: undefined, confirmedAt: 2, isDoubted: false },
      undefined,
    ]);
  });

  it('shows the new balance for every key of the workspace', () => {
    const cache = createCredentialCache(10);
    for (const name of ['a', 'b']) cache.put(name, credential(name), at(1));
    cache.put('c', credential('c', { workspace: 'other' }), at(1));
    const balances = () => ['a', 'b', 'c'].map((hash) => cache.get(hash, at(2))?.credential?.workspace.balance);
    cache.setBalance('ws', 3n);
    cache.setBalance('unknown', 4n);
    expect(balances()).toEqual([3n, 3n, 10n]);
    cache.charge('ws', 5n);
    cache.charge('unknown', 5n);
    expect(balances()).toEqual([-2n, -2n, 10n]);
  });

  it('has what was spent read again when a clock that was ahead of midnight is set back, and only then', () => {
    const cache = createCredentialCache(10);
    const evening = midnight - 1_800_000;
    cache.put('a', credential('a', { budget: daily }), at(1, evening));
    const isDoubted = (now: number) => cache.get('a', at(2, now))?.isDoubted;
    expect(isDoubted(evening - 3_600_000)).toBe(false);
    // An hour ahead: the next day has begun, and nothing is spent in it.
    expect(cache.get('a', at(3, evening + 3_600_000))).toMatchObject({ credential: { spent: 0n }, isDoubted: false });
    cache.confirm(4);
    // Set back: without the doubt the key would go on with a budget of which nothing is spent, until midnight.
    expect(isDoubted(evening)).toBe(true);
    cache.put('a', credential('a', { budget: daily }), at(5, evening));
    expect(cache.get('a', at(6, evening))).toMatchObject({ credential: { spent: 7n }, isDoubted: false });
  });

  it('adds to what a key has spent in the period of its budget, and to that period alone', () => {
    const cache = createCredentialCache(10);
    cache.put('a', credential('a', { budget: daily }), at(1));
    cache.put('b', credential('b'), at(1));
    const day = midnight - 86_400_000;
    const spend = (amount: bigint, options: { readonly day: number; readonly now: number }) => {
      for (const keyId of ['id-a', 'id-b', 'id-unknown']) {
        cache.spend({ on: { keyId }, amount, day: options.day }, at(2, options.now));
      }
    };
    const spent = (now: number) => ['a', 'b'].map((hash) => cache.get(hash, at(3, now))?.credential?.spent);
    spend(5n, { day, now: noon });
    spend(50n, { day: day - 86_400_000, now: noon });
    expect(spent(midnight - 1)).toEqual([12n, 0n]);
    expect(spent(midnight)).toEqual([0n, 0n]);
    spend(2n, { day, now: midnight });
    spend(3n, { day: midnight, now: midnight });
    expect(spent(midnight + 1)).toEqual([3n, 0n]);
  });

  it('counts what was spent after midnight, also before the key is asked for again', () => {
    const cache = createCredentialCache(10);
    cache.put('a', credential('a', { budget: daily }), at(1));
    cache.spend({ on: { keyId: 'id-a' }, amount: 3n, day: midnight }, at(2, midnight));
    expect(cache.get('a', at(3, midnight + 1))?.credential?.spent).toBe(3n);
  });

  it('adds to what is spent on a tag of its workspace, in the period of the budget', () => {
    const cache = createCredentialCache(10);
    const budget = { tag: 'team=search', limit: 9n, period: 'day', spent: 1n } as const;
    cache.put('a', { ...credential('a'), tagBudgets: new Map([[budget.tag, budget]]) }, at(1));
    const on = { workspaceId: credential('a').workspace.id, tag: 'team=search' };
    const day = midnight - 86_400_000;
    cache.spend({ on, day, amount: 2n }, at(2));
    cache.spend({ on: { ...on, tag: 'team=other' }, day, amount: 4n }, at(2));
    cache.spend({ on: { ...on, workspaceId: 'another' }, day, amount: 8n }, at(2));
    const spent = (now?: number) => cache.get('a', at(3, now))?.credential?.tagBudgets;
    expect(spent()).toEqual(new Map([[budget.tag, { ...budget, spent: 3n }]]));
    expect(spent(midnight)).toEqual(new Map([[budget.tag, { ...budget, spent: 0n }]]));
    cache.put('a', credential('a'), at(4, midnight));
    expect(spent(midnight)).toBeUndefined();
  });

  it.each([
    ['is doubted until it is read again when a tag was counted as another with a budget', 'team=other', true, true],
    ['is not doubted when its caller sent that tag', 'team=other', undefined, false],
    ['is not doubted for a tag without a budget', 'app=other', true, false],
  ] as const)('%s', (_, tag, replaced, doubted) => {
    const cache = createCredentialCache(10);
    const budget = { tag: 'team=other', limit: 9n, period: 'day', spent: 1n } as const;
    const known = { ...credential('a'), tagBudgets: new Map([[budget.tag, budget]]) };
    cache.put('a', known, at(1));
    cache.spend({ on: { workspaceId: 'ws', tag, replaced }, day: midnight, amount: 2n }, at(2));
    expect(cache.get('a', at(3))?.isDoubted).toBe(doubted);
    const countedTags = { names: undefined, values: new Map([['team', new Set(['search'])]]) };
    cache.put('a', { ...known, countedTags }, at(4));
    expect(cache.get('a', at(5))).toMatchObject({ credential: { countedTags }, isDoubted: false });
  });

  // Noon is on Wednesday, the first of July.
  const [nextDay, nextWeek, nextMonth, nextYear] = [
    midnight,
    Date.UTC(2026, 6, 6),
    Date.UTC(2026, 7, 1),
    Date.UTC(2027, 0, 1),
  ];

  it.each([
    ['day', nextDay],
    ['week', nextWeek],
    ['month', nextMonth],
    ['total', Infinity],
  ] as const)('has a fresh budget of a %s from %d on, of the key and of each tag', (period, begins) => {
    const cache = createCredentialCache(10);
    const budget = { limit: 100n, period };
    const tags = ['a=1', 'b=2'].map((tag) => [tag, { ...budget, tag, spent: 7n }] as const);
    for (const now of [nextDay, nextWeek, nextMonth, nextYear].flatMap((moment) => [moment - 1, moment])) {
      cache.put('a', { ...credential('a', { budget }), tagBudgets: new Map(tags) }, at(1));
      const known = cache.get('a', at(2, now))?.credential;
      const spent = [known?.spent, ...[...(known?.tagBudgets?.values() ?? [])].map((tag) => tag.spent)];
      expect({ now, spent }).toEqual({ now, spent: [7n, 7n, 7n].map((before) => (now < begins ? before : 0n)) });
    }
  });

  it('counts what is spent with a key that was given a new text, when the old text is forgotten', () => {
    const cache = createCredentialCache(2);
    for (const hash of ['old', 'new']) cache.put(hash, credential('a', { budget: daily }), at(1));
    cache.put('b', credential('b'), at(1));
    expect(cache.get('old', at(2))).toBeUndefined();
    cache.spend({ on: { keyId: 'id-a' }, amount: 5n, day: midnight - 86_400_000 }, at(3));
    expect(cache.get('new', at(4))?.credential?.spent).toBe(12n);
  });

  it('keeps what is doubted, says so, and no longer vouches for it', () => {
    const cache = createCredentialCache(10);
    cache.put('a', credential('a'), at(1));
    cache.put('b', undefined, at(1));
    cache.confirm(50);
    cache.doubt();
    cache.confirm(60);
    cache.put('c', credential('c'), at(61));
    const status = (hash: string) => {
      const known = cache.get(hash, at(62));
      return known && [known.isDoubted, known.confirmedAt];
    };
    expect(['a', 'b', 'c'].map(status)).toEqual([
      [true, 50],
      [true, 50],
      [false, 61],
    ]);
    cache.put('a', credential('a'), at(63));
    cache.confirm(70);
    expect(['a', 'b', 'c'].map(status)).toEqual([
      [false, 70],
      [true, 50],
      [false, 70],
    ]);
  });

  it('stays within its size, the oldest first, and strangers do not push customers out', () => {
    const cache = createCredentialCache(3);
    for (const name of ['a', 'b', 'c', 'd']) cache.put(name, credential(name, { workspace: `ws-${name}` }), at(1));
    for (let stranger = 0; stranger < 100; stranger += 1) cache.put(`stranger-${stranger}`, undefined, at(1));
    const known = ['a', 'b', 'c', 'd', 'stranger-0', 'stranger-96', 'stranger-97', 'stranger-99'].filter((hash) =>
      cache.get(hash, at(2)),
    );
    expect(known).toEqual(['b', 'c', 'd', 'stranger-97', 'stranger-99']);
  });

  it('loses nobody to a repeated look-up of the same key', () => {
    const cache = createCredentialCache(2);
    for (const name of ['a', 'b', 'b', 'b']) cache.put(name, credential(name), at(1));
    expect(cache.get('a', at(1))).toMatchObject({ credential: credential('a') });
  });

  it('names the keys that were asked for since, each once and no stranger', () => {
    const cache = createCredentialCache(10);
    for (const name of ['a', 'b', 'c']) cache.put(name, credential(name), at(1));
    cache.put('x', undefined, at(1));
    for (const name of ['a', 'x', 'c', 'a', 'unknown']) cache.get(name, at(2));
    expect([cache.takeUsed(1), cache.takeUsed(10), cache.takeUsed(10)]).toEqual([['a'], ['c'], []]);
    for (const name of ['a', 'b']) cache.get(name, at(3));
    cache.put('b', undefined, at(4));
    expect(cache.takeUsed(10)).toEqual(['a']);
  });

  it('names keys that nobody uses when a change is known to be old, or none was reported for long', () => {
    const cache = createCredentialCache(10);
    for (const name of ['a', 'b']) cache.put(name, credential(name), at(1));
    cache.put('x', undefined, at(1));
    expect(cache.outdated(30_000, 10)).toEqual([]);
    expect(cache.outdated(30_001, 10)).toEqual(['a', 'b']);
    cache.confirm(30_001);
    expect(cache.outdated(30_001, 10)).toEqual([]);
    cache.doubt();
    cache.put('a', credential('a'), at(30_400));
    expect([cache.outdated(30_500, 10), cache.outdated(30_501, 10)]).toEqual([[], ['b']]);
    cache.doubt();
    expect([cache.outdated(30_900, 10), cache.outdated(30_900, 1)]).toEqual([['b', 'a'], ['b']]);
  });

  it('does not take a key that it forgot for one that is absent', () => {
    const cache = createCredentialCache(1);
    cache.put('a', undefined, at(1));
    for (const name of ['a', 'b']) cache.put(name, credential(name), at(2));
    expect(cache.get('a', at(3))).toBeUndefined();
  });

  it('learns that a key came to be, and that it is gone', () => {
    const cache = createCredentialCache(10);
    cache.put('a', undefined, at(1));
    cache.put('a', credential('a'), at(2));
    expect(cache.get('a', at(3))).toMatchObject({ credential: { key: { id: 'id-a' } } });
    cache.put('a', undefined, at(4));
    expect(cache.get('a', at(5))).toMatchObject({ credential: undefined, confirmedAt: 4 });
  });
});

describe('look-ups of keys', () => {
  const setUp = () => {
    const sent: string[] = [];
    return { sent, lookUps: createLookUps((hash) => sent.push(hash)) };
  };

  it('are one for each hash, however many requests wait for it', async () => {
    const { sent, lookUps } = setUp();
    const [one, other, absent] = [lookUps.ask('a'), lookUps.ask('a'), lookUps.ask('b')];
    expect(sent).toEqual(['a', 'b']);
    lookUps.answer('a', credential('a'));
    lookUps.answer('b', undefined);
    expect(await Promise.all([one, other, absent])).toEqual([credential('a'), credential('a'), undefined]);
    lookUps.answer('a', undefined);
    const again = lookUps.ask('a');
    expect(sent).toEqual(['a', 'b', 'a']);
    lookUps.answer('a', undefined);
    expect(await again).toBeUndefined();
  });

  it('fail one by one, or all together, and begin anew', async () => {
    const { sent, lookUps } = setUp();
    const [a, b, c] = ['a', 'b', 'c'].map((hash) => lookUps.ask(hash));
    lookUps.refuse('a', new Failure('internal', 'no answer'));
    lookUps.refuse('unknown', new Failure('internal', 'no answer'));
    await expect(a).rejects.toThrow('no answer');
    lookUps.refuseAll(new Failure('internal', 'the store is lost'));
    await expect(b).rejects.toThrow('the store is lost');
    await expect(c).rejects.toThrow('the store is lost');
    const again = lookUps.ask('b');
    expect(sent).toEqual(['a', 'b', 'c', 'b']);
    lookUps.answer('b', credential('b'));
    expect(await again).toEqual(credential('b'));
  });

  it('are refused while ten thousand wait, but not for a hash that waits already', async () => {
    const { sent, lookUps } = setUp();
    const waiting = Array.from({ length: 10_000 }, (_, index) => lookUps.ask(`h${index}`));
    await expect(lookUps.ask('more')).rejects.toMatchObject({
      ...{ code: 'overloaded', message: 'The service is overloaded. Retry with backoff.' },
    });
    const known = lookUps.ask('h0');
    expect(sent).toHaveLength(10_000);
    for (const hash of [...sent]) lookUps.answer(hash, undefined);
    expect(await Promise.all([...waiting, known])).toHaveLength(10_001);
    const more = lookUps.ask('more');
    lookUps.answer('more', credential('more'));
    expect(await more).toEqual(credential('more'));
  });
});
