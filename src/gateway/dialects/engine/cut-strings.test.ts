import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createStringCutter } from './cut-strings.ts';

/** The result with the text cut at every place. */
function cutEverywhere(text: string, maxLength: number): string {
  const [first, ...others] = Array.from({ length: text.length + 1 }, (_, at) => {
    const cut = createStringCutter(maxLength);
    return cut(text.slice(0, at)) + cut(text.slice(at));
  });
  for (const other of others) expect(other).toBe(first);
  return first ?? '';
}

it('shortens long strings alone, and never in the middle of an escape', () => {
  const text = String.raw`{"results":[{"index":0,"text":"a \"long\" \\ text","score":0.5}],"u":"\u00e9\u00e9\u00e9"}`;
  expect(cutEverywhere(text, 8)).toBe(
    String.raw`{"results":[{"index":0,"text":"a \"long","score":0.5}],"u":"\u00e9\u00e9"}`,
  );
  expect(cutEverywhere(text, 100)).toBe(text);
});

it('gives JSON for JSON, with all of its numbers and the beginnings of its texts', () => {
  const item = fc.tuple(fc.string({ unit: 'grapheme' }), fc.integer(), fc.string({ unit: 'binary' }));
  fc.assert(
    fc.property(fc.array(item), fc.nat(12), fc.nat(200), (list, max, at) => {
      const text = JSON.stringify(list);
      const cut = createStringCutter(max);
      const read = JSON.parse(cut(text.slice(0, at)) + cut(text.slice(at))) as typeof list;
      expect(read.map(([, number]) => number)).toEqual(list.map(([, number]) => number));
      for (const [index, [first, , second]] of read.entries()) {
        expect(list[index]?.[0].startsWith(first)).toBe(true);
        expect(list[index]?.[2].startsWith(second)).toBe(true);
      }
    }),
  );
});

it('takes a large text in a moment', () => {
  const cut = createStringCutter(64);
  const text = JSON.stringify(
    Array.from({ length: 200 }, (_, index) => ({ index, text: 'word "and" so on\n'.repeat(2000) })),
  );
  const kept = cut(text);
  expect(kept.length).toBeLessThan(30_000);
  expect(JSON.parse(kept)).toHaveLength(200);
});
