import { describe, expect, it } from 'vitest';
import type { AnswerEvent } from '../../../core/event.ts';
import type { Usage } from '../../../core/money.ts';
import { repeatedNothing } from './merge.ts';
import { createTokenTotals } from './token-totals.ts';

const text = (said: string, deltas = 1): AnswerEvent => ({ type: 'text-delta', choice: 0, text: said, deltas });
const reasoning = (said: string): AnswerEvent => ({ type: 'reasoning-delta', choice: 0, text: said, deltas: 1 });
const usage = (promptTokens: number, completionTokens: number, more: Partial<Usage> = {}): AnswerEvent => ({
  type: 'usage',
  usage: { promptTokens, completionTokens, ...more },
});

/** A token for every two characters. */
const countText = (said: string): Promise<number> => Promise.resolve(Math.ceil(said.length / 2));
const alone = { prefixTokens: 0, deliveredTokens: 0, repeated: () => repeatedNothing };
const after = (tokens: number) => ({ ...alone, prefixTokens: tokens, deliveredTokens: tokens });
const again = (tokens: number) => ({
  ...{ prefixTokens: 0, deliveredTokens: tokens },
  repeated: () => ({ all: true, texts: [], deltas: 0 }),
});

describe('the tokens of an answer', () => {
  it('are what its engine says, as long as there is one', () => {
    const totals = createTokenTotals(undefined);
    const events = [text('a'), usage(10, 1), text('b'), usage(10, 2)];
    expect(totals.share(alone).take(events)).toBe(events);
  });

  it('are one prompt and both parts of the output when another engine went on', async () => {
    const totals = createTokenTotals(undefined);
    const first = totals.share(alone);
    first.take([text('a'), text('b'), usage(10, 2, { cachedTokens: 4 })]);
    await first.close('broken');
    const second = totals.share(after(2));
    expect(second.take([text('c'), usage(12, 1, { cachedTokens: 12 })])).toEqual([
      text('c'),
      { type: 'usage', usage: { promptTokens: 10, cachedTokens: 4, completionTokens: 3 } },
    ]);
  });

  it('take the partial turn out of the prompt where the first engine said nothing', async () => {
    const totals = createTokenTotals(countText);
    const first = totals.share(alone);
    first.take([text('abcd')]);
    await first.close('broken');
    expect(totals.output()).toBe(2);
    const second = totals.share(after(2));
    second.take([text('ef'), usage(12, 1, { cachedTokens: 12 })]);
    await second.close('whole');
    expect(totals.usage()).toEqual({
      type: 'usage',
      usage: { promptTokens: 10, cachedTokens: 10, completionTokens: 3 },
      countedBy: 'tokenizer',
    });
  });

  it('count what was said twice once', async () => {
    const totals = createTokenTotals(countText);
    const first = totals.share(alone);
    first.take([text('abcd')]);
    await first.close('broken');
    const second = totals.share(again(2));
    second.take([usage(10, 5)]);
    await second.close('whole');
    expect(totals.usage()?.usage).toEqual({ promptTokens: 10, completionTokens: 5 });
  });

  it('do not count a part that was said twice', async () => {
    const totals = createTokenTotals(countText);
    const first = totals.share(alone);
    first.take([text('abcdef')]);
    await first.close('broken');
    const repeated = () => ({ all: false, texts: ['ef', 'so'], deltas: 5 });
    const second = totals.share({ prefixTokens: 3, deliveredTokens: 3, repeated });
    second.take([usage(13, 6)]);
    // Until it has been counted, a delta stands for a token.
    expect(totals.usage()?.usage).toEqual({ promptTokens: 10, completionTokens: 4 });
    await second.close('whole');
    expect(totals.usage()?.usage).toEqual({ promptTokens: 10, completionTokens: 7 });
  });

  it('count what came after the last report of an engine that broke off', async () => {
    const totals = createTokenTotals(countText);
    const first = totals.share(alone);
    first.take([text('ab'), usage(10, 1), text('cdef')]);
    await first.close('broken');
    const counts = { promptTokens: 10, completionTokens: 3 };
    expect(totals.usage()).toEqual({ type: 'usage', usage: counts, countedBy: 'tokenizer' });
  });

  it('are an estimate, and say so, where nobody can count', async () => {
    const totals = createTokenTotals(undefined);
    const first = totals.share(alone);
    first.take([text('ab', 3), usage(10, 3), text('cdef', 4)]);
    await first.close('broken');
    expect(totals.usage()).toMatchObject({ usage: { completionTokens: 7 }, countedBy: 'estimate' });
  });

  it('are unknown while nobody has told the size of the prompt', async () => {
    const totals = createTokenTotals(countText);
    const first = totals.share(alone);
    first.take([text('abcd')]);
    await first.close('broken');
    expect(totals.usage()).toBeUndefined();
  });

  it('add up over choices that go on side by side', async () => {
    const totals = createTokenTotals(countText);
    const first = totals.share(alone);
    first.take([text('ab'), usage(10, 1), text('cd'), usage(10, 2)]);
    await first.close('broken');
    const [left, right] = [totals.share(after(1)), totals.share(after(1))];
    left.take([text('e'), usage(11, 3)]);
    right.take([text('f'), text('g')]);
    expect(totals.usage()).toMatchObject({ usage: { promptTokens: 10, completionTokens: 7 }, countedBy: 'estimate' });
    right.take([usage(11, 4)]);
    await Promise.all([left.close('whole'), right.close('whole')]);
    expect(totals.usage()).toEqual({ type: 'usage', usage: { promptTokens: 10, completionTokens: 9 } });
  });

  it('tell reasoning apart as long as every engine does', async () => {
    const totals = createTokenTotals(countText);
    const first = totals.share(alone);
    first.take([reasoning('ab'), text('cd'), usage(10, 2, { reasoningTokens: 1 })]);
    await first.close('broken');
    const second = totals.share(after(2));
    second.take([text('e'), usage(12, 1)]);
    expect(totals.usage()?.usage).toMatchObject({ completionTokens: 3, reasoningTokens: 1 });
    const third = totals.share(after(3));
    third.take([reasoning('hm'), usage(13, 1)]);
    expect(totals.usage()?.usage).not.toHaveProperty('reasoningTokens');
  });
});
