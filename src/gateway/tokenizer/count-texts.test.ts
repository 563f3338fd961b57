/** The tokenizers of embedding and rerank models: WordPiece, and unigram models with a map of characters or with bytes. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Prompt, PromptCount } from '../../core/prompt.ts';
import { compileCharMap } from './char-map.ts';
import { countInSteps, countPrompt } from './count-prompt.ts';
import { type LoadedTokenizer, loadTokenizer } from './loaded-tokenizer.ts';
import { countUntil } from './text-counter.ts';

interface Case {
  readonly text: string;
  /** What the reference counts for the text alone, and together with the query, special tokens included. */
  readonly tokens: Readonly<Record<string, number>>;
  readonly pair: Readonly<Record<string, number>>;
}

const root = join(import.meta.dirname, '../../../test/golden/tokens');
const cases = JSON.parse(readFileSync(join(root, 'texts.json'), 'utf8')) as readonly Case[];
const query = 'What is a weir?';
const unlimited = { want: 'count', limit: Number.POSITIVE_INFINITY, milliseconds: 10_000, elapsed: () => 0 } as const;
const names = ['bert', 'xlm-roberta', 'byte-fallback'] as const;
const loaded: Readonly<Record<string, LoadedTokenizer>> = Object.fromEntries(
  await Promise.all(names.map(async (name) => [name, await loadTokenizer(root, name, () => 0)] as const)),
);
const separate = (kind: Prompt['separate'], ...texts: readonly string[]): Prompt => ({
  messages: texts.map((content) => ({ role: 'user', content })),
  tools: [],
  separate: kind,
});
const counted = (tokens: number): PromptCount => ({ kind: 'counted', tokens });

describe.each(names)('the %s tokenizer', (name) => {
  const tokenizer = loaded[name]!;
  const countOf = (prompt: Prompt): PromptCount => countPrompt(tokenizer, prompt, unlimited);

  it('counts 240 texts as the reference does, with the special tokens around them', () => {
    expect(cases).toHaveLength(240);
    const wrong = cases.filter(
      ({ text, tokens }) => JSON.stringify(countOf(separate('each', text))) !== JSON.stringify(counted(tokens[name]!)),
    );
    expect(wrong).toEqual([]);
  });

  it('counts each text together with a query as the reference does', () => {
    const wrong = cases.filter(
      ({ text, pair }) =>
        JSON.stringify(countOf(separate('pairs', query, text))) !== JSON.stringify(counted(pair[name]!)),
    );
    expect(wrong).toEqual([]);
  });

  it('counts the same in steps of any size', () => {
    const whole = separate('each', ...cases.map(({ text }) => text));
    const counting = countInSteps(tokenizer, whole, unlimited);
    let count: PromptCount | undefined;
    while (count === undefined) count = countUntil(counting, () => true);
    expect(count).toEqual(counted(cases.reduce((sum, { tokens }) => sum + tokens[name]!, 0)));
  });

  it('decides every limit as the whole count would, and its bounds hold', () => {
    const { tokensPerByte = Infinity, tokensPerAsciiByte = Infinity, around = 0 } = tokenizer.bounds;
    fc.assert(
      fc.property(fc.constantFrom(...cases), fc.integer({ min: -3, max: 3 }), ({ text, tokens }, off) => {
        const own = tokens[name]!;
        const fit = { ...unlimited, want: 'fit', limit: own + off } as const;
        expect(countPrompt(tokenizer, separate('each', text), fit).kind).toBe(off < 0 ? 'over' : 'within');
        expect(own).toBeLessThanOrEqual(Buffer.byteLength(text) * tokensPerByte + 1 + around);
        const escaped = JSON.stringify(text).replaceAll(/[^\0-\x7f]/g, '\\u0000');
        expect(own).toBeLessThanOrEqual(escaped.length * tokensPerAsciiByte + 1 + around);
      }),
      { numRuns: 500 },
    );
  });
});

describe('a hostile text', () => {
  it.each([
    ['bert', 'a', 3e6, { kind: 'counted', tokens: 3 }],
    ['bert', '字', 5e5, { kind: 'over', atLeast: 514, at: 0 }],
    ['bert', ' e\u0301', 5e5, { kind: 'over', atLeast: 514, at: 0 }],
    ['xlm-roberta', 'a', 3e6, { kind: 'unknown', reason: 'time' }],
    ['xlm-roberta', ' e\u0301', 5e5, { kind: 'over', at: 0 }],
    ['byte-fallback', ' e\u0301', 5e5, { kind: 'over', at: 0 }],
  ] as const)('for %s, %j %d times, gets an end', (name, part, times, expected) => {
    const prompt = separate('each', part.repeat(times));
    expect(countPrompt(loaded[name]!, prompt, { ...unlimited, limit: 513 })).toMatchObject(expected);
  });
});

describe('a map of characters', () => {
  const file = JSON.parse(readFileSync(join(root, 'xlm-roberta/tokenizer.json'), 'utf8')) as {
    readonly normalizer: { readonly normalizers: readonly { readonly precompiled_charsmap: string }[] };
  };
  const map = compileCharMap(file.normalizer.normalizers[0]!.precompiled_charsmap, '');

  it.each([
    ['\r\n', ' '],
    ['\r \n', '   '],
    ['e\u0301', 'é'],
    // A grapheme of six bytes is mapped character by character.
    ['e\u0301\u0301\u0301', 'e\u0301\u0301\u0301'],
    ['½ ㎏', '1⁄2 kg'],
    ['\ufeffa', 'a'],
  ])('makes %j into %j', (text, mapped) => {
    expect(map.normalize(text)).toBe(mapped);
  });

  it('says how much a text can grow', () => {
    // The honorific of one character and three bytes becomes 18 characters and 33 bytes.
    expect(map.growth).toEqual({ bytes: 11, characters: 6 });
  });

  it.each(['', 'AAAA', 'CAAAAA=='])('that is damaged (%j) is refused', (base64) => {
    expect(() => compileCharMap(base64, 'normalizer')).toThrow('expected a compiled map of characters');
  });
});
