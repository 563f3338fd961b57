import { describe, expect, it } from 'vitest';
import type { OutcomeKind } from '../core/account.ts';
import type { AnswerEvent } from '../core/event.ts';
import type { Usage } from '../core/money.ts';
import { createExactMeter } from './exact-meter.ts';

const text = (words: string): AnswerEvent => ({ type: 'text-delta', choice: 0, text: words, deltas: 1 });
const usage = (counts: Usage): AnswerEvent => ({ type: 'usage', usage: counts });
const running = usage({ promptTokens: 12, completionTokens: 2, cachedTokens: 4 });

/** One token per word, and a prompt of 40. */
const counters = {
  countPrompt: () => Promise.resolve<number | undefined>(40),
  countText: (said: string) => Promise.resolve<number | undefined>(said.trim().split(/\s+/).length),
};
const cannot = { countPrompt: () => Promise.resolve(undefined), countText: () => Promise.resolve(undefined) };

function billed(kind: OutcomeKind, events: readonly AnswerEvent[], how: typeof counters | undefined = counters) {
  const meter = createExactMeter(400, how);
  meter.take(events);
  return meter.bill(kind);
}

describe('a count that no engine reported', () => {
  it.each<readonly [string, OutcomeKind, readonly AnswerEvent[], Usage]>([
    ['completed: prompt and answer', 'completed', [text('a b'), text(' c')], { promptTokens: 40, completionTokens: 3 }],
    ['cancelled: prompt and what was delivered', 'cancelled', [text('a b')], { promptTokens: 40, completionTokens: 2 }],
    ['cancelled before any output', 'cancelled', [], { promptTokens: 40, completionTokens: 0 }],
    [
      'cancelled after a report: what came since is added',
      'cancelled',
      [text('a b'), running, text('c d e')],
      { promptTokens: 12, completionTokens: 5, cachedTokens: 4 },
    ],
    ['interrupted: only what was delivered', 'interrupted', [text('a b c')], { promptTokens: 0, completionTokens: 3 }],
  ])('is the tokenizer’s. %s', async (_, kind, events, expected) => {
    expect(await billed(kind, events)).toEqual({ usage: expected, countedBy: 'tokenizer' });
  });

  it('stays an estimate where nobody can count', async () => {
    expect(await billed('completed', [text('a b')], cannot)).toMatchObject({ countedBy: 'estimate' });
    expect(await createExactMeter(400, undefined).bill('cancelled')).toMatchObject({ countedBy: 'estimate' });
  });

  it('is not asked for when the engine reported all of it', async () => {
    const told: Usage = { promptTokens: 9, completionTokens: 7 };
    const never = {
      countPrompt: () => Promise.reject(new Error('asked')),
      countText: () => Promise.reject(new Error('asked')),
    };
    const meter = createExactMeter(400, never);
    meter.take([text('a b'), usage(told)]);
    expect(await meter.bill('completed')).toEqual({ usage: told, countedBy: 'engine' });
  });
});
