import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type InlineReasoning, type TagSet, tagSetNames, tagSets } from '../../../core/capability.ts';
import { plannedOf } from '../../../../test/support/route-of.ts';
import { inlineReasoningOf } from '../../engines/engines.ts';
import { createTagSplitter, type SortedText } from './split-tags.ts';

interface Sorted {
  readonly reasoning: string;
  readonly text: string;
}

function join(pieces: readonly SortedText[]): Sorted {
  const of = (type: SortedText['type']): string =>
    pieces.map((piece) => (piece.type === type ? piece.text : '')).join('');
  return { reasoning: of('reasoning-delta'), text: of('text-delta') };
}

const all: readonly TagSet[] = Object.values(tagSets);

function sort(pieces: readonly string[], inline: InlineReasoning, answerBegun = false): Sorted {
  const splitter = createTagSplitter(inline, { answerBegun });
  return join([...pieces.flatMap((piece) => [...splitter.push(piece, 1)]), ...splitter.flush()]);
}

const rows: readonly (readonly [what: string, said: string, reasoning: string, text: string])[] = [
  ['reasoning, then an answer', '<think>Hm.</think>Yes.', 'Hm.', 'Yes.'],
  ['no reasoning', 'Yes.', '', 'Yes.'],
  ['nothing', '', '', ''],
  ['nothing but white space', ' \n', '', ' \n'],
  ['white space around tags', ' \n<think>\n\n Hm. \n</think>\n\n Yes. \n', 'Hm.', 'Yes. \n'],
  ['white space before an answer without tags', '\n Yes.', '', '\n Yes.'],
  ['empty reasoning', '<think>\n\n</think>\n\nYes.', '', 'Yes.'],
  ['reasoning alone', '<think>Hm.</think>', 'Hm.', ''],
  ['reasoning that was cut off', '<think>Hm', 'Hm', ''],
  ['reasoning that was cut off inside its closing tag', '<think>Hm</thi', 'Hm</thi', ''],
  ['an opening tag that was cut off', '<thi', '', '<thi'],
  ['a tag in the answer', '<think>a</think>b <think>c</think>', 'a', 'b <think>c</think>'],
  [
    'a tag after the answer began',
    'The tag <think> opens, </think> closes.',
    '',
    'The tag <think> opens, </think> closes.',
  ],
  ['a closing tag first of all', '</think>Yes.', '', '</think>Yes.'],
  ['an opening tag inside reasoning', '<think>a <think> b</think>c', 'a <think> b', 'c'],
  ['something like a tag', '<thinker>a</thinker>', '', '<thinker>a</thinker>'],
  ['something like a closing tag', '<think>a </thinker> </ think></think>b', 'a </thinker> </ think>', 'b'],
  ['Kimi’s tags', '◁think▷Hm.◁/think▷Yes.', 'Hm.', 'Yes.'],
  ['Magistral’s tags', '[THINK]Hm.[/THINK]Yes.', 'Hm.', 'Yes.'],
  ['Gemma’s tags', '<|channel>thought\nHm.<channel|>Yes.', 'Hm.', 'Yes.'],
  ['Seed’s tags', '<seed:think>Hm.</seed:think>Yes.', 'Hm.', 'Yes.'],
  [
    'harmony’s channels',
    '<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Yes.',
    'Hm.',
    'Yes.',
  ],
  [
    'harmony’s channels, more than one of reasoning',
    '<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>analysis<|message|>b<|end|><|start|>assistant<|channel|>final<|message|>c',
    'a\n\nb',
    'c',
  ],
  ['harmony without reasoning', '<|channel|>final<|message|>Yes.', '', 'Yes.'],
];

const implicitRows: typeof rows = [
  ['the closing tag alone', 'Hm.\n</think>\n\nYes.', 'Hm.', 'Yes.'],
  ['both tags all the same (R1-0528)', '<think>\nHm.</think>Yes.', 'Hm.', 'Yes.'],
  ['white space first', '\n\nHm.</think>Yes.', 'Hm.', 'Yes.'],
  ['the closing tag first of all', '</think>Yes.', '', 'Yes.'],
  ['no closing tag: it was cut off', 'Hm, yes', 'Hm, yes', ''],
  ['a tag in the answer', 'a</think>b</think>c', 'a', 'b</think>c'],
];

describe('text with tags', () => {
  it.each(rows)('is sorted: %s', (_, said, reasoning, text) => {
    expect(sort([said], { tags: all, implicitOpen: false })).toEqual({ reasoning, text });
  });

  it.each(implicitRows)('is sorted where the prompt opens the reasoning: %s', (_, said, reasoning, text) => {
    expect(sort([said], { tags: [tagSets.think], implicitOpen: true })).toEqual({ reasoning, text });
  });

  it.each([
    ['goes on as the answer', ' and so on</think>.', '', ' and so on</think>.'],
    ['may reason anew behind an opening tag', '<think>Hm.</think> and so on', 'Hm.', 'and so on'],
  ])('that continues an answer %s', (_, said, reasoning, text) => {
    expect(sort([said], { tags: [tagSets.think], implicitOpen: true }, true)).toEqual({ reasoning, text });
  });

  it('knows only the tags of the sets that it was given', () => {
    expect(sort(['[THINK]a[/THINK]b'], { tags: [tagSets.think], implicitOpen: false })).toEqual({
      reasoning: '',
      text: '[THINK]a[/THINK]b',
    });
  });
});

describe('every tag', () => {
  it('is not the beginning of another that may occur in the same place', () => {
    const places = [
      all.flatMap((set) => [...set.open, ...(set.plain ?? [])]),
      all.flatMap((set) => [...set.close, ...(set.between ?? [])]),
    ];
    for (const tags of places) {
      for (const tag of tags) expect(tags.filter((other) => other.startsWith(tag))).toEqual([tag]);
    }
  });
});

const fragment = fc.oneof(
  fc.constantFrom(...all.flatMap((set) => [...set.open, ...set.close, ...(set.between ?? []), ...(set.plain ?? [])])),
  fc.constantFrom('<', '</', '<|', '◁', '[', '|>', 'think', ' ', '\n', '          ', 'a', 'b', 'é👩‍👩‍👧', '\u2028'),
  fc.string({ maxLength: 4 }),
);
const said = fc.array(fragment, { maxLength: 12 }).map((parts) => parts.join(''));
const inline = fc.record({
  tags: fc.subarray([...tagSetNames], { minLength: 1 }).map((some) => some.map((name) => tagSets[name])),
  implicitOpen: fc.boolean(),
});

/** Cuts a text at places given as shares of its length. */
function cut(text: string, shares: readonly number[]): readonly string[] {
  const places = [0, ...shares.map((share) => Math.floor(share * text.length)), text.length].toSorted((a, b) => a - b);
  return places.slice(1).map((to, index) => text.slice(places[index], to));
}

const shares = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 8 });

describe('text, however it is cut,', () => {
  it('is sorted the same, at any places and at every one', () => {
    fc.assert(
      fc.property(said, inline, fc.boolean(), shares, (text, how, answerBegun, places) => {
        const whole = sort([text], how, answerBegun);
        expect(sort(cut(text, places), how, answerBegun)).toEqual(whole);
        expect(sort(text.split(''), how, answerBegun)).toEqual(whole);
      }),
      { numRuns: 5000 },
    );
  });

  it('is never held back further than the longest tag and the white space before it', () => {
    const longest = Math.max(
      ...all.flatMap((set) => [...set.open, ...set.close, ...(set.between ?? [])]).map((tag) => tag.length),
    );
    fc.assert(
      fc.property(said, inline, (text, how) => {
        const splitter = createTagSplitter(how);
        const given = text.split('').flatMap((character) => [...splitter.push(character, 1)]);
        const held = splitter.flush().reduce((sum, piece) => sum + piece.text.length, 0);
        expect(held).toBeLessThanOrEqual(longest + 64);
        if (given.length > 0) expect(held).toBeLessThanOrEqual(longest + 8);
      }),
      { numRuns: 1000 },
    );
  });

  it('loses nothing but tags and white space, and every delta is counted once', () => {
    const words = fc.stringMatching(/^[a-zé]{1,5}(?: [a-z/>]{1,5}){0,3}$/);
    fc.assert(
      fc.property(fc.constantFrom(...all), words, words, shares, (set, reasoning, answer, places) => {
        const splitter = createTagSplitter({ tags: all, implicitOpen: false });
        const text = `${set.open[0] ?? ''}\n${reasoning}\n${set.close[0] ?? ''}\n\n${answer}`;
        const pieces = cut(text, places).filter((piece) => piece !== '');
        const given = [...pieces.flatMap((piece) => [...splitter.push(piece, 1)]), ...splitter.flush()];
        expect(join(given)).toEqual({ reasoning, text: answer });
        expect(given.reduce((sum, piece) => sum + piece.deltas, 0)).toBe(pieces.length);
      }),
      { numRuns: 1000 },
    );
  });

  it('keeps every tag inside an answer that has begun', () => {
    fc.assert(
      fc.property(said, inline, (text, { tags }) => {
        expect(sort([`<think>a</think>b${text}`], { tags: [tagSets.think, ...tags], implicitOpen: false })).toEqual({
          reasoning: 'a',
          text: `b${text}`,
        });
      }),
    );
  });
});

describe('tags that an operator names', () => {
  const pairs = [
    { open: '<my-thoughts>', close: '</my-thoughts>' },
    { open: '◇denken◇', close: '◇/denken◇' },
    { open: '###Reasoning###', close: '###Answer###' },
  ];
  const rows = [
    ...pairs.map((pair) => [pair.open, { tags: [], pairs }, pair] as const),
    ...(['reasoning', 'thinking', 'thought'] as const).map(
      (name) => [name, { tags: [name] }, { open: `<${name}>`, close: `</${name}>` }] as const,
    ),
  ];

  it.each(rows)('%s: the reasoning leaves the text, wherever the text is cut', (_, named, { open, close }) => {
    const capabilities = { inlineReasoning: { ...named, implicitOpen: false } };
    const inline = inlineReasoningOf(plannedOf('a', { capabilities }));
    if (inline === undefined) throw new Error('no tags');
    const said = `${open}Hm.${close}Yes.`;
    for (let at = 0; at <= said.length; at += 1)
      expect(sort([said.slice(0, at), said.slice(at)], inline)).toEqual({ reasoning: 'Hm.', text: 'Yes.' });
  });

  it('are not looked for where none is named', () => {
    expect(inlineReasoningOf(plannedOf('a'))).toBeUndefined();
    const capabilities = { inlineReasoning: { tags: [], implicitOpen: false } };
    expect(inlineReasoningOf(plannedOf('a', { capabilities }))).toBeUndefined();
  });
});
