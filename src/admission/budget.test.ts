import { expect, it } from 'vitest';
import { credentialOf } from '../../test/support/credential-of.ts';
import { fundsOf } from './budget.ts';

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
  ['spending but no budget', { ...credentialOf({ workspace }), spent: 60n }, { balance: 100n }],
])('what may be spent with %s', (_, credential, funds) => {
  expect(fundsOf(credential)).toEqual(funds);
});
