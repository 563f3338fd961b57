import { describe, expect, it } from 'vitest';
import type { AnswerEvent } from '../../core/event.ts';
import type { Usage } from '../../core/money.ts';
import { createRoundTotals } from './round-totals.ts';

const text = (words: string, deltas = 1): AnswerEvent => ({ type: 'text-delta', choice: 0, text: words, deltas });
const usage = (promptTokens: number, completionTokens: number, more: Partial<Usage> = {}): AnswerEvent => ({
  type: 'usage',
  usage: { promptTokens, completionTokens, ...more },
});
const countWords = (words: string): Promise<number> => Promise.resolve(words.split(/\s+/).filter(Boolean).length);
const start = (countText?: (words: string) => Promise<number | undefined>) =>
  createRoundTotals({
    ...{ countText, contextLength: 1000 },
    countPrompt: () => Promise.resolve({ tokens: 7, countedBy: countText === undefined ? 'estimate' : 'tokenizer' }),
  });

describe('the usage of several rounds', () => {
  it('is the sum of what each engine counted, as it grows', async () => {
    const totals = start();
    expect(totals.take([text('a'), usage(10, 1)])).toEqual(usage(10, 1));
    expect(totals.take([text('b')])).toBeUndefined();
    expect(totals.take([usage(10, 2, { cachedTokens: 4 })])).toEqual(usage(10, 2, { cachedTokens: 4 }));
    expect(await totals.close()).toEqual(usage(10, 2, { cachedTokens: 4 }));
    await totals.open('');
    expect(totals.take([text('c'), usage(30, 5, { cachedTokens: 12, reasoningTokens: 3 })])).toEqual(
      usage(40, 7, { cachedTokens: 16, reasoningTokens: 3 }),
    );
    expect(await totals.close()).toEqual(usage(40, 7, { cachedTokens: 16, reasoningTokens: 3 }));
    expect([totals.output(), totals.conversation()]).toEqual([7, 35]);
  });

  it('counts the prompt of a round before its engine does: who leaves then has used it', async () => {
    const totals = start(countWords);
    totals.take([usage(10, 2)]);
    await totals.close();
    expect(await totals.open('what was found')).toEqual({ ...usage(10 + 12 + 3, 2), countedBy: 'tokenizer' });
    expect(totals.take([usage(14, 1)])).toEqual(usage(24, 3));
  });

  it('has what one engine counted and the next did not, and nothing before the first', async () => {
    const totals = start();
    expect(totals.past()).toEqual(usage(0, 0));
    totals.take([usage(10, 2, { cachedTokens: 4, reasoningTokens: 1 })]);
    await totals.close();
    totals.take([usage(30, 5)]);
    expect(await totals.close()).toEqual(usage(40, 7, { cachedTokens: 4, reasoningTokens: 1 }));
  });

  it('is an estimate once an engine’s count was replaced by one', async () => {
    const totals = start(countWords);
    const replaced = { ...usage(10, 2), countedBy: 'estimate' } as const;
    expect(totals.take([replaced])).toEqual(replaced);
    expect(await totals.close()).toEqual(replaced);
    totals.take([usage(1, 1)]);
    expect(await totals.close()).toEqual({ ...usage(11, 3), countedBy: 'estimate' });
  });

  it('is an estimate where the tokenizer counts the prompt and cannot count the answer', async () => {
    const totals = start(() => Promise.resolve(undefined));
    totals.take([text('one two', 4)]);
    expect(await totals.close()).toEqual({ ...usage(7, 4), countedBy: 'estimate' });
  });

  it('can be told without the round under way, whose prompt no engine may have', async () => {
    const totals = start(countWords);
    totals.take([usage(10, 2)]);
    await totals.close();
    await totals.open('what was found');
    expect(totals.past()).toEqual(usage(10, 2));
  });

  it('is what the tokenizer counts where an engine says nothing, and says so from then on', async () => {
    const totals = start(countWords);
    totals.take([text('one two '), text('three', 3)]);
    expect(await totals.close()).toEqual({ ...usage(7, 3), countedBy: 'tokenizer' });
    await totals.open('four words of result');
    totals.take([text('five', 9)]);
    expect(await totals.close()).toEqual({ ...usage(7 + 14, 4), countedBy: 'tokenizer' });
    await totals.open('');
    expect(totals.take([usage(20, 1)])).toEqual({ ...usage(41, 5), countedBy: 'tokenizer' });
  });

  it('takes no prompt for longer than the model can read', async () => {
    const totals = start();
    totals.take([usage(900, 50)]);
    await totals.close();
    expect(await totals.open('abcde'.repeat(80))).toEqual({ ...usage(900 + 1000, 50), countedBy: 'estimate' });
  });

  it('is an estimate where nobody can count', async () => {
    const totals = start();
    totals.take([text('one two', 4)]);
    expect(await totals.close()).toEqual({ ...usage(7, 4), countedBy: 'estimate' });
    expect(await totals.open('abcde'.repeat(8))).toEqual({ ...usage(7 + 11 + 8, 4), countedBy: 'estimate' });
    totals.take([text('three', 2)]);
    expect(await totals.close()).toEqual({ ...usage(7 + 11 + 8, 4 + 2), countedBy: 'estimate' });
  });
});
