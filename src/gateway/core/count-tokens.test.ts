import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createOutputEstimate, estimatePromptText, estimateTokens } from './count-tokens.ts';
import type { Prompt } from '../../core/prompt.ts';

/** Prompts of every kind, each with what three tokenizers count. */
const counted = (
  JSON.parse(readFileSync(join(import.meta.dirname, '../../../test/golden/tokens/prompts.json'), 'utf8')) as readonly {
    readonly prompt: Prompt;
    readonly tokens: Readonly<Record<string, number | null>>;
  }[]
).filter(({ tokens }) => typeof tokens['chatml'] === 'number');

describe('an estimate of tokens', () => {
  it('errs low: no prompt of the golden ones has fewer tokens than it says', () => {
    expect(counted.length).toBeGreaterThan(150);
    const tooHigh = counted.filter(
      ({ prompt, tokens }) => estimatePromptText(prompt).textTokens > Number(tokens['chatml']),
    );
    expect(tooHigh).toEqual([]);
  });

  it('is no less than a third of what prose has', () => {
    const prose = 'The quick brown fox jumps over the lazy dog, and nobody minds. ';
    expect(Math.floor(estimateTokens(prose.repeat(100)))).toBe(1020);
  });

  it.each([
    ['blanks', ' \n\t'.repeat(1000), 0],
    ['one character over and over', '='.repeat(1000), 0.2],
    ['words', 'hello world', 1.8],
    ['Chinese', '我能吞下', 2],
    ['emoji', '👍👎', 2],
  ])('takes %s for what tokenizers make of it at least', (_, text, tokens) => {
    expect(estimateTokens(text)).toBeCloseTo(tokens);
  });

  it('is the same for any text as unit by unit, and in pieces of any length', () => {
    const unit = fc.oneof(
      fc.string({ unit: 'grapheme-ascii', minLength: 60, maxLength: 140 }),
      fc.constantFrom(
        '\0',
        '\x7f',
        '\x80',
        'é',
        'aa',
        '  ',
        '\t',
        '⺀',
        '我我',
        '👍',
        '\uD800',
        '\uDC00',
        'ab'.repeat(9_000),
      ),
    );
    const texts = fc.array(unit, { maxLength: 8 });
    fc.assert(
      fc.property(texts, (pieces) => {
        const units = Array.from({ length: pieces.join('').length }, (_, at) => pieces.join('').charCodeAt(at));
        const counted = units.filter((code, at) => code > 0x20 && code !== units[at - 1]);
        const ideographs = counted.filter((code) => code >= 0x2e80).length;
        const tokens = (counted.length - ideographs) / 5 + ideographs / 2;
        expect(estimateTokens(pieces.join(''))).toBe(tokens);
        const estimate = createOutputEstimate();
        for (const text of pieces) estimate.take({ type: 'text-delta', choice: 0, text, deltas: 0 });
        expect(estimate.textTokens()).toBe(Math.ceil(tokens));
        expect(estimate.hasBytes(Buffer.byteLength(pieces.filter((text) => text.isWellFormed()).join('')))).toBe(true);
      }),
      // Where the bytes of a piece do not fit, they may be as many as its characters.
      { numRuns: 400, examples: [[['⺀', 'ab'.repeat(8_191), '⺀']]] },
    );
  });

  it('leaves out reasoning that stands before the last question, as templates do', () => {
    const answer = { role: 'assistant', content: 'abcde', reasoning: 'abcde'.repeat(20) } as const;
    const question = { role: 'user', content: 'abcde' } as const;
    expect(estimatePromptText({ messages: [question, answer, question], tools: [] }).textTokens).toBe(3);
    expect(estimatePromptText({ messages: [question, answer], tools: [] }).textTokens).toBe(22);
  });

  it('counts text, reasoning, calls and tools, and neither images nor names', () => {
    const text = 'abcde'.repeat(20);
    const tools = [{ name: 'f', description: text }];
    const url = `data:image/png;base64,${'A'.repeat(1000)}`;
    const messages = [
      {
        role: 'user',
        content: [
          { type: 'text', text },
          { type: 'image', url },
        ],
        name: text,
      },
      { role: 'assistant', reasoning: text, toolCalls: [{ id: text, name: 'f', arguments: text }] },
      { role: 'tool', toolCallId: text, content: text },
    ] as const;
    expect(estimatePromptText({ messages, tools: [] }).textTokens).toBe(81);
    expect(estimatePromptText({ messages, tools }).textTokens).toBeGreaterThanOrEqual(81 + 20);
    expect(estimatePromptText({ messages, tools, toolChoice: 'none' }).textTokens).toBe(81);
  });
});
