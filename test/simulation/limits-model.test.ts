import { describe, expect, it } from 'vitest';
import type { AdmitResult, Funds, Limits, LimitsAsk, Slot } from '../../src/core/limits.ts';
import { createLimitsModel, type LimitsModelOptions, type PlannedLimits, tighterLimits } from './limits-model.ts';

const planned = { key: 3, rate: 1, burst: 2, maxInFlight: 2 };
const rate = { limit: 1, remaining: 0, resetSeconds: 0, nextSeconds: 1 };
const free = (): Slot => ({ reserve: () => undefined, adjust: () => undefined, release: () => undefined });
const refused = (by: Extract<AdmitResult, { readonly kind: 'refused' }>['by']): AdmitResult => ({
  kind: 'refused',
  by,
  rate,
});
const admitted = (slot: Slot = free()): AdmitResult => ({ kind: 'admitted', rate, slot });

function setUp(
  kind: LimitsModelOptions['kind'] = 'alone',
  limits: Partial<PlannedLimits> = {},
  more: Partial<LimitsModelOptions> = {},
) {
  const has = { ...planned, ...limits };
  const faults: string[] = [];
  let ms = 0;
  const model = createLimitsModel({
    ...{ kind, now: () => ms, plannedFor: () => has, isCalm: () => true, tighter: {}, ...more },
    violate: (text) => void faults.push(text),
  });
  let answer: AdmitResult | Promise<AdmitResult> = admitted();
  const deaths: (() => void)[] = [];
  const watched: Limits = model.watch({ admit: () => answer }, (run) => void deaths.push(run));
  const ask = (fields: Partial<LimitsAsk> = {}): LimitsAsk => ({
    ...{ keyId: 'k', workspaceId: 'w', rate: has.rate, burst: has.burst, maxInFlight: has.maxInFlight },
    funds: { balance: 10n },
    tokens:
      has.tokensPerMinute === undefined ? undefined : [{ id: 'key:k', by: 'tokens', perMinute: has.tokensPerMinute }],
    ...fields,
  });
  return {
    faults,
    at: (to: number) => {
      ms = to;
    },
    admit: (result: AdmitResult, fields?: Partial<LimitsAsk>): AdmitResult => {
      answer = result;
      const admitted = watched.admit(ask(fields));
      if (admitted instanceof Promise) throw new Error('is not answered at once');
      return admitted;
    },
    admitLater: async (result: Promise<AdmitResult>, fields?: Partial<LimitsAsk>): Promise<AdmitResult> => {
      answer = result;
      return watched.admit(ask(fields));
    },
    slot: (result: AdmitResult): Slot => {
      if (result.kind === 'refused') throw new Error('is not admitted');
      return result.slot;
    },
    die: () => deaths.forEach((run) => run()),
  };
}

describe('a model of limits', () => {
  it('explains a refusal by what was taken, and no other', () => {
    const { admit, at, faults } = setUp();
    admit(admitted());
    admit(refused('rate'));
    expect(faults).toEqual([expect.stringContaining('refused for its rate: it has 1.000 tokens at least')]);
    admit(admitted());
    at(999);
    admit(refused('rate'));
    expect(faults).toHaveLength(1);
    at(1_000);
    admit(refused('rate'));
    expect(faults).toHaveLength(2);
  });

  it('lets no more requests in than there are tokens and places', () => {
    const { admit, at, slot, faults } = setUp();
    const first = slot(admit(admitted()));
    admit(admitted());
    admit(admitted());
    expect(faults.splice(0)).toEqual([
      expect.stringContaining('admitted: it has 0.000 tokens at most'),
      expect.stringContaining('2 requests of 2 are in flight already'),
    ]);
    at(20_000);
    void first.release();
    admit(refused('concurrency'));
    expect(faults).toEqual([]);
    const { admit: again, faults: others } = setUp();
    again(admitted());
    again(refused('concurrency'));
    expect(others).toEqual([expect.stringContaining('1 requests of 2 are in flight at most')]);
  });

  it('compares reservations with the funds that are left', () => {
    const { admit, slot, faults } = setUp('alone', { maxInFlight: 9, burst: 9 });
    const funds: Funds = { balance: 10n };
    const one = slot(admit(admitted()));
    expect(one.reserve(10n, funds)).toBeUndefined();
    admit(admitted());
    expect(faults.splice(0)).toEqual([expect.stringContaining('expected balance')]);
    one.adjust(9n);
    admit(refused('balance'), { keyId: 'other' });
    expect(faults.splice(0)).toEqual([expect.stringContaining('expected admitted')]);
    one.adjust(10n);
    void slot(admit(admitted(), { keyId: 'third', funds: { balance: 11n } })).reserve(1n, funds);
    expect(faults.filter((text) => text.includes('reserves: nothing is short, expected balance'))).toHaveLength(1);
  });

  it('explains answers by any order of calls that overlap', async () => {
    const { admitLater, faults, die } = setUp('shared', { burst: 9 });
    const others = [0, 1].map(() =>
      admitLater(new Promise<AdmitResult>((resolve) => void setImmediate(() => resolve(admitted())))),
    );
    await admitLater(Promise.resolve(refused('concurrency')));
    await Promise.all(others);
    await admitLater(Promise.resolve(refused('concurrency')));
    expect(faults).toEqual([]);
    die();
    await admitLater(Promise.resolve(admitted()), { keyId: 'other' });
    expect(faults).toEqual([]);
  });

  describe('of tokens a minute', () => {
    const roomy = { burst: 99, maxInFlight: 99, tokensPerMinute: 60 };
    const funds: Funds = { balance: 10n };

    it('counts what is reserved, then what is counted, then what was used, as it comes back', () => {
      const { admit, at, slot, faults } = setUp('alone', roomy);
      const first = slot(admit(admitted()));
      admit(refused('tokens'));
      expect(faults.splice(0)).toEqual([expect.stringContaining('refused for its tokens: it has 60.000 of a minute')]);
      expect(first.reserve(1n, funds, { tokens: 100 })).toBeUndefined();
      admit(refused('tokens'));
      first.adjust(1n, { tokens: 59 });
      admit(refused('tokens'));
      expect(faults.splice(0)).toEqual([expect.stringContaining('it has 1.000 of a minute at least')]);
      first.adjust(1n, { tokens: 80 });
      at(10_000);
      void first.release(undefined, { tokens: 75 });
      at(15_999);
      admit(refused('tokens'));
      at(16_000);
      admit(refused('tokens'));
      expect(faults).toHaveLength(1);
    });

    it('lets a request pass while one is left, and one answer more', () => {
      const { admit, slot, faults } = setUp('alone', roomy);
      const [first, second, third] = [slot(admit(admitted())), slot(admit(admitted())), slot(admit(admitted()))];
      void first?.reserve(1n, funds, { tokens: 59 });
      void second?.reserve(1n, funds, { tokens: 500 });
      expect(faults).toEqual([]);
      void third?.reserve(1n, funds, { tokens: 1 });
      admit(admitted());
      expect(faults).toEqual([
        expect.stringContaining('served: it has -499.000 tokens of a minute at most'),
        expect.stringContaining('served: it has -500.000 tokens of a minute at most'),
      ]);
    });

    it('remembers an answer of many times the limit until it has flowed in again', () => {
      const { admit, at, slot, faults } = setUp('alone', roomy);
      const first = slot(admit(admitted()));
      void first.reserve(1n, funds, { tokens: 60 });
      void first.release(undefined, { tokens: 3_000 });
      at(48 * 60_000);
      admit(refused('tokens'));
      expect(faults).toEqual([]);
      at(50 * 60_000);
      admit(refused('tokens'));
      expect(faults).toEqual([expect.stringContaining('it has 60.000 of a minute at least')]);
    });

    it('explains answers by any order of changes that a server may not know yet', async () => {
      const { admitLater, at, slot, faults } = setUp('shared', roomy);
      const first = slot(await admitLater(Promise.resolve(admitted())));
      await first.reserve(1n, funds, { tokens: 100 });
      first.adjust(1n, { tokens: 10 });
      await admitLater(Promise.resolve(refused('tokens')));
      await admitLater(Promise.resolve(admitted()));
      await first.release(undefined, { tokens: 20 });
      at(200);
      await admitLater(Promise.resolve(refused('tokens')));
      expect(faults).toEqual([]);
      at(300);
      await admitLater(Promise.resolve(refused('tokens')));
      expect(faults).toEqual([expect.stringContaining('it has 40.300 of a minute at least')]);
    });

    it('compares each limit of a request: of its key, its workspace and its tags', () => {
      const { admit, slot, faults } = setUp('alone', { ...roomy, workspaceTokens: 100, tagTokens: { 'of=1': 30 } });
      const [ofKey, ofWorkspace, ofTag] = [
        { id: 'key:k', by: 'tokens', perMinute: 60 } as const,
        { id: 'ws:w', by: 'workspace-tokens', perMinute: 100 } as const,
        { id: 'tag:w:of=1', by: 'tag-tokens', perMinute: 30 } as const,
      ];
      const tagged = { tokens: [ofKey, ofWorkspace, ofTag] };
      const first = slot(admit(admitted(), tagged));
      void first.reserve(1n, funds, { tokens: 40 });
      admit(refused('tag-tokens'), tagged);
      expect(faults).toEqual([]);
      admit(refused('workspace-tokens'), { tokens: [ofKey, ofWorkspace] });
      admit(admitted(), tagged);
      expect(faults.splice(0)).toEqual([
        expect.stringContaining('refused for its workspace-tokens: it has 60.000 of a minute at least'),
        expect.stringContaining('served: it has -10.000 tag-tokens of a minute at most'),
      ]);
      // Another key of the workspace.
      void slot(admit(admitted(), { keyId: 'other', tokens: [{ ...ofKey, id: 'key:other' }, ofWorkspace] })).reserve(
        1n,
        funds,
        {
          tokens: 60,
        },
      );
      admit(refused('workspace-tokens'), { tokens: [ofKey, ofWorkspace] });
      expect(faults).toEqual([]);
      admit(admitted(), { tokens: [ofKey, ofWorkspace, { ...ofTag, perMinute: 31 }] });
      expect(faults[0]).toBe('key 3 is held against 1,99,99,60,100,31 in place of 1,99,99,60,100,30');
    });

    it('is not held against what happened to a server', () => {
      const calm = { isCalm: (from: number) => from > 5 };
      const { admit, at, slot, faults } = setUp('alone', roomy, calm);
      void slot(admit(admitted())).reserve(1n, funds, { tokens: 100 });
      at(10);
      admit(admitted());
      expect(faults).toEqual([]);
    });
  });

  it('notices limits that were read wrongly', () => {
    const { admit, faults } = setUp();
    admit(admitted(), { maxInFlight: 1 });
    expect(faults).toEqual(['key 3 is held against 1,2,1 in place of 1,2,2']);
  });

  it('knows limits that are a unit tighter', () => {
    const changed = Object.values(tighterLimits).map((change) => change(planned));
    expect(changed.map(({ burst, maxInFlight }) => [burst, maxInFlight])).toEqual([
      [1, 2],
      [3, 2],
      [2, 1],
      [2, 3],
      [2, 2],
      [2, 2],
    ]);
    const limited = Object.values(tighterLimits).map((change) => change({ ...planned, tokensPerMinute: 60 }));
    expect(limited.map(({ tokensPerMinute }) => tokensPerMinute)).toEqual([60, 60, 60, 60, 59, 61]);
  });
});
