import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isObject, type JsonObject } from './json.ts';
import { keptNames, parseKeepingText, textOfObject, withoutMember, writeKeepingText } from './json-text.ts';

const names = keptNames('input', 'parameters');

/** The object under the first name of a body. */
function inputOf(text: string): JsonObject {
  const body = parseKeepingText(text, names);
  const input = isObject(body) ? body['input'] : undefined;
  if (!isObject(input)) throw new Error('no object');
  return input;
}

/** Objects that come out of a parser and a writer as another text. */
const changed = [
  ['a number past 2^53', '{"id":1234567890123456789}'],
  ['a fraction of zero', '{"ratio":1.0}'],
  ['a number past the doubles', '{"n":1e400}'],
  ['an exponent', '{"n":1E+2,"m":1e-7}'],
  ['minus zero', '{"n":-0,"m":-0.0}'],
  ['many digits', '{"n":0.1000000000000000055511151231257827}'],
  ['integer-like keys', '{"b":1,"10":2,"2":3}'],
  ['a key __proto__', '{"__proto__":{"a":1},"constructor":2}'],
  ['equal keys', '{"a":1,"a":2}'],
  ['escapes', String.raw`{"a":"\u00e9\/\ud83d\ude00\"}{"}`],
  ['an escaped key', String.raw`{"\u0061":1}`],
  ['a lone surrogate', String.raw`{"a":"\ud800"}`],
  ['white space', '{ "a" : [ 1 ,\n\t2 ] }'],
  ['a backslash before the end of a text', String.raw`{"a":"\\","b":"\\\""}`],
  ['the name itself inside', '{"input":{"input":1.0}}'],
] as const;

describe('the text of an object that is passed on', () => {
  it.each(changed)('is kept: %s', (_, text) => {
    for (const body of [
      `{"input":${text}}`,
      `{"first":[1,"]}",{"x":{}}],"input" : ${text} ,"last":null}`,
      // The last of two equal names counts.
      `{"input":{"no":1},"input":${text}}`,
      String.raw`{"\"input\":{":1,"input":${text}}`,
    ]) {
      expect(textOfObject(inputOf(body))).toBe(text);
    }
  });

  it('is another one after a parser and a writer, for most of these', () => {
    const same = changed.filter(([, text]) => JSON.stringify(JSON.parse(text)) === text);
    expect(same.map(([name]) => name)).toEqual([
      'a key __proto__',
      'a lone surrogate',
      'a backslash before the end of a text',
    ]);
  });

  it('is found at any place, in any JSON', () => {
    const anyJson = fc.json({ maxDepth: 4 });
    fc.assert(
      fc.property(fc.array(anyJson), anyJson, fc.array(anyJson), (before, inner, after) => {
        const text = `{ "x":${inner}}`;
        const body = `{"a":[${[...before, `{"parameters":\t${text}}`, ...after].join(', ')}]}`;
        const value = parseKeepingText(body, names) as { a: { parameters: JsonObject }[] };
        expect(value).toEqual(JSON.parse(body));
        expect(textOfObject(value.a[before.length]?.parameters ?? {})).toBe(text);
      }),
    );
  });

  it('is written inside of other values', () => {
    const input = inputOf('{"input":{"2":1.0,"1":-0}}');
    const value = { b: [input, undefined, 'x"'], none: undefined, nothing: null };
    expect(writeKeepingText(value)).toBe(String.raw`{"b":[{"2":1.0,"1":-0},null,"x\""],"nothing":null}`);
    const plain = { a: [1, { b: 'x' }], c: undefined, d: false };
    expect(writeKeepingText(plain)).toBe(JSON.stringify(plain));
  });

  it('is kept without a member', () => {
    const input = inputOf('{"input":{"$schema":"x","b":1.0,"$schema":{"a":[1]},"1":{"$schema":2}}}');
    expect(textOfObject(withoutMember(input, '$schema'))).toBe('{"b":1.0,"1":{"$schema":2}}');
    expect(withoutMember(input, 'other')).toBe(input);
    expect(textOfObject(withoutMember(inputOf('{"input":{"a":1}}'), 'a'))).toBe('{}');
    expect(withoutMember({ a: 1, b: 2 }, 'a')).toEqual({ b: 2 });
  });

  it('is not kept beyond the levels of a body, which costs no more than a copy of the value', () => {
    const deep = `${'{"a":'.repeat(100_000)}{"input":{"n":1.0}}${'}'.repeat(100_000)}`;
    expect(parseKeepingText(deep, names)).toBeTypeOf('object');
  });
});
