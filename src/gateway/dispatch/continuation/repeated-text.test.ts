import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Alignment, createJsonAligner } from './repeated-text.ts';
import { type Chance, chanceFrom } from '../../../../test/support/chance.ts';

/** Aligns all of it at once. */
const alignJson = (delivered: string, regenerated: string): Alignment => createJsonAligner(delivered).push(regenerated);

const hex = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;

function writeString(text: string, chance: Chance): string {
  const asIs = JSON.stringify(text).slice(1, -1);
  const [plain, all] = [chance.is(0.3), chance.is(0.2)];
  if (plain) return `"${asIs}"`;
  // One by one, and pairs together: half a character is never written as it is.
  const written = Array.from(text, (character) =>
    all || chance.is(0.3)
      ? Array.from({ length: character.length }, (_, at) => hex(character.charAt(at))).join('')
      : '',
  );
  return `"${Array.from(text, (character, at) => written[at] || JSON.stringify(character).slice(1, -1)).join('')}"`;
}

/** JSON in one of the ways an engine may write it. */
function write(value: unknown, chance: Chance): string {
  const lots = chance.is(0.5);
  const space = (): string => (lots && chance.is(0.5) ? chance.pick([' ', '\n', '  ', '\t', '\r\n']) : '');
  function inner(part: unknown): string {
    if (typeof part === 'string') return space() + writeString(part, chance) + space();
    if (typeof part !== 'object' || part === null) return space() + JSON.stringify(part) + space();
    const isList = Array.isArray(part);
    const items = isList
      ? part.map(inner)
      : Object.entries(part).map(([key, item]) => `${space()}${writeString(key, chance)}${space()}:${inner(item)}`);
    return `${space()}${isList ? '[' : '{'}${items.join(',') || space()}${isList ? ']' : '}'}${space()}`;
  }
  return inner(value);
}

const same = (one: string, other: string): boolean =>
  JSON.stringify(JSON.parse(one)) === JSON.stringify(JSON.parse(other));

/** The end of a text inside of an escape, or between the halves of a character. */
const brokenOff = /(?:^|[^\\])(?:\\\\)*\\(?:u[\da-fA-F]{0,3})?$|[\uD800-\uDBFF]$|\\u[dD][89abAB][\da-fA-F]{2}$/;

const values = fc.oneof(fc.jsonValue(), fc.jsonValue({ noUnicodeString: false }), fc.dictionary(fc.string(), fc.nat()));
const seeds = fc.nat();

describe('aligning', () => {
  it('finds where the new part begins wherever the delivered text was cut, however both are written', () => {
    let tried = 0;
    fc.assert(
      fc.property(values, seeds, (value, seed) => {
        const chance = chanceFrom(seed);
        const [first, second] = [write(value, chance), write(value, chance)];
        for (let cut = 0; cut <= first.length; cut += 1) {
          const delivered = first.slice(0, cut);
          const at = alignJson(delivered, second);
          if (typeof at === 'number') {
            expect(same(delivered + second.slice(at), second), `${delivered}|${second}`).toBe(true);
            tried += 1;
            // White space after the last number tells only with what follows it.
          } else if (at === 'more') expect(delivered.trim()).toBe(first.trim());
          else expect(delivered, second).toMatch(brokenOff);
        }
      }),
      { numRuns: 150 },
    );
    expect(tried).toBeGreaterThan(1_000);
  });

  it('finds it in text that is written the same way, in escapes too', () => {
    fc.assert(
      fc.property(values, seeds, fc.nat(), (value, seed, place) => {
        const text = write(value, chanceFrom(seed));
        const cut = place % (text.length + 1);
        const at = alignJson(text.slice(0, cut), text);
        if (at !== 'more') expect(same(text.slice(0, cut) + text.slice(at), text)).toBe(true);
        else expect(text.slice(cut).trim()).toBe('');
      }),
      { numRuns: 500 },
    );
  });

  it('says the same of pieces as of the whole', () => {
    fc.assert(
      fc.property(values, seeds, fc.nat(), (value, seed, place) => {
        const chance = chanceFrom(seed);
        const [first, second] = [write(value, chance), write(value, chance)];
        const delivered = first.slice(0, place % (first.length + 1));
        const aligner = createJsonAligner(delivered);
        let answer = aligner.push('');
        for (let from = 0; answer === 'more' && from < second.length;) {
          const to = from + 1 + chance.below(4);
          answer = aligner.push(second.slice(from, to));
          from = to;
        }
        // In pieces it is known as soon as it can be, so what is white space may begin earlier.
        const whole = alignJson(delivered, second);
        if (typeof answer === 'number' && typeof whole === 'number') {
          expect(second.slice(answer, whole) + second.slice(whole, answer)).toMatch(/^[ \t\r\n]*$/);
        } else expect(answer).toBe(whole);
      }),
      { numRuns: 500 },
    );
  });

  it('of another value never finds a place that would make up a third', () => {
    const digits = fc.oneof(fc.nat(12), fc.constantFrom('a', 'ab', '1', true, null), fc.double({ noNaN: true }));
    const small = fc.oneof(
      digits,
      fc.array(digits, { maxLength: 3 }),
      fc.dictionary(fc.constantFrom('a', 'b'), digits),
    );
    let aligned = 0;
    fc.assert(
      fc.property(small, small, seeds, fc.nat(), (value, other, seed, place) => {
        const chance = chanceFrom(seed);
        const [first, second] = [write(value, chance), write(other, chance)];
        const delivered = first.slice(0, place % (first.length + 1));
        const at = alignJson(delivered, second);
        if (typeof at !== 'number') return;
        aligned += 1;
        expect(same(delivered + second.slice(at), second), `${delivered}|${second}`).toBe(true);
      }),
      { numRuns: 2_000 },
    );
    expect(aligned).toBeGreaterThan(100);
  });

  const rows: readonly (readonly [what: string, delivered: string, regenerated: string, expected: unknown])[] = [
    ['nothing delivered', '', '{"a":1}', 0],
    ['nothing regenerated', '{"a', '', 'more'],
    ['the same so far', '{"a": 1', '{"a"', 'more'],
    ['all of it', '{"a":1}', '{ "a": 1 }', 10],
    ['a string that is cut', '{"a":"hel', '{ "a": "hello"}', 11],
    ['a space in a string is text', '{"a":"x y', '{"a":"xy', undefined],
    ['a number that is cut', '[1', '[12]', 2],
    ['a number that may go on', '[1', '[1', 2],
    ['a number that has ended for the caller', '[1 ', '[1', 'more'],
    ['a number that has ended for both', '[1 ', '[1,2]', 2],
    ['a number that has ended only for the caller', '[1 ', '[12]', undefined],
    ['a number that goes on for the caller', '[12', '[1 ,2]', undefined],
    ['a number that goes on, and two of them', '[12', '[1 2]', undefined],
    ['a number in another form', '[1.0', '[1]', undefined],
    ['a literal that is cut', '[tr', '[ true]', 4],
    ['white space is not doubled', '{"a": ', '{"a":\n  1}', 8],
    ['white space that is not there yet is taken along', '{"a":', '{"a":\n  1}', 5],
    ['another key', '{"a":1', '{"b":1', undefined],
    ['another order', '{"a":1,"b', '{"b":2,"a":1}', undefined],
    ['text before the JSON', '{"a', 'Sure: {"a":1}', undefined],
    ['another way of escaping', '{"a":"é', String.raw`{"a":"\u00e9!"}`, 12],
    ['a slash that is escaped', '["a/b', String.raw`["a\/b"]`, 6],
    ['a quotation mark that is escaped, and one that ends', String.raw`["a\"`, '["a"]', undefined],
    ['cut inside an escape that comes again', String.raw`["\u00`, String.raw`["\u00e9"]`, 6],
    ['cut inside an escape that is on its way', String.raw`["\u00`, String.raw`["\u0`, 'more'],
    ['cut inside an escape that does not come again', String.raw`["\u00`, '["é"]', undefined],
    ['cut after a backslash', '["\\', String.raw`["\n"]`, 3],
    ['half a character, and the other half escaped', String.raw`["\ud83d`, String.raw`["\ud83d\ude00"]`, 8],
    ['half a character, and the other half bare', String.raw`["\ud83d`, '["😀"]', undefined],
    ['half a character, and nothing yet', String.raw`["\ud83d`, String.raw`["\ud83d`, 'more'],
  ];
  it.each(rows)('%s', (_, delivered, regenerated, expected) => {
    expect(alignJson(delivered, regenerated)).toBe(expected);
  });

  it('takes time in proportion to the text, in pieces too', () => {
    const long = JSON.stringify({ a: 'x'.repeat(1_000_000) });
    const aligner = createJsonAligner(long.slice(0, -1));
    let answer = aligner.push(' ');
    for (let at = 0; answer === 'more'; at += 4) answer = aligner.push(long.slice(at, at + 4));
    expect(answer).toBe(long.length);
  });
});
