import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fittingLength } from './fitting-length.ts';
import { countPrompt } from './count-prompt.ts';
import { type LoadedTokenizer, loadTokenizer } from './loaded-tokenizer.ts';
import { countUntil, type TextCounter } from './text-counter.ts';

const root = join(import.meta.dirname, '../../../test/golden/tokens');
const names = ['chatml', 'llama', 'mistral'] as const;
const counters = new Map(
  await Promise.all(names.map(async (name) => [name, (await loadTokenizer(root, name, () => 0)).counter] as const)),
);

const tokensOf = ({ count }: TextCounter, text: string): number => {
  const counted = countUntil(count(text, Infinity), () => false);
  return counted?.kind === 'counted' ? counted.tokens : expect.fail('not counted');
};

const texts = {
  prose: 'A weir is a low barrier across the width of a river that alters its flow. '.repeat(40),
  changing: `${'12,5 %; '.repeat(200)}${'internationalization '.repeat(200)}`,
  japanese: '堰は川の流れを変えるための低い障壁です。'.repeat(60),
  emoji: '🦫🪵'.repeat(300),
  oneWord: 'ab'.repeat(2000),
};

describe.each(names)('with the %s tokenizer, the beginning that fits', (name) => {
  const counter = counters.get(name) ?? expect.fail('no tokenizer');
  const cut = (text: string, limit: number): string =>
    text.slice(
      0,
      countUntil(fittingLength(counter, text, limit), () => false),
    );

  it.each(Object.entries(texts))('of %s has at most as many tokens, and not many fewer', (_, text) => {
    for (const limit of [1, 7, 100, 256]) {
      const beginning = cut(text, limit);
      const tokens = tokensOf(counter, beginning);
      expect(tokens).toBeLessThanOrEqual(limit);
      if (tokensOf(counter, text) <= limit) expect(beginning).toHaveLength(text.length);
      else if (limit >= 100) expect(tokens).toBeGreaterThan(limit * 0.9);
      expect(beginning.isWellFormed()).toBe(true);
    }
  });

  it('is the whole text if that fits', () => {
    const { prose } = texts;
    const tokens = tokensOf(counter, prose);
    expect(cut(prose, tokens)).toHaveLength(prose.length);
    expect(cut(prose, tokens - 1).length).toBeLessThan(prose.length);
  });

  it('is counted as the text of a pair, and its length reported', () => {
    const tokenizer = { counter, special: { single: 0, pair: 3 } } as LoadedTokenizer;
    const texts = ['what is a weir?', 'A weir is a low barrier. '.repeat(50), 'Short.'];
    const messages = texts.map((content) => ({ role: 'user' as const, content }));
    const prompt = { messages, tools: [], separate: 'pairs', maxEach: 64 } as const;
    const counting = { limit: 1000, milliseconds: 10_000, elapsed: () => 0 } as const;
    const [query = '', long = '', short = ''] = texts;
    const length = countUntil(fittingLength(counter, long, 64), () => false) ?? expect.fail('not counted');
    const lengths = [length, short.length];
    expect(countPrompt(tokenizer, prompt, { ...counting, want: 'fit' })).toEqual({
      kind: 'within',
      atMost: 1000,
      lengths,
    });
    const tokens =
      2 * (tokensOf(counter, query) + 3) + tokensOf(counter, long.slice(0, length)) + tokensOf(counter, short);
    expect(countPrompt(tokenizer, prompt, { ...counting, want: 'count' })).toEqual({
      kind: 'counted',
      tokens,
      lengths,
    });
    // Cut, every document fits the window; whole, the first one does not.
    const room = { ...counting, want: 'fit', limit: 64 + 3 + tokensOf(counter, query) } as const;
    expect(countPrompt(tokenizer, prompt, room).kind).toBe('within');
    expect(countPrompt(tokenizer, { ...prompt, maxEach: undefined }, room)).toMatchObject({ kind: 'over', at: 1 });
  });

  it('takes few counts', () => {
    let counts = 0;
    const count: TextCounter['count'] = (...given) => {
      counts += 1;
      return counter.count(...given);
    };
    countUntil(fittingLength({ ...counter, count }, texts.prose, 200), () => false);
    expect(counts).toBeLessThanOrEqual(5);
  });
});
