import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Prompt, PromptCountOptions } from '../../core/prompt.ts';
import type { Message } from '../../core/request.ts';
import { countPrompt } from './count-prompt.ts';
import { type LoadedTokenizer, loadTokenizer } from './loaded-tokenizer.ts';
import { createRememberedCounts, type TextCounts } from './remembered-counts.ts';
import { compileTextCounter, countUntil } from './text-counter.ts';
import { readTokenizerFolder, type TokenizerFile } from './tokenizer-folder.ts';

const root = join(import.meta.dirname, '../../../test/golden/tokens');
const plain = { single_word: false, lstrip: false, rstrip: false, special: false };
const greedy = [
  { ...plain, content: '<left>', lstrip: true },
  { ...plain, content: '<right>', rstrip: true },
  { ...plain, content: 'stop', single_word: true, normalized: true },
];

/** Tokenizers of each kind: the golden ones, and what a file can change in how texts are cut and counted. */
const kinds: Readonly<Record<string, readonly [string, Partial<TokenizerFile>]>> = {
  chatml: ['chatml', {}],
  llama: ['llama', {}],
  mistral: ['mistral', {}],
  'blanks before words': ['chatml', { pre_tokenizer: { type: 'ByteLevel', add_prefix_space: true, use_regex: true } }],
  'a blank before the prompt': [
    'llama',
    {
      normalizer: null,
      pre_tokenizer: { type: 'Metaspace', replacement: '▁', prepend_scheme: 'first', split: true },
    },
  ],
  'a blank before each text': [
    'mistral',
    {
      normalizer: { type: 'Sequence', normalizers: [{ type: 'Strip', strip_left: true, strip_right: true }] },
      pre_tokenizer: { type: 'Metaspace', replacement: '▁', prepend_scheme: 'always', split: false },
    },
  ],
  'lower case, and tokens with blanks': ['chatml', { normalizer: { type: 'Lowercase' }, added_tokens: greedy }],
};

async function tokenizerOf(kind: string): Promise<LoadedTokenizer> {
  const [folder, changes] = kinds[kind]!;
  const loaded = await loadTokenizer(root, folder, () => 0);
  const { tokenizer } = await readTokenizerFolder(root, folder);
  const added_tokens = [...tokenizer.added_tokens, ...(changes.added_tokens ?? [])];
  return { ...loaded, counter: compileTextCounter({ ...tokenizer, ...changes, added_tokens }, []) };
}

const unlimited = { want: 'count', limit: Infinity } as const;
const countOf = (
  tokenizer: LoadedTokenizer,
  prompt: Prompt,
  { remembered, ...options }: PromptCountOptions & { readonly remembered?: TextCounts },
) => countPrompt(tokenizer, prompt, { ...options, remembered, milliseconds: 10_000, elapsed: () => 0 });

const unit = fc.oneof(
  { weight: 8, arbitrary: fc.string({ unit: 'grapheme-ascii', minLength: 5, maxLength: 40 }) },
  { weight: 2, arbitrary: fc.string({ unit: 'binary' }) },
  fc.constantFrom(
    ...[
      '<|im_end|>',
      '<|im_start|>',
      '</s>',
      '[INST]',
      '<mask>',
      '<sep>',
      ' <left> ',
      ' <right> ',
      ' stop ',
      '<think>',
    ],
    ...['   ', '\n\n', '\u0344', '\uFB2C', '\u{1D160}', '▁', '한', '\uD800', '\uDC00', '\uFFFD', 'word '.repeat(40)],
  ),
);
/** Texts that are remembered, and shorter ones. */
const anyText = fc.array(unit, { maxLength: 16 }).map((parts) => parts.join(''));
const anyTurn: fc.Arbitrary<readonly Message[]> = fc.oneof(
  anyText.map((content) => [{ role: 'user', content }] as const),
  fc
    .tuple(anyText, anyText, fc.option(anyText, { nil: undefined }))
    .map(([content, said, reasoning]) => [
      { role: 'user', content } as const,
      { role: 'assistant', content: said, reasoning } as const,
    ]),
  fc.tuple(anyText, anyText).map(([content, result]) => [
    { role: 'user', content } as const,
    {
      role: 'assistant',
      toolCalls: [{ id: 'abcdefgh0', name: 'a', arguments: JSON.stringify({ content }) }],
    } as const,
    { role: 'tool', toolCallId: 'abcdefgh0', content: result } as const,
  ]),
);

describe.each(Object.keys(kinds))('remembered counts of %s', async (kind) => {
  const tokenizer = await tokenizerOf(kind);

  it('equal the counts from nothing, turn by turn and at every limit', () => {
    const conversation = fc.array(anyTurn, { minLength: 1, maxLength: 4 });
    const tools = fc.constantFrom([], [{ name: 'a', description: 'word '.repeat(50), parameters: { type: 'object' } }]);
    const counts = createRememberedCounts({ elapsed: () => 0 }).within('path', 'workspace');
    let found = 0;
    const remembered: TextCounts = {
      ...counts,
      get: (key) => {
        const known = counts.get(key);
        if (known !== undefined) found += 1;
        return known;
      },
    };
    fc.assert(
      fc.property(conversation, tools, fc.integer({ min: -40, max: 2 }), (turns, offered, off) => {
        for (const last of turns.keys()) {
          const prompt: Prompt = { messages: turns.slice(0, last + 1).flat(), tools: offered };
          const whole = countOf(tokenizer, prompt, unlimited);
          expect(countOf(tokenizer, prompt, { ...unlimited, remembered })).toEqual(whole);
          if (whole.kind !== 'counted') continue;
          for (const want of ['count', 'fit'] as const) {
            const limited = { want, limit: whole.tokens + off };
            expect(countOf(tokenizer, prompt, { ...limited, remembered })).toEqual(countOf(tokenizer, prompt, limited));
          }
        }
      }),
      { numRuns: 150 },
    );
    expect(found).toBeGreaterThan(300);
  });

  it('equal the counts from nothing, wherever in a prompt a text is', () => {
    const remembered = createRememberedCounts({ elapsed: () => 0 }).within('path', 'workspace');
    const tokensOf = (text: string, known?: TextCounts) =>
      countUntil(tokenizer.counter.count(text, Infinity, known), () => false);
    const between = fc.constantFrom('<|im_end|>', '</s>', ' <left>', '<right> ');
    fc.assert(
      fc.property(fc.array(anyText, { minLength: 2, maxLength: 3 }), between, (texts, token) => {
        for (const placed of [texts, texts.toReversed()]) {
          const text = placed.join(token);
          expect(tokensOf(text, remembered)).toEqual(tokensOf(text));
        }
      }),
      { numRuns: 150 },
    );
  });

  it('leave only the new texts of a turn to be counted', () => {
    const counts = createRememberedCounts({ elapsed: () => 0 });
    const remembered = counts.within('path', 'workspace');
    const say = (at: number): string => `message ${at} `.repeat(40);
    const turn = (at: number): readonly Message[] => [
      { role: 'user', content: say(at) },
      { role: 'assistant', content: say(at + 0.5) },
    ];
    const sizes = [10, 11, 12].map((turns) => {
      const messages = [
        ...Array.from({ length: turns }, (_, at) => turn(at)).flat(),
        { role: 'user', content: 'and?' },
      ];
      countOf(tokenizer, { messages: messages as Message[], tools: [] }, { ...unlimited, remembered });
      return counts.size();
    });
    expect(sizes[0]).toBeGreaterThanOrEqual(10);
    expect([sizes[1]! - sizes[0]!, sizes[2]! - sizes[1]!]).toEqual([sizes[0]! / 10, sizes[0]! / 10]);
  });
});

describe('what is remembered', () => {
  const text = 'a text of a message '.repeat(10);

  it('is found in its own scope, by its own tokenizer, and at its own place only', () => {
    const counts = createRememberedCounts({ elapsed: () => 0 });
    const own = counts.within('path', 'workspace');
    own.set(own.keyOf(text, false)!, 7);
    const tokensFor = (path: string, scope: string, isFirst: boolean) => {
      const asked = counts.within(path, scope);
      return asked.get(asked.keyOf(text, isFirst)!);
    };
    expect(tokensFor('path', 'workspace', false)).toBe(7);
    expect(tokensFor('path', 'workspace', true)).toBeUndefined();
    expect(tokensFor('path', 'other', false)).toBeUndefined();
    expect(tokensFor('other', 'workspace', false)).toBeUndefined();
  });

  it('is no short text, and none with half a character, whose bytes another text has', () => {
    const { keyOf } = createRememberedCounts({ elapsed: () => 0 }).within('path', 'workspace');
    expect(keyOf('short', false)).toBeUndefined();
    expect(keyOf(`${text}\uD800`, false)).toBeUndefined();
    expect(keyOf(`${text}\uFFFD`, false)).toBeTypeOf('string');
  });

  it('is bounded, and keeps what is used', () => {
    const counts = createRememberedCounts({ elapsed: () => 0 });
    const { get, set } = counts.within('path', 'workspace');
    set('used', 1);
    for (let at = 0; at < 200_000; at += 1) {
      set(String(at), at);
      if (at % 1000 === 0) expect(get('used')).toBe(1);
    }
    expect(counts.size()).toBeLessThanOrEqual(50_000);
    expect(get('199999')).toBe(199_999);
    expect(get('0')).toBeUndefined();
  });

  it('is forgotten when it is not used for half an hour', () => {
    let now = 0;
    const { get, set } = createRememberedCounts({ elapsed: () => now }).within('path', 'workspace');
    set('unused', 1);
    set('used', 2);
    now = 16 * 60_000;
    expect(get('used')).toBe(2);
    now = 32 * 60_000;
    expect(get('unused')).toBeUndefined();
    expect(get('used')).toBe(2);
    now = 120 * 60_000;
    expect(get('used')).toBeUndefined();
  });
});
