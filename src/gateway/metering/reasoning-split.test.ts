import { describe, expect, it } from 'vitest';
import type { RelayedEvent } from '../../core/event.ts';
import type { Usage } from '../../core/money.ts';
import { createReasoningSplit } from './reasoning-split.ts';

/** A tokenizer of words. */
const countWords = async (text: string): Promise<number | undefined> => Promise.resolve(text.split(' ').length);

const words = (count: number): string => Array.from({ length: count }, () => 'w').join(' ');
const said = (type: 'text-delta' | 'reasoning-delta' | 'refusal-delta', count: number, choice = 0): RelayedEvent => ({
  ...{ type, choice, text: words(count), deltas: count },
});
const finish = (choice = 0): RelayedEvent => ({ type: 'finish', choice, reason: 'stop' });
const call = (count: number): readonly RelayedEvent[] => [
  { type: 'tool-start', choice: 0, tool: 0, id: 'x', name: 'f ' },
  { type: 'tool-delta', choice: 0, tool: 0, text: words(count) },
];
const search = (count: number): RelayedEvent => ({ type: 'search-call', choice: 0, id: 'x', input: words(count) });
const usage = (completionTokens: number, more: Partial<Usage> = {}): Usage => ({
  promptTokens: 5,
  completionTokens,
  ...more,
});

describe('the reasoning in a completion', () => {
  it.each<readonly [what: string, events: readonly RelayedEvent[], completion: number, split: number | undefined]>([
    ['adds up', [said('reasoning-delta', 30), said('text-delta', 10), finish()], 40, 30],
    ['adds up but for what no text shows', [said('reasoning-delta', 30), said('text-delta', 10), finish()], 44, 30],
    ['adds up but for twelve tokens', [said('reasoning-delta', 30), said('text-delta', 10), finish()], 52, 30],
    ['is all there is', [said('reasoning-delta', 30), finish()], 31, 30],
    ['is exactly all there is', [said('reasoning-delta', 30), finish()], 30, 30],
    ['adds up with a refusal', [said('reasoning-delta', 30), said('refusal-delta', 20), finish()], 50, 30],
    [
      'leaves text before it unexplained',
      [said('text-delta', 10), said('reasoning-delta', 30), said('text-delta', 10), finish()],
      ...([53, undefined] as const),
    ],
    [
      'adds up over choices',
      [said('reasoning-delta', 9), said('reasoning-delta', 2, 1), said('text-delta', 10), finish(), finish(1)],
      43,
      10,
    ],
    ['leaves room for a call’s markup', [said('reasoning-delta', 30), ...call(10), finish()], 99, 30],
    [
      'is more than was billed, by the name of a call',
      [said('reasoning-delta', 30), ...call(4), finish()],
      34,
      undefined,
    ],
    ['leaves room for a search’s markup', [said('reasoning-delta', 30), search(3), finish()], 99, 30],
    ['is more than was billed, with a search', [said('reasoning-delta', 30), search(3), finish()], 32, undefined],
    [
      'adds up, although the engine reports counts without it',
      [said('reasoning-delta', 30), { type: 'usage', usage: usage(30) }, said('text-delta', 20), finish()],
      ...([50, 30] as const),
    ],
    ['leaves too much unexplained', [said('reasoning-delta', 30), said('text-delta', 10), finish()], 53, undefined],
    ['is more than was billed', [said('reasoning-delta', 30), said('text-delta', 10), finish()], 39, undefined],
    ['is more than was billed, with a call', [said('reasoning-delta', 30), ...call(10), finish()], 35, undefined],
    ['is not there', [said('text-delta', 10), finish()], 10, undefined],
  ])('is shown only when it reconciles: it %s', async (_, events, completion, expected) => {
    const split = createReasoningSplit(countWords);
    split.take(events);
    expect((await split.complete(usage(completion))).reasoningTokens).toBe(expected);
  });

  it.each([0, 12])(
    'is passed through where the engine reported it, %i included, and nothing is counted',
    async (reported) => {
      let counted = 0;
      const split = createReasoningSplit(async (text) => ((counted += 1), countWords(text)));
      const final = usage(40, { reasoningTokens: reported });
      split.take([said('reasoning-delta', 30), { type: 'usage', usage: final }, said('text-delta', 10), finish()]);
      expect(await split.complete(final)).toBe(final);
      expect(counted).toBe(0);
    },
  );

  it('is left out when the tokenizer cannot count', async () => {
    const split = createReasoningSplit(async () => Promise.resolve(undefined));
    split.take([said('reasoning-delta', 3), finish()]);
    expect(await split.complete(usage(3))).toEqual(usage(3));
  });

  it('is left out of an answer that is too long to be kept', async () => {
    const split = createReasoningSplit(async (text) => Promise.resolve(text.length));
    const long: RelayedEvent = { type: 'reasoning-delta', choice: 0, text: 'x'.repeat(3 * 1024 * 1024), deltas: 1 };
    split.take([long, long, long, finish()]);
    expect(await split.complete(usage(9 * 1024 * 1024))).toEqual(usage(9 * 1024 * 1024));
  });

  it.each([
    ['exactly as long as can be kept', 1, 1024 * 1024],
    ['a little longer', 2, undefined],
  ])('counts reasoning and text together: %s', async (_, extra, expected) => {
    const split = createReasoningSplit(async (text) => Promise.resolve(text.length));
    const piece = (type: 'reasoning-delta' | 'text-delta', length: number): RelayedEvent => ({
      ...{ type, choice: 0, text: 'x'.repeat(length), deltas: 1 },
    });
    const rest = 3 * 1024 * 1024 + extra - 1;
    split.take([piece('reasoning-delta', 1024 * 1024), piece('text-delta', rest), finish()]);
    expect((await split.complete(usage(1024 * 1024 + rest))).reasoningTokens).toBe(expected);
  });
});
