import { expect, it } from 'vitest';
import { type BilledRow, billFaults, type Served } from './check-bill.ts';
import { prices, searchPrice } from './catalog.ts';

const tokens = prices.prompt * 100n + prices.completion * 10n;
const usage = { promptTokens: 100, completionTokens: 10 };
const searched = { ...usage, webSearches: 2 };
const row = (fields: Partial<BilledRow> = {}): BilledRow => ({
  ...{ kind: 'completed', usage, cost: tokens, countedBy: 'engine', attempts: 1 },
  ...fields,
});
const served = (fields: Partial<Served> = {}): Served => ({
  ...{ event: { choices: 1, maxTokens: undefined, search: undefined, directive: undefined } },
  ...{
    completionTokens: 10,
    promptTokens: new Set([100]),
    isContinued: false,
    written: undefined,
    searches: { got: 0, made: 0 },
    factors: [1],
  },
  ...fields,
});
const search = { rounds: [2], outcome: 'found', maxUses: undefined, struckRound: 0, follows: false } as const;
const searching = (got: number, made: number): Served =>
  served({ event: { choices: 1, maxTokens: undefined, search, directive: undefined }, searches: { got, made } });
const capped = served({
  event: { choices: 1, maxTokens: 9, search: undefined, directive: undefined },
  completionTokens: 12,
});

const told = { choices: 1, maxTokens: undefined, search: undefined };
const byLetter = served({ event: { ...told, directive: { deltaChars: 1 } }, completionTokens: 9 });
const twoMore = { ...usage, completionTokens: 11 };
const costOfTwoMore = tokens + prices.completion;
const saidAgain = served({ event: { ...told, directive: { continuation: 'echo' } }, completionTokens: 11 });

it.each([
  ['the price of a whole answer', row(), served(), undefined],
  ['three times as much, after a change of prices', row({ cost: 3n * tokens }), served({ factors: [3] }), undefined],
  ['the price of another catalog', row({ cost: 3n * tokens }), served({ factors: [1, 2] }), 'for {'],
  ['a little more', row({ cost: tokens + 1n }), served(), `${tokens + 1n} for {`],
  ['anything for a failure', row({ kind: 'failed', cost: tokens }), served(), 'for an answer that failed'],
  ['nothing for a failure', row({ kind: 'failed', cost: 0n }), served(), undefined],
  ['a part of an answer as the whole', row(), served({ completionTokens: 12 }), '10 output tokens in place of 12'],
  ['more than the answer', row(), served({ completionTokens: 9 }), '10 output tokens of 9'],
  ['a token that a break has cut in two', row({ attempts: 2 }), byLetter, undefined],
  ['two of them', row({ attempts: 2, usage: twoMore, cost: costOfTwoMore }), byLetter, '11 output tokens of 9'],
  ['an answer said again, by an estimate', row(), saidAgain, undefined],
  ['by a tokenizer', row(), { ...saidAgain, isCounted: true }, '10 output tokens in place of 11'],
  ['more than the cap', row({ kind: 'interrupted' }), capped, 'past the cap of 9'],
  ['an estimate above the cap', row({ countedBy: 'estimate' }), capped, undefined],
  ['another prompt', row(), served({ promptTokens: new Set([98, 99]) }), '100 prompt tokens in place of 98 or 99'],
  ['a smaller prompt, continued', row(), served({ promptTokens: new Set([101]), isContinued: true }), undefined],
  [
    'a larger prompt, continued',
    row(),
    served({ promptTokens: new Set([99]), isContinued: true }),
    '100 prompt tokens of 99',
  ],
  ['a larger prompt, estimated', row({ countedBy: 'estimate' }), served({ promptTokens: new Set([80]) }), undefined],
  [
    'a far larger one',
    row({ countedBy: 'estimate' }),
    served({ promptTokens: new Set([76]) }),
    '100 prompt tokens of 99',
  ],
  ['what was written', row({ kind: 'cancelled' }), served({ written: 10 }), undefined],
  [
    'the prompt of what broke off',
    row({ kind: 'interrupted' }),
    served({ written: 10 }),
    '100 prompt tokens of a request',
  ],
  ['more than was written', row({ kind: 'interrupted' }), served({ written: 9 }), 'with 9 written'],
  ['less than was written', row({ kind: 'cancelled' }), served({ written: 11 }), 'with 11 written'],
  ['less, continued', row({ kind: 'cancelled' }), served({ written: 11, isContinued: true }), undefined],
  ['more, continued', row({ kind: 'cancelled' }), served({ written: 9, isContinued: true }), 'with 9 written'],
  ['what a caller that left has got', row({ kind: 'cancelled' }), served({ received: 10 }), undefined],
  ['less than that', row({ kind: 'cancelled' }), served({ received: 11 }), 'with 11 at its caller'],
  ['two searches', row({ usage: searched, cost: tokens + 2n * searchPrice }), searching(2, 2), undefined],
  ['two searches at three prices', row({ usage: searched, cost: tokens + 3n * searchPrice }), searching(2, 2), 'for {'],
  ['one search too many', row({ usage: searched, cost: tokens + 2n * searchPrice }), searching(1, 1), 'for 1 to 1'],
  [
    'a search on its way to a caller that has left',
    row({ kind: 'cancelled', usage: searched, cost: tokens + 2n * searchPrice }),
    searching(1, 2),
    undefined,
  ],
  [
    'searches of an answer that broke off',
    row({ kind: 'interrupted', usage: searched, cost: tokens + 2n * searchPrice }),
    searching(2, 2),
    'for 0 to 0',
  ],
  ['no count of searches', row(), searching(0, 0), 'undefined searches'],
] as const)('judges a bill of %s', (_, bill, answer, fault) => {
  const faults = billFaults(bill, answer);
  expect(faults.some((each) => fault === undefined || each.includes(fault))).toBe(fault !== undefined);
});
