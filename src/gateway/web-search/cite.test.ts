import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { TextEvent } from '../../core/event.ts';
import { createCiter } from './cite.ts';

const known = 9;

function citer() {
  return createCiter({
    isKnown: (number) => number >= 1 && number <= known,
    citationOf: (number) => ({ url: `https://${number}.example/`, title: 'T', citedText: '', sealed: String(number) }),
  });
}

/** The output for these pieces: plain text, joined, and pairs of a cited text and its numbers. */
function written(pieces: readonly string[], end: 'flush' | 'breakOff' = 'flush') {
  const machine = citer();
  const events: TextEvent[] = [];
  for (const text of pieces) events.push(...machine.push({ type: 'text-delta', choice: 0, text, deltas: 1 }));
  events.push(...machine[end]());
  const said: (string | readonly [string, string])[] = [];
  for (const { text, citations } of events) {
    const last = said.at(-1);
    if (citations !== undefined) said.push([text, citations.map(({ sealed }) => sealed).join()]);
    else if (typeof last === 'string') said[said.length - 1] = last + text;
    else said.push(text);
  }
  return { said, events, text: events.map(({ text }) => text).join('') };
}

describe('the marks in an answer', () => {
  it.each([
    ['a mark before the full stop', 'Paris is big [cite:1].', [['Paris is big', '1'], '.']],
    ['a mark behind the full stop', 'Paris is big. [cite:1] Rome is old.', [['Paris is big.', '1'], ' Rome is old.']],
    ['only its own sentence', 'Hello there. Paris is big [cite:2].', ['Hello there. ', ['Paris is big', '2'], '.']],
    ['two marks in a row', 'Paris is big [cite:1][cite:2].', [['Paris is big', '1,2'], '.']],
    ['two marks with a comma', 'Paris is big [cite:1], [cite:2].', [['Paris is big', '1,2'], '.']],
    ['several numbers in one', 'Paris is big [cite:1, 2].', [['Paris is big', '1,2'], '.']],
    ['several numbers, each named', 'Paris is big [cite: 1, cite: 2].', [['Paris is big', '1,2'], '.']],
    [
      'two statements in one sentence',
      'Paris is big [cite:1] and Rome is old [cite:2].',
      [['Paris is big', '1'], [' and Rome is old', '2'], '.'],
    ],
    ['items of a list', '- big [cite:1]\n- old [cite:2]\n', [['- big', '1'], '\n', ['- old', '2'], '\n']],
    ['a mark ahead of the sentence', '[cite:1] Paris is big. So.', [['Paris is big.', '1'], ' So.']],
    ['a mark ahead of an item', '- [cite:1] big\n- [cite:2] old', ['- ', ['big', '1'], '\n- ', ['old', '2']]],
    [
      'a mark behind the paragraph, on a line of its own',
      'Paris is big.\n[cite:1]\n\nSo.',
      [['Paris is big.', '1'], '\n\n\nSo.'],
    ],
    ['a source that is not known', 'Paris is big [cite:77].', ['Paris is big [cite:77].']],
    ['one source that is known beside one that is not', 'Paris [cite:1,77].', [['Paris', '1'], '.']],
    ['a number that is no mark', 'a[1] = b[cite] [cite:] [cite:x]', ['a[1] = b[cite] [cite:] [cite:x]']],
    ['no blank on either side', 'big[cite:1]and', [['big', '1'], 'and']],
    ['a mark with nothing to cite', 'Big [cite:1]. [cite:2] So', [['Big', '1'], '. So']],
    ['full stops that are no blank apart', 'パリは大きい。[cite:1]ローマ', [['パリは大きい。', '1'], 'ローマ']],
    ['nothing but a mark', '[cite:1]', []],
    ['a mark that never ends', 'Paris [cite:1', ['Paris [cite:1']],
  ] as const)('%s', (_, text, expected) => {
    expect(written([text]).said).toEqual(expected);
    expect(written(text.split('')).said).toEqual(expected);
  });

  const piece = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.constantFrom(
        'Paris is big',
        ' and',
        ' so',
        '. ',
        '.',
        '\n',
        '\n\n',
        ' ',
        '- ',
        '!',
        '👩‍🚀',
        'é',
        '。',
      ),
    },
    {
      weight: 2,
      arbitrary: fc.constantFrom('[cite:1]', '[cite:2]', '[cite:3, 4]', '[cite:99]', ' [cite:5]', '[cite: 6, cite: 1]'),
    },
    { weight: 1, arbitrary: fc.constantFrom('[', ']', '[ci', '[cite', 'cite:', '[1]', '(', 'x[0]', '"') },
    { weight: 1, arbitrary: fc.string({ maxLength: 6, unit: 'grapheme' }) },
  );
  const answers = fc.array(piece, { maxLength: 24 }).map((pieces) => pieces.join(''));
  const cutPlaces = fc.array(fc.nat(200), { maxLength: 8 });

  function piecesOf(text: string, cuts: readonly number[]): readonly string[] {
    const at = [...new Set([0, ...cuts.filter((cut) => cut < text.length), text.length])].toSorted((a, b) => a - b);
    return at.slice(1).map((end, index) => text.slice(at[index], end));
  }

  it('has the same result wherever the engine cuts', () => {
    fc.assert(
      fc.property(answers, cutPlaces, (text, cuts) => {
        expect(written(piecesOf(text, cuts)).said).toEqual(written([text]).said);
        expect(written(text.split('')).said).toEqual(written([text]).said);
      }),
      { numRuns: 500 },
    );
  });

  const beginnings = Array.from('[cite:1, cite: 2', (_, at) => '[cite:1, cite: 2'.slice(0, at + 1));

  it.each(beginnings)(
    'ends before a mark that has only begun when it breaks off, and else has it as text: %s',
    (begun) => {
      const text = `Rome is old. Paris is big ${begun}`;
      for (const pieces of [[text], text.split('')]) {
        expect(written(pieces, 'breakOff').text).toBe('Rome is old. Paris is big');
        expect(written(pieces, 'flush').text).toBe(text);
      }
    },
  );

  it.each(['[1', '[citation', '[cite]', '[cite 1', '[cite:x', 'cite:1', '(cite:1', '[cite:99]'])(
    'keeps what only resembles the beginning of a mark when it breaks off: %s',
    (other) => {
      expect(written([`Paris is big ${other}`], 'breakOff').text).toBe(`Paris is big ${other}`);
    },
  );

  it('keeps the citations before a mark that has only begun when it breaks off', () => {
    expect(written(['Paris is big [cite:1] [cite:2'], 'breakOff').said).toEqual([['Paris is big', '1']]);
  });

  it('breaks off in the same place wherever the engine cuts', () => {
    fc.assert(
      fc.property(answers, fc.constantFrom('', ...beginnings), cutPlaces, (answer, begun, cuts) => {
        const text = answer + begun;
        expect(written(piecesOf(text, cuts), 'breakOff').said).toEqual(written([text], 'breakOff').said);
        expect(written(text.split(''), 'breakOff').said).toEqual(written([text], 'breakOff').said);
      }),
      { numRuns: 500 },
    );
  });

  it.each([990, 1000, 1100])('breaks off in the same place in a sentence of %d characters', (length) => {
    const said = 'x'.repeat(length);
    for (const pieces of [[`${said} [cite:1`], [said, ' ', '[cite:1'], `${said} [cite:1`.split('')]) {
      expect(written(pieces, 'breakOff').text).toBe(said);
    }
  });

  it('removes nothing but marks and blanks', () => {
    const bare = (text: string) => text.replace(/\[cite: ?\d+(?:, ?(?:cite: ?)?\d+)*\]/g, '').replace(/[\s,;]/g, '');
    fc.assert(
      fc.property(answers, (text) => {
        expect(bare(written([text]).text)).toBe(bare(text));
      }),
      { numRuns: 500 },
    );
  });

  it('leaves a text without marks exactly as it is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.nat(40), (text, cut) => {
        expect(written([text.slice(0, cut), text.slice(cut)]).text).toBe(text);
      }),
    );
  });

  it('counts as many deltas as came', () => {
    const { events } = written(['Paris ', 'is ', 'big ', '[cite:1]', '. ', 'Rome']);
    expect(events.reduce((sum, { deltas }) => sum + deltas, 0)).toBe(6);
  });

  it('returns each sentence when the next one begins, and does not wait for one that never ends', () => {
    const machine = citer();
    const push = (text: string) =>
      machine
        .push({ type: 'text-delta', choice: 0, text, deltas: 1 })
        .map((event) => event.text)
        .join('');
    expect(push('Paris is big.')).toBe('');
    expect(push(' Rome')).toBe('Paris is big. ');
    expect(push('x'.repeat(1100))).toBe(`Rome${'x'.repeat(1100)}`);
  });
});
