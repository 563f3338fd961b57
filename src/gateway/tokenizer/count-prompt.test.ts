import { promptShape } from '../../../test/support/prompt-shape.ts';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { maxTokensOf, type Prompt, type PromptCount, type PromptShape } from '../../core/prompt.ts';
import { countPrompt, countInSteps } from './count-prompt.ts';
import { type LoadedTokenizer, loadTokenizer } from './loaded-tokenizer.ts';
import { specialTokensOf } from './special-tokens.ts';
import { countUntil } from './text-counter.ts';

interface Case {
  readonly prompt: Prompt;
  readonly tokens: Readonly<Record<string, number | null>>;
  readonly textTokens: Readonly<Record<string, number>>;
}

const root = join(import.meta.dirname, '../../../test/golden/tokens');
const cases = JSON.parse(readFileSync(join(root, 'prompts.json'), 'utf8')) as readonly Case[];
const unlimited = { want: 'count', limit: Number.POSITIVE_INFINITY, milliseconds: 10_000, elapsed: () => 0 } as const;
const refused: PromptCount = { kind: 'unknown', reason: 'template' };
const names = ['chatml', 'llama', 'mistral'] as const;
const loaded: Readonly<Record<string, LoadedTokenizer>> = Object.fromEntries(
  await Promise.all(names.map(async (name) => [name, await loadTokenizer(root, name, () => 0)] as const)),
);
const tokenizerOf = (name: string): LoadedTokenizer => loaded[name]!;
const userSays = (content: string): Prompt => ({ messages: [{ role: 'user', content }], tools: [] });

function tokensOfText(tokenizer: LoadedTokenizer, text: string): number {
  const count = countUntil(tokenizer.counter.count(text, Number.POSITIVE_INFINITY), () => false);
  return count?.kind === 'counted' ? count.tokens : Number.NaN;
}

function lastText({ messages }: Prompt): string {
  const texts = messages.flatMap(({ content }) => (typeof content === 'string' && content !== '' ? [content] : []));
  return texts.at(-1) ?? '';
}

describe.each(names)('the %s tokenizer', (name) => {
  const tokenizer = tokenizerOf(name);

  it('counts 200 prompts as transformers does', () => {
    expect(cases).toHaveLength(200);
    const wrong = cases.flatMap(({ prompt, tokens }, index) => {
      const expected = tokens[name] ?? null;
      const want = expected === null ? refused : { kind: 'counted', tokens: expected };
      const got = countPrompt(tokenizer, prompt, unlimited);
      return JSON.stringify(got) === JSON.stringify(want) ? [] : [{ index, got, want }];
    });
    expect(wrong).toEqual([]);
  });

  it('counts texts on their own as transformers does', () => {
    const wrong = cases.flatMap(({ prompt, textTokens }, index) => {
      const got = tokensOfText(tokenizer, lastText(prompt));
      return got === textTokens[name] ? [] : [{ index, got, want: textTokens[name] }];
    });
    expect(wrong).toEqual([]);
  });

  it('counts the same in steps of any size', () => {
    for (const { prompt } of cases.slice(0, 80)) {
      const counting = countInSteps(tokenizer, prompt, unlimited);
      let count: PromptCount | undefined;
      while (count === undefined) count = countUntil(counting, () => true);
      expect(count).toEqual(countPrompt(tokenizer, prompt, unlimited));
    }
  });

  it('decides every limit as the whole count would', () => {
    const prompts = fc.constantFrom(...cases.filter(({ tokens }) => typeof tokens[name] === 'number'));
    fc.assert(
      fc.property(prompts, fc.integer({ min: -3, max: 3 }), fc.constantFrom('count', 'fit'), (made, off, want) => {
        const tokens = made.tokens[name] ?? 0;
        const limit = tokens + off;
        const found = countPrompt(tokenizer, made.prompt, { ...unlimited, want, limit });
        if (off < 0) {
          expect(found.kind).toBe('over');
          if (found.kind === 'over') expect(found.atLeast).toBeLessThanOrEqual(tokens);
        } else {
          expect(['counted', 'within']).toContain(found.kind);
          if (found.kind === 'within') expect(found.atMost).toBeGreaterThanOrEqual(tokens);
        }
      }),
    );
  });
});

const unit = fc.oneof(
  { weight: 6, arbitrary: fc.string({ unit: 'grapheme-ascii' }) },
  { weight: 3, arbitrary: fc.string({ unit: 'binary' }) },
  fc.constantFrom(
    '<|im_end|>',
    '</s>',
    '<s>',
    '   ',
    '\n\n',
    '\u0344',
    '\uFB2C',
    '\u{1D160}',
    'ΐ',
    '▁',
    '한',
    '\uD800',
  ),
);
const anyText = fc.array(unit, { maxLength: 20 }).map((parts) => parts.join(''));
const anyPrompt: fc.Arbitrary<Prompt> = fc.record({
  messages: fc
    .array(fc.tuple(anyText, fc.option(anyText, { nil: undefined })), { minLength: 1, maxLength: 4 })
    .map((texts) =>
      texts.map(([content, reasoning], index) =>
        index % 2 === 0
          ? { role: 'user' as const, content }
          : { role: 'assistant' as const, content, ...(reasoning !== undefined && { reasoning }) },
      ),
    ),
  tools: fc.array(
    fc.record({
      name: fc.constantFrom('a', 'get_weather'),
      description: anyText,
      parameters: fc.dictionary(anyText, fc.jsonValue()),
    }),
    { maxLength: 2 },
  ),
});

function shapeOf(prompt: Prompt, body: string): PromptShape {
  // oxlint-disable-next-line eslint/no-control-regex
  const isAscii = /^[\x00-\x7f]*$/.test(body);
  const { messages, tools } = prompt;
  return promptShape({ bodyBytes: Buffer.byteLength(body), isAscii, messages: messages.length, tools: tools.length });
}

const escaped = (body: string): string =>
  body.replaceAll(/[\u0080-\uffff]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);

describe('bounds', () => {
  it.each(['chatml', 'llama'])('of %s hold for any prompt, however its body is escaped', (name) => {
    const tokenizer = tokenizerOf(name);
    fc.assert(
      fc.property(anyPrompt, fc.boolean(), (prompt, ascii) => {
        const written = JSON.stringify({ messages: prompt.messages, tools: prompt.tools });
        const most = maxTokensOf(shapeOf(prompt, ascii ? escaped(written) : written), tokenizer.bounds, undefined);
        const count = countPrompt(tokenizer, prompt, unlimited);
        expect(count.kind).toBe('counted');
        if (count.kind === 'counted' && most !== undefined) expect(count.tokens).toBeLessThanOrEqual(most);
      }),
      { numRuns: 400 },
    );
  });

  it.each(names)('of the %s text hold from below and above', (name) => {
    const { counter } = tokenizerOf(name);
    const { maxTextBytes, tokensPerByte = Number.POSITIVE_INFINITY } = counter.sizes;
    fc.assert(
      fc.property(
        fc.oneof(
          anyText,
          fc.nat(3000).map((length) => 'a '.repeat(length)),
          fc.nat(300).map((length) => 'ΐ'.repeat(length).normalize('NFD')),
        ),
        (text) => {
          const bytes = Buffer.byteLength(text);
          const tokens = tokensOfText(tokenizerOf(name), text);
          expect(tokens).toBeGreaterThanOrEqual(Math.ceil(bytes / maxTextBytes));
          // One more: a blank that is put before the whole.
          if (bytes > 0) expect(tokens).toBeLessThanOrEqual(bytes * tokensPerByte + 1);
        },
      ),
      { numRuns: 400 },
    );
  });

  it('promise nothing for a template that indents tools, and something without tools', () => {
    const { bounds } = tokenizerOf('llama');
    const shape = promptShape({ bodyBytes: 100 });
    expect(maxTokensOf(shape, bounds, undefined)).toBeGreaterThan(100);
    expect(maxTokensOf({ ...shape, tools: 1 }, bounds, undefined)).toBeUndefined();
  });
});

describe('counting', () => {
  const tokenizer = tokenizerOf('chatml');
  const image = { type: 'image', url: 'data:image/png;base64,AAAA' } as const;

  it('adds the declared cost of each image', () => {
    const prompt: Prompt = {
      messages: [{ role: 'user', content: [{ type: 'text', text: 'a' }, image, image] }],
      tools: [],
    };
    const counted = (tokensPerImage: number): PromptCount =>
      countPrompt(tokenizer, prompt, { ...unlimited, tokensPerImage });
    expect(counted(1000)).toMatchObject({ kind: 'counted' });
    expect(countPrompt(tokenizer, prompt, { ...unlimited, tokensPerImage: 700, limit: 1400 }).kind).toBe('over');
    const [free, dear] = [counted(0), counted(700)].map((count) => (count.kind === 'counted' ? count.tokens : 0));
    expect(dear).toBe((free ?? 0) + 1400);
  });

  it('leaves images without a declared cost to the engine', () => {
    const prompt: Prompt = { messages: [{ role: 'user', content: [image] }], tools: [] };
    expect(countPrompt(tokenizer, prompt, unlimited)).toEqual({ kind: 'unknown', reason: 'tokenizer' });
  });

  it('leaves a prompt to the engine when the allowance is used up', () => {
    let now = 0;
    const slow = { ...unlimited, milliseconds: 3, elapsed: () => now++ };
    expect(countPrompt(tokenizer, userSays('word '.repeat(10_000)), slow)).toEqual({ kind: 'unknown', reason: 'time' });
  });

  it('stops early once a prompt is over the limit', () => {
    let asked = 0;
    const counting = countInSteps(tokenizer, userSays('word '.repeat(1_000_000)), {
      want: 'count',
      limit: 100_000,
    });
    const count = countUntil(counting, () => {
      asked += 1;
      return false;
    });
    expect(count).toEqual({ kind: 'over', atLeast: expect.any(Number) as number });
    expect(asked).toBeLessThan(1_000);
  });

  it.each([
    ['refuses a word of 30 MB without merging it', 'a', 1_000_000, 'over'],
    ['leaves a word of 30 MB to the engine when its length alone does not decide', ' ', 1_000_000, 'unknown'],
    ['refuses 30 MB that cannot fit by their length alone', ' ', 100_000, 'over'],
  ] as const)('%s', (_name, character, limit, kind) => {
    const word = character.repeat(30_000_000);
    // V8 keeps the second one in two bytes a character, in which its regular expressions need more room.
    for (const text of [word, `${word}中`]) {
      expect(countPrompt(tokenizer, userSays(text), { ...unlimited, limit }).kind).toBe(kind);
    }
  });

  it('counts a lone surrogate as the character that stands for it in UTF-8', () => {
    const tokens = (text: string) => countPrompt(tokenizer, userSays(text), unlimited);
    expect(tokens('a\uD800b')).toEqual(tokens('a\uFFFDb'));
  });
});

describe('texts that are prompts of their own', () => {
  const prompt = (separate: Prompt['separate'], ...texts: readonly string[]): Prompt => ({
    messages: texts.map((content) => ({ role: 'user', content })),
    tools: [],
    separate,
  });
  const text = (count: number): string => 'word '.repeat(count).trim();

  it.each(names)('are counted without a template, with the tokens that %s adds around each', (name) => {
    const tokenizer = tokenizerOf(name);
    const { single, pair } = tokenizer.special;
    expect({ chatml: [0, 0], llama: [1, 0], mistral: [0, 0] }[name]).toEqual([single, pair]);
    const [a, b, c] = ['one', text(7), text(3)];
    const [inA = 0, inB = 0, inC = 0] = [a, b, c].map((each) => tokensOfText(tokenizer, each));
    const counted = (tokens: number): PromptCount => ({ kind: 'counted', tokens });
    expect(countPrompt(tokenizer, prompt('each', a, b, c), unlimited)).toEqual(counted(inA + inB + inC + 3 * single));
    expect(countPrompt(tokenizer, prompt('pairs', a, b, c), unlimited)).toEqual(counted(2 * (inA + pair) + inB + inC));
  });

  it('have the limit for each, and the first one above it is named', () => {
    const tokenizer = tokenizerOf('llama');
    const long = text(50);
    const limit = tokensOfText(tokenizer, long) + 1;
    const fit = { ...unlimited, want: 'fit' } as const;
    const texts = [text(3), long, text(40)];
    expect(countPrompt(tokenizer, prompt('each', ...texts), { ...fit, limit })).toEqual({
      kind: 'within',
      atMost: limit,
    });
    expect(countPrompt(tokenizer, prompt('each', ...texts), { ...fit, limit: limit - 1 })).toMatchObject({
      ...{ kind: 'over', at: 1 },
    });
    expect(countPrompt(tokenizer, prompt('pairs', text(3), text(40), long), { ...fit, limit })).toMatchObject({
      ...{ kind: 'over', at: 2 },
    });
  });
});

describe('special tokens', () => {
  it.each([
    [null, [0, 0]],
    [{ type: 'BertProcessing' }, [2, 3]],
    [{ type: 'RobertaProcessing' }, [2, 4]],
    [{ type: 'ByteLevel' }, [0, 0]],
    [{ type: 'Sequence', processors: [{ type: 'ByteLevel' }, { type: 'BertProcessing' }] }, [2, 3]],
  ])('of %j', (processor, [single, pair]) => {
    expect(specialTokensOf(processor)).toEqual({ single, pair });
  });
});
