import { expect, it } from 'vitest';
import { type LimitsAsk, type UnderWay, refusedBy } from './limits.ts';

const ask: LimitsAsk = {
  ...{ keyId: 'key-1', workspaceId: 'ws-1', rate: 10, burst: 2, maxInFlight: 4 },
  funds: { balance: 100n, budget: 50n },
};
const idle: UnderWay = { fullInMs: 0, inFlight: 0, reserved: 0n, budgetReserved: () => 0n, tokensFullInMs: () => 0 };
const budgetReserved = (id: string, reserved: bigint) => ({
  budgetReserved: (asked: string) => (asked === id ? reserved : 0n),
});
const tagged = {
  funds: {
    balance: 100n,
    budget: 50n,
    tags: [
      { tag: 'app=x', left: 90n },
      { tag: 'team=y', left: 10n },
    ],
  },
};
const tokens: Partial<LimitsAsk> = { tokens: [{ id: 'key:key-1', by: 'tokens', perMinute: 60_000 }] };
const unlimited = { balance: 100n };

it.each<[string, Partial<LimitsAsk>, Partial<UnderWay>, ReturnType<typeof refusedBy>['by']]>([
  ['nothing under way', {}, {}, undefined],
  ['the last token', {}, { fullInMs: 100 }, undefined],
  ['no token', {}, { fullInMs: 200 }, 'rate'],
  ['most of a token', {}, { fullInMs: 101 }, 'rate'],
  ['the last place', {}, { inFlight: 3 }, undefined],
  ['no place', {}, { inFlight: 4 }, 'concurrency'],
  ['the last token of a minute', tokens, { tokensFullInMs: () => 59_999 }, undefined],
  ['no token of a minute', tokens, { tokensFullInMs: () => 60_000 }, 'tokens'],
  [
    'no token of a minute, and no money',
    { ...tokens, funds: { balance: 0n } },
    { tokensFullInMs: () => 60_000 },
    'tokens',
  ],
  [
    'no token of a minute of the workspace',
    {
      tokens: [
        { id: 'key:key-1', by: 'tokens', perMinute: 60_000 },
        { id: 'ws:ws-1', by: 'workspace-tokens', perMinute: 60_000 },
      ],
    },
    { tokensFullInMs: ({ id }) => (id === 'ws:ws-1' ? 70_000 : 0) },
    'workspace-tokens',
  ],
  ['no place, and no token of a minute', tokens, { inFlight: 4, tokensFullInMs: () => 60_000 }, 'concurrency'],
  ['more under way than a limit that was lowered', {}, { inFlight: 9 }, 'concurrency'],
  ['a balance that is not used up yet', {}, { reserved: 99n }, undefined],
  ['a balance that those under way use up', {}, { reserved: 100n }, 'balance'],
  ['no balance', { funds: { balance: 0n } }, {}, 'balance'],
  ['a balance below nothing', { funds: { balance: -1n } }, {}, 'balance'],
  ['the last unit of a balance', { funds: { balance: 1n } }, {}, undefined],
  ['a budget that is not used up yet', {}, budgetReserved('key:key-1', 49n), undefined],
  ['a budget that those under way use up', {}, budgetReserved('key:key-1', 50n), 'budget'],
  ['a budget that is overspent', { funds: { balance: 100n, budget: -1n } }, {}, 'budget'],
  ['no budget at all', { funds: unlimited }, budgetReserved('key:key-1', 99n), undefined],
  ['budgets of tags that are not used up yet', tagged, budgetReserved('tag:ws-1:team=y', 9n), undefined],
  ['a budget of a tag that those under way use up', tagged, budgetReserved('tag:ws-1:team=y', 10n), 'tag-budget'],
  ['the tag of another workspace that is used up', tagged, budgetReserved('tag:ws-2:team=y', 99n), undefined],
  ['neither token nor place', {}, { fullInMs: 200, inFlight: 4 }, 'rate'],
  ['neither place nor money', { funds: { balance: 0n } }, { inFlight: 4 }, 'concurrency'],
  ['neither balance nor budget', { funds: { balance: 0n, budget: 0n } }, {}, 'balance'],
])('with %s', (_, asked, load, by) => {
  const under = { ...idle, ...load };
  expect(refusedBy({ ...ask, ...asked }, under)).toEqual({ by, would: [] });
  if (by === undefined || by === 'balance') return;
  // The same limit lets it pass when it is not enforced, and whatever comes after it decides.
  const dry = refusedBy({ ...ask, ...asked, notEnforced: [by] }, under);
  expect(dry.would).toContain(by);
  expect(dry.by).not.toBe(by);
});
