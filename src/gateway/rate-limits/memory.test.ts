import { describe, expect, it } from 'vitest';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { expectTokenBucket, rateAsk } from '../../../test/support/bucket-law.ts';
import type { LimitsAsk } from '../../core/limits.ts';
import { createMemoryLimits, type LocalSlot } from './memory.ts';

function begin() {
  const clock = createFakeClock();
  const limits = createMemoryLimits(clock);
  const slot = (ask: LimitsAsk): LocalSlot => {
    const result = limits.admit(ask);
    if (result.kind !== 'admitted') throw new Error(`refused by ${result.by}`);
    return result.slot;
  };
  const refusal = (ask: LimitsAsk): string | undefined => {
    const result = limits.admit(ask);
    return result.kind === 'refused' ? result.by : undefined;
  };
  return { clock, limits, slot, refusal };
}

describe('the bucket of a key', () => {
  it('does what the definition of a token bucket says', async () => {
    const clock = createFakeClock();
    await expectTokenBucket({ limits: () => createMemoryLimits(clock), advance: clock.advance, runs: 300 });
  });

  it('admits 200 + 100·t in t seconds at 150 requests/s', () => {
    const { clock, refusal } = begin();
    let admitted = 0;
    for (let request = 0; request < 1500; request += 1) {
      if (refusal(rateAsk()) === undefined) admitted += 1;
      clock.advance(1000 / 150);
    }
    // The last one comes after 9.993 s.
    expect(admitted).toBe(1199);
  });

  it('that is given a higher rate is empty at most, and fills at the new rate from then on', () => {
    const { clock, refusal } = begin();
    const slow = rateAsk({ rate: 1, burst: 30 });
    for (let request = 0; request < 30; request += 1) expect(refusal(slow)).toBeUndefined();
    expect(refusal(slow)).toBe('rate');
    expect(refusal(rateAsk())).toBe('rate');
    clock.advance(10);
    expect(refusal(rateAsk())).toBeUndefined();
    expect(refusal(rateAsk())).toBe('rate');
  });

  it('is its own for each key, and forgotten when it is full', () => {
    const { clock, limits, slot } = begin();
    for (let key = 0; key < 10_000; key += 1) {
      slot(rateAsk({ keyId: `key-${key}` })).release();
      clock.advance(1);
    }
    expect(limits.buckets()).toBeLessThan(1_001);
  });
});

it('a request beyond a rate that is not enforced takes no token', () => {
  const { clock, limits, refusal } = begin();
  const ask = rateAsk({ rate: 1, burst: 1 });
  for (let request = 0; request < 5; request += 1)
    expect(limits.admit({ ...ask, notEnforced: ['rate'] }).kind).toBe('admitted');
  clock.advance(1_000);
  expect(refusal(ask)).toBeUndefined();
  expect(refusal(ask)).toBe('rate');
});

describe('the places of a workspace', () => {
  const ask = rateAsk({ maxInFlight: 2 });

  it('are taken by admission and given back once', () => {
    const { slot, refusal } = begin();
    const [first, second] = [slot(ask), slot({ ...ask, keyId: 'key-2' })];
    expect(refusal(ask)).toBe('concurrency');
    expect(refusal({ ...ask, workspaceId: 'ws-2' })).toBeUndefined();
    first.release();
    first.release();
    slot(ask);
    expect(refusal(ask)).toBe('concurrency');
    second.release();
    slot(ask);
  });

  it('cost a refused request no token', () => {
    const { limits, slot, refusal } = begin();
    slot(ask);
    slot(ask);
    for (let tries = 0; tries < 500; tries += 1) expect(refusal(ask)).toBe('concurrency');
    expect(limits.admit(ask).rate.remaining).toBe(198);
  });
});

describe('money under way', () => {
  const ask = rateAsk({ funds: { balance: 100n, budget: 60n } });
  const sameWorkspace = rateAsk({ keyId: 'key-2', funds: { balance: 100n } });

  it('stands against the budget of its key and the balance of its workspace until it is settled', () => {
    const { slot, refusal } = begin();
    const running = slot(ask);
    running.adjust(59n);
    expect(refusal(ask)).toBeUndefined();
    running.adjust(60n);
    expect(refusal(ask)).toBe('budget');
    expect(refusal(sameWorkspace)).toBeUndefined();
    running.adjust(100n);
    expect(refusal(sameWorkspace)).toBe('balance');
    running.release();
    expect(refusal(ask)).toBeUndefined();
    expect(refusal(sameWorkspace)).toBeUndefined();
  });

  it('adds up over requests, and a late word of one that has ended changes nothing', () => {
    const { slot, refusal } = begin();
    const [first, second] = [slot(ask), slot(ask)];
    first.adjust(30n);
    second.adjust(30n);
    expect(refusal(ask)).toBe('budget');
    first.release();
    first.adjust(1_000n);
    expect(refusal(ask)).toBeUndefined();
  });

  it('lets requests that were admitted side by side pass one after the other, until nothing is left', () => {
    const { slot, refusal } = begin();
    const slots = Array.from({ length: 64 }, () => slot(ask));
    const passed = slots.filter((each) => each.reserve(40n, ask.funds) === undefined);
    // The budget is 60: the second is the one that passes it.
    expect(passed).toHaveLength(2);
    expect(slots[5]?.reserve(40n, ask.funds)).toBe('budget');
    const others = [slot(sameWorkspace), slot(sameWorkspace)];
    expect(others.map((each) => each.reserve(20n, sameWorkspace.funds))).toEqual([undefined, 'balance']);
    for (const each of [...passed, ...others]) each.release();
    expect(refusal(ask)).toBeUndefined();
  });

  it('that runs out costs neither a token nor a place', () => {
    const { limits, slot, refusal } = begin();
    const poor = rateAsk({ funds: { balance: 0n }, maxInFlight: 1 });
    for (let tries = 0; tries < 500; tries += 1) expect(refusal(poor)).toBe('balance');
    expect(limits.admit(poor).rate.remaining).toBe(200);
    slot(rateAsk({ maxInFlight: 1 }));
  });

  it('refuses no request that is free, which rate and places still refuse', () => {
    const { slot, refusal } = begin();
    const poor = rateAsk({ funds: { balance: 0n, budget: 0n }, maxInFlight: 2, rate: 1, burst: 3 });
    const free = { ...poor, isFree: true } as const;
    expect(refusal(poor)).toBe('balance');
    const slots = [slot(free), slot(free)];
    expect(refusal(free)).toBe('concurrency');
    for (const each of slots) each.release();
    slot(free).release();
    expect(refusal(free)).toBe('rate');
  });
});

it('reports what each workspace has reserved, as long as something is', () => {
  const { limits, slot } = begin();
  const [first, second, other] = ['ws-1', 'ws-1', 'ws-2'].map((workspaceId) => slot(rateAsk({ workspaceId })));
  expect(limits.reserved()).toEqual(new Map());
  const funds = { balance: 100n };
  first?.reserve(5n, funds);
  second?.reserve(2n, funds);
  other?.reserve(7n, funds);
  second?.adjust(3n);
  expect(limits.reserved()).toEqual(
    new Map([
      ['ws-1', 8n],
      ['ws-2', 7n],
    ]),
  );
  first?.release();
  other?.release();
  expect(limits.reserved()).toEqual(new Map([['ws-1', 3n]]));
  second?.release();
  expect(limits.reserved()).toEqual(new Map());
});
