import { describe, expect, it } from 'vitest';
import { modelOf } from '../../test/support/route-of.ts';
import type { ReasoningControl } from '../core/capability.ts';
import type { Model } from '../core/catalog.ts';
import type { ReasoningAsk } from '../core/request.ts';
import { effortOfBudget, settleReasoning } from './reasoning.ts';

const every = ['low', 'medium', 'high', 'max'] as const;
const full: ReasoningControl = { off: true, efforts: every, budget: true };
const switchOnly: ReasoningControl = { off: true, efforts: [], budget: false };
const fixed: ReasoningControl = { off: false, efforts: [], budget: false };

interface Row {
  readonly ask?: ReasoningAsk;
  readonly control?: ReasoningControl;
  readonly mode?: Model['reasoning']['mode'];
  readonly efforts?: Model['reasoning']['efforts'];
  readonly cap?: number;
  readonly becomes: unknown;
}

const off: ReasoningAsk = { enabled: false };

describe('what reasoning comes to on a route', () => {
  it.each<readonly [string, Row]>([
    ['omitted is the deepest', { becomes: { enabled: true, effort: 'max' } }],
    [
      'omitted is the deepest the route honours',
      { control: { ...full, efforts: ['low', 'high'] }, becomes: { enabled: true, effort: 'high' } },
    ],
    [
      'omitted is the deepest the model knows',
      { efforts: ['low', 'medium'], becomes: { enabled: true, effort: 'medium' } },
    ],
    ['omitted is on where there are no levels', { control: switchOnly, becomes: { enabled: true } }],
    ['a level is itself', { ask: { enabled: true, effort: 'medium' }, becomes: { enabled: true, effort: 'medium' } }],
    [
      'a level between two is the lower',
      {
        ask: { enabled: true, effort: 'medium' },
        control: { ...full, efforts: ['low', 'high'] },
        becomes: { enabled: true, effort: 'low' },
      },
    ],
    [
      'a level below all is the least',
      {
        ask: { enabled: true, effort: 'low' },
        control: { ...full, efforts: ['high', 'max'] },
        becomes: { enabled: true, effort: 'high' },
      },
    ],
    [
      'a level where there are none is on',
      { ask: { enabled: true, effort: 'low' }, control: switchOnly, becomes: { enabled: true } },
    ],
    ['off is off', { ask: off, becomes: off }],
    ['off where the model always reasons', { ask: off, mode: 'Always', becomes: 'impossible' }],
    ['off where the route cannot', { ask: off, control: fixed, becomes: 'impossible' }],
    [
      'a budget is native where there is one',
      { ask: { enabled: true, budgetTokens: 5000 }, becomes: { enabled: true, budgetTokens: 5000 } },
    ],
    [
      'a budget is a level elsewhere',
      {
        ask: { enabled: true, budgetTokens: 5000 },
        control: { ...full, budget: false },
        cap: 10_000,
        becomes: { enabled: true, effort: 'medium' },
      },
    ],
    ['nothing on a model that does not reason', { mode: 'None', efforts: [], becomes: undefined }],
    ['off on a model that does not reason', { ask: off, mode: 'None', efforts: [], becomes: undefined }],
  ])('%s', (_, { ask, control = full, mode = 'Optional', efforts = every, cap, becomes }) => {
    const model = modelOf([], { reasoning: { mode, efforts } });
    expect(settleReasoning(ask, { model, control, maxOutputTokens: cap })).toEqual(becomes);
  });

  it.each([
    [95, 100, 'max'],
    [90, 100, 'max'],
    [89, 100, 'high'],
    [50, 100, 'medium'],
    [20, 100, 'low'],
    [40_000, undefined, 'max'],
    [16_000, undefined, 'high'],
    [5000, undefined, 'medium'],
    [1024, undefined, 'low'],
  ])('a budget of %d with a cap of %s is %s', (budget, cap, effort) => {
    expect(effortOfBudget(budget, cap)).toBe(effort);
  });
});
