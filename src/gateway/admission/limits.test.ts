import { expect, it } from 'vitest';
import { credentialOf } from '../../../test/support/credential-of.ts';
import { Failure } from '../../core/failure.ts';
import type { LimitName, Limits, LimitsAsk, Shortage, Slot, AdmitResult } from '../../core/limits.ts';
import { admit, fundsOf } from './limits.ts';

const rate = { limit: 100, remaining: 7, resetSeconds: 2, nextSeconds: 3 };
const headers = [
  ['x-ratelimit-limit-requests', '100'],
  ['x-ratelimit-remaining-requests', '7'],
  ['x-ratelimit-reset-requests', '2'],
];
const tokenHeaders = [
  ['x-ratelimit-limit-tokens', '600'],
  ['x-ratelimit-remaining-tokens', '0'],
  ['x-ratelimit-reset-tokens', '65'],
];
const credential = credentialOf({ key: { budget: { limit: 5n, period: 'day' } } });

it.each<[string, (result: AdmitResult) => AdmitResult | Promise<AdmitResult>]>([
  ['at once', (result) => result],
  ['later', (result) => Promise.resolve(result)],
])('a request that is admitted %s holds a place and knows the headers of its answer', async (_, given) => {
  const asked: LimitsAsk[] = [];
  const reserved: bigint[] = [];
  const left: unknown[] = [];
  const limits: Limits = {
    admit: (ask) => {
      asked.push(ask);
      const slot: Slot = {
        reserve: (cost) => void reserved.push(cost),
        adjust: (cost) => reserved.push(cost),
        release: (now) => void left.push(now?.()),
      };
      return given({ kind: 'admitted', rate, slot });
    },
  };
  const admitted = await admit({ credential, latest: () => ({ ...credential, spent: 2n }) }, limits);
  expect(admitted.headers()).toEqual(headers);
  await admitted.reserve({ cost: 2n, tokens: 9 });
  admitted.adjust({ cost: 3n, tokens: 9 });
  await admitted.release();
  expect({ reserved, left }).toEqual({ reserved: [2n, 3n], left: [{ balance: 1_000_000_000_000n, budget: 3n }] });
  expect(asked).toEqual([
    {
      ...{ keyId: 'key-1', workspaceId: 'ws-1', rate: 100, burst: 200, maxInFlight: 256 },
      funds: { balance: 1_000_000_000_000n, budget: 5n },
    },
  ]);
});

it.each<[LimitName, object]>([
  [
    'rate',
    { code: 'rate_limited', message: expect.stringMatching(/^Rate limit exceeded: /), retryAfterSeconds: 3, headers },
  ],
  [
    'concurrency',
    { code: 'rate_limited', message: expect.stringMatching(/^Rate limit exceeded: /), retryAfterSeconds: 1, headers },
  ],
  ...(['tokens', 'workspace-tokens', 'tag-tokens'] as const).map((by): [LimitName, object] => [
    by,
    {
      ...{ code: 'rate_limited', message: expect.stringMatching(/^Rate limit exceeded: .* tokens a minute, /) },
      ...{ retryAfterSeconds: 6, headers: [...headers, ...tokenHeaders] },
    },
  ]),
  ['balance', { code: 'insufficient_funds', retryAfterSeconds: undefined, headers: [] }],
  ['budget', { code: 'insufficient_funds', retryAfterSeconds: undefined, headers: [] }],
])('a refusal by %s is written as the contract says', async (by, told) => {
  const tokens = by.endsWith('tokens') ? { limit: 600, remaining: 0, resetSeconds: 65, nextSeconds: 6 } : undefined;
  const limits: Limits = { admit: () => ({ kind: 'refused', by, rate, tokens }) };
  const refused = admit({ credential, latest: () => credential }, limits);
  await expect(refused).rejects.toBeInstanceOf(Failure);
  await expect(refused).rejects.toMatchObject({ ...told, limit: by });
});

it.each<[string, string | undefined, string | undefined]>([
  ['a value beyond the bound', 'team=new', 'team=other'],
  ['a name beyond the bound', 'x=1', 'other=other'],
  ['two names beyond the bound', 'x=1,y=2', 'other=other'],
  ['tags within the bounds', 'app=any,team=search', undefined],
])('%s counts against the budget of the tag that stands for it', async (_, sent, short) => {
  const budgets = ['team=other', 'other=other'].map(
    (tag) => [tag, { tag, limit: 5n, period: 'day', spent: 5n }] as const,
  );
  const counted = {
    names: new Set(['team', 'app']),
    values: new Map([['team', new Set(['search'])]]),
  };
  const known = { ...credential, tagBudgets: new Map(budgets), countedTags: counted };
  const limits: Limits = {
    admit: ({ funds }) => {
      const slot: Slot = { reserve: () => undefined, adjust: () => undefined, release: () => undefined };
      const isShort = funds.tags?.some(({ left }) => left <= 0n) ?? false;
      return isShort ? { kind: 'refused', by: 'tag-budget', rate } : { kind: 'admitted', rate, slot };
    },
  };
  const asked = admit({ credential: known, latest: () => known }, limits, { sent });
  if (short === undefined) expect((await asked).tags).toBe(sent);
  else {
    await expect(asked).rejects.toThrow(`the budget of the tag ${short} is used up`);
    const amount = '0.000000000005';
    await expect(asked).rejects.toMatchObject({ reached: [{ tag: short, limit: amount, spent: amount }] });
  }
  // Twin: a credential that does not know what counts lets all of them in.
  const blind = { ...known, countedTags: undefined };
  expect((await admit({ credential: blind, latest: () => blind }, limits, { sent })).tags).toBe(sent);
});

it('the limits in tokens of the key, of its workspace and of each tag are asked, and a free request has none', async () => {
  const tagTokensPerMinute = { 'team=search': 5_000, 'app=other': 6_000, 'app=rare': 7_000, 'team=web': 8_000 };
  const known = credentialOf({
    key: { tokensPerMinute: 600 },
    workspace: { tokensPerMinute: 9_000, tagTokensPerMinute },
  });
  const counted = { names: undefined, values: new Map([['app', new Set(['known'])]]) };
  const credentialWithTags = { ...known, countedTags: counted };
  const asked: LimitsAsk['tokens'][] = [];
  const tokens = { limit: 5_000, remaining: 0, resetSeconds: 65, nextSeconds: 6 };
  const limits: Limits = {
    admit: (ask) => {
      asked.push(ask.tokens);
      return { kind: 'refused', by: 'tag-tokens', rate, tokens };
    },
  };
  const caller = { credential: credentialWithTags, latest: () => credentialWithTags };
  await expect(admit(caller, limits, { sent: 'team=search' })).rejects.toMatchObject({
    reached: [{ tag: 'team=search', limit: '5000' }],
  });
  asked.length = 0;
  await expect(admit(caller, limits, { sent: 'app=rare,team=search' })).rejects.toThrow(
    'the tag app=rare or team=search or app=other may use 7000 or 5000 or 6000 tokens a minute',
  );
  await expect(admit(caller, limits, { isFree: true })).rejects.toThrow('tokens a minute');
  expect(asked).toEqual([
    [
      { id: 'key:key-1', by: 'tokens', perMinute: 600 },
      { id: 'ws:ws-1', by: 'workspace-tokens', perMinute: 9_000 },
      // As it was sent, and as it counts beyond the bounds of tags.
      { id: 'tag:ws-1:app=rare', by: 'tag-tokens', perMinute: 7_000 },
      { id: 'tag:ws-1:team=search', by: 'tag-tokens', perMinute: 5_000 },
      { id: 'tag:ws-1:app=other', by: 'tag-tokens', perMinute: 6_000 },
    ],
    undefined,
  ]);
});

it.each<[Shortage, boolean]>([
  ['balance', false],
  ['budget', true],
])('a request that finds its %s used up when it is about to be dispatched is refused then', async (short, isLate) => {
  const asked: unknown[] = [];
  const reserve: Slot['reserve'] = (cost, funds) => {
    asked.push(cost, funds);
    return isLate ? Promise.resolve(short) : short;
  };
  const slot: Slot = { reserve, adjust: () => undefined, release: () => undefined };
  // Something was settled since it was admitted.
  const latest = () => ({ ...credential, spent: 2n });
  const admitted = await admit({ credential, latest }, { admit: () => ({ kind: 'admitted', rate, slot }) });
  await expect(admitted.reserve({ cost: 7n, tokens: 9 })).rejects.toMatchObject({
    code: 'insufficient_funds',
    // As they are now.
    reached: short === 'balance' ? undefined : [{ limit: '0.000000000005', spent: '0.000000000002' }],
  });
  expect(asked).toEqual([7n, { balance: 1_000_000_000_000n, budget: 3n }]);
});

it.each([
  [
    'something is left and reserved',
    { balance: 1n, spent: 4n },
    'balance',
    /in-flight requests .* balance of this workspace/,
  ],
  [
    'nothing is left',
    { balance: 0n, spent: 4n },
    'balance',
    /^Credit balance is too low: the balance of this workspace is used up/,
  ],
  [
    'something is left of a budget and reserved',
    { balance: 1n, spent: 4n },
    'budget',
    /in-flight requests .* budget of this key/,
  ],
  [
    'nothing is left of a budget',
    { balance: 1n, spent: 5n },
    'budget',
    /^Quota exceeded: the budget of this key is used up/,
  ],
] as const)('a refusal says why when %s', async (_, { balance, spent }, short, message) => {
  const known = { ...credential, spent, workspace: { ...credential.workspace, balance } };
  const caller = { credential: known, latest: () => known };
  const refused = admit(caller, { admit: () => ({ kind: 'refused', by: short, rate }) });
  await expect(refused).rejects.toThrow(message);
  const slot: Slot = { reserve: () => short, adjust: () => undefined, release: () => undefined };
  const admitted = await admit(caller, { admit: () => ({ kind: 'admitted', rate, slot }) });
  await expect(admitted.reserve({ cost: 7n, tokens: 9 })).rejects.toThrow(message);
});

it('what is left when it ends is read again where it may be out of date, and is not known where that fails', async () => {
  const found: unknown[] = [];
  const release: Slot['release'] = async (left) => void found.push(await left?.());
  const slot: Slot = { reserve: () => undefined, adjust: () => undefined, release };
  const limits: Limits = { admit: () => ({ kind: 'admitted', rate, slot }) };
  const again = await admit({ credential, latest: () => Promise.resolve({ ...credential, spent: 4n }) }, limits);
  await again.release();
  const failing = await admit({ credential, latest: () => Promise.reject(new Error('away')) }, limits);
  await failing.release();
  expect(found).toEqual([{ balance: 1_000_000_000_000n, budget: 1n }, undefined]);
});

const workspace = { balance: 100n };
const key = { budget: { limit: 50n, period: 'day' } } as const;

it.each([
  ['no budget', credentialOf({ workspace }), { balance: 100n }],
  ['a budget of which nothing is spent', credentialOf({ workspace, key }), { balance: 100n, budget: 50n }],
  ['a budget', { ...credentialOf({ workspace, key }), spent: 20n }, { balance: 100n, budget: 30n }],
  [
    'a budget lowered below what is spent',
    { ...credentialOf({ workspace, key }), spent: 60n },
    { balance: 100n, budget: -10n },
  ],
  ['a credit limit', credentialOf({ workspace: { balance: 100n, creditLimit: 20n } }), { balance: 120n }],
  ['a credit limit that is used', credentialOf({ workspace: { balance: -15n, creditLimit: 20n } }), { balance: 5n }],
  ['spending but no budget', { ...credentialOf({ workspace }), spent: 60n }, { balance: 100n }],
])('what may be spent with %s', (_, credential, funds) => {
  expect(fundsOf(credential)).toEqual(funds);
});

it.each([['a=1'], ['b=2'], ['c=3'], ['a=1', 'b=2', 'c=3']])(
  'the budgets of %s count among the tags of a request',
  (...tags) => {
    const budgets = tags.map((tag) => [tag, { tag, limit: 5n, period: 'day', spent: 2n }] as const);
    const known = { ...credentialOf({ workspace }), tagBudgets: new Map(budgets) };
    expect(fundsOf(known, 'a=1,b=2,c=3').tags).toEqual(tags.map((tag) => ({ tag, left: 3n })));
    expect(fundsOf(known, 'd=4').tags).toBeUndefined();
  },
);
