import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createJsonScan } from './json-scan.ts';

interface Size {
  readonly depth: number;
  readonly values: number;
}

/** Brackets and commas outside of strings, and how deep the brackets nest, as a slow and simple reader counts them. */
function sizeOf(text: string): Size {
  const bare = text.replaceAll(/"(?:[^"\\]|\\.)*"/gs, '""');
  let depth = 0;
  let deepest = 0;
  for (const character of bare) {
    if ('{['.includes(character)) depth += 1;
    if ('}]'.includes(character)) depth -= 1;
    deepest = Math.max(deepest, depth);
  }
  return { depth: deepest, values: bare.replaceAll(/[^{[,]/g, '').length };
}

const isWithin = (pieces: readonly string[], { depth, values }: Size): boolean => {
  const bounds = createJsonScan({ maxDepth: depth, maxValues: values });
  return pieces.every((piece) => bounds.push(piece));
};

const tricky = fc.string({ unit: fc.constantFrom('"', '\\', '{', '[', ',', 'a', 'ü') });
const json = fc
  .jsonValue({ maxDepth: 4 })
  .chain((value) => fc.tuple(fc.constant(value), tricky, fc.array(tricky)))
  .map((value) => JSON.stringify(value));

it('accepts a text with limits of exactly its size, and no larger one', () => {
  fc.assert(
    fc.property(json, (text) => {
      const size = sizeOf(text);
      expect(isWithin([text], size)).toBe(true);
      expect(isWithin([text], { ...size, depth: size.depth - 1 })).toBe(false);
      expect(isWithin([text], { ...size, values: size.values - 1 })).toBe(false);
    }),
  );
});

it('gives the same result however a text is cut, inside of an escape too', () => {
  fc.assert(
    fc.property(json, (text) => {
      const size = sizeOf(text);
      for (let at = 1; at < text.length; at += 1)
        expect(isWithin([text.slice(0, at), text.slice(at)], size)).toBe(true);
      expect(isWithin(text.split(''), size)).toBe(true);
      expect(isWithin(text.split(''), { ...size, values: size.values - 1 })).toBe(false);
    }),
  );
});
