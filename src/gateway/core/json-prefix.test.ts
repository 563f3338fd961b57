import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readJsonBeginning } from './json-prefix.ts';

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Whether the text can become JSON, and whether it is. */
function read(text: string): { readonly alive: boolean; readonly whole: boolean } {
  const json = readJsonBeginning(text);
  return { alive: json !== undefined, whole: json?.isWhole === true };
}

const beginningsOf = (text: string): readonly string[] =>
  Array.from({ length: text.length }, (_, at) => text.slice(0, at + 1));

/** Where a text is beyond hope; its length when it is not. */
function diesAt(text: string): number {
  const at = beginningsOf(text).findIndex((beginning) => !read(beginning).alive);
  return at === -1 ? text.length : at;
}

/** After each character, whether it is JSON so far. */
const wholeAt = (text: string): readonly boolean[] => beginningsOf(text).map((beginning) => read(beginning).whole);

const values = fc.oneof(
  fc.jsonValue(),
  fc.jsonValue({ noUnicodeString: false }),
  fc.constantFrom(-0.5, 1e300, 1e-7, 12.5e20, '\u0000\u001F"\\/', '😀', '\uD800', [], {}, [[]], { a: {} }),
);
const texts = fc
  .tuple(values, fc.constantFrom('', '\t', '  ', '\n'), fc.constantFrom('', ' ', '\r\n'))
  .map(([value, indent, around]) => around + JSON.stringify(value, null, indent) + around);
const oddities = fc.constantFrom(
  ...'{}[]",:\\u0-1.eE+tfn \n\u0001a'.split(''),
  'null',
  '\\u00',
  '\\ud83d',
  '01',
  '1.e',
  ',,',
);

describe('the scanner', () => {
  it('takes every beginning of every JSON text', () => {
    fc.assert(
      fc.property(texts, (text) => {
        expect(diesAt(text)).toBe(text.length);
        expect(read(text)).toEqual({ alive: true, whole: true });
      }),
      { numRuns: 500 },
    );
  });

  it('agrees with JSON.parse on every beginning of damaged text', () => {
    const spoiled = fc.tuple(texts, fc.nat(), fc.nat(3), oddities).map(([text, at, cut, oddity]) => {
      const place = at % (text.length + 1);
      return text.slice(0, place) + oddity + text.slice(place + cut);
    });
    fc.assert(
      fc.property(spoiled, (text) => {
        expect(wholeAt(text)).toEqual(beginningsOf(text).map(parses));
      }),
      { numRuns: 400 },
    );
  });

  it('gives up none that could go on, and keeps none that could not, whatever one or two characters follow', () => {
    const words = ['', '0', '"', '0"', '00"', '000"', '0000"', 'rue', 'ue', 'e', '":0', '\\"', ':0', '"":0'];
    const closers = ['', ']', '}', ']]', '}}', ']}', '}]'];
    const ending = ['', '0', ':0', '"":0'].flatMap((more) => closers.map((close) => more + close));
    const continuations = words.flatMap((word) => ending.map((end) => word + end));
    const seen = { alive: 0, dead: 0 };
    function look(text: string, levels: number): void {
      const { alive } = read(text);
      if (alive !== continuations.some((more) => parses(text + more))) expect(alive, text).toBe(!alive);
      seen[alive ? 'alive' : 'dead'] += 1;
      if (alive && levels > 0) for (const next of '{}[]",:\\u0-.et 1') look(text + next, levels - 1);
    }
    look('', 2);
    for (const begun of [
      '[0',
      '{""',
      '{"":0',
      '"\\',
      '"\\u00',
      '-',
      '0.',
      '0.0',
      '1e',
      '1e-',
      'tr',
      '[0,',
      '{"":0,',
      '{}',
    ]) {
      look(begun, 1);
    }
    expect(Math.min(seen.alive, seen.dead)).toBeGreaterThan(80);
  });

  const early: readonly (readonly [text: string, at: number])[] = [
    ['Sure! {"a":1}', 0],
    ['```json\n{}', 0],
    ['{"a":1} and more', 8],
    ["{'a':1}", 1],
    ['{"a":1,}', 7],
    ['[1,]', 3],
    ['{"a" 1}', 5],
    ['{a:1}', 1],
    ['"line\nbreak"', 5],
    [String.raw`"\x41"`, 2],
    [String.raw`"\u12g4"`, 5],
    ['01', 1],
    ['+1', 0],
    ['-a', 1],
    ['1.e', 2],
    ['1e+}', 3],
    ['NaN', 0],
    ['truth', 3],
    ['[1}', 2],
    ['{}{}', 2],
    ['\u00A0{}', 0],
    ['\uFEFF{}', 0],
  ];
  it.each(early)('knows that %j is none at character %i', (text, at) => {
    expect(diesAt(text)).toBe(at);
    // Its twin: up to there, there was hope.
    expect(read(text.slice(0, at)).alive).toBe(true);
  });

  it('reads a megabyte of nesting as it reads a megabyte of text', () => {
    expect(read('['.repeat(500_000) + ']'.repeat(500_000))).toEqual({ alive: true, whole: true });
    expect(read(JSON.stringify('a'.repeat(1_000_000)))).toEqual({ alive: true, whole: true });
    expect(read(JSON.stringify('\n"'.repeat(1_000_000)))).toEqual({ alive: true, whole: true });
    expect(read('1'.repeat(1_000_000))).toEqual({ alive: true, whole: true });
  });
});

describe('JSON that was cut off', () => {
  it.each([
    ['{"a":1,"b":"Gr\u00fc', '{"a":1,"b":"Gr\u00fc"}'],
    ['{"a":1,"b":[{"c":"d', '{"a":1,"b":[{"c":"d"}]}'],
    ['{"a":1,"lo', '{"a":1}'],
    ['{"a":1,"long"', '{"a":1}'],
    ['{"a":1,"long":', '{"a":1}'],
    ['{"a":1,', '{"a":1}'],
    ['{"a":1,"b":12', '{"a":1}'],
    ['{"a":1,"b":12,', '{"a":1,"b":12}'],
    ['{"a":1,"b":tr', '{"a":1}'],
    ['{"a":1,"b":[1,2', '{"a":1,"b":[1]}'],
    ['{"a":"x\\', '{"a":"x"}'],
    ['{"a":"x\\u00', '{"a":"x"}'],
    ['{"a":1}', '{"a":1}'],
    ['{', '{}'],
    ['{"a":{', '{"a":{}}'],
    ['', ''],
    ['{"a" 1', undefined],
    ['Paris', undefined],
  ])('%s is ended as %s', (text, expected) => {
    expect(readJsonBeginning(text)?.ended).toBe(expected);
  });

  it('is JSON after its end, wherever an object was cut', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.nat(), (value, place) => {
        const text = JSON.stringify(value);
        const cut = text.slice(0, 1 + (place % text.length));
        const ended = readJsonBeginning(cut)?.ended;
        expect(parses(cut)).toBe(cut.length === text.length);
        expect(typeof JSON.parse(ended ?? '')).toBe('object');
      }),
    );
  });
});
